import { createRequire } from 'node:module'
import { pipeline, Stream } from 'node:stream'
import type KoaRouter from '@koa/router'
import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError, type ErrorCode, fieldError } from '../errors.ts'
import { shownOnceMark } from '../lib/fields.ts'
import { isRecord } from '../lib/is-record.ts'
import { isSoundText } from '../lib/json.ts'
import { partSentBack } from '../lib/sent-back.ts'
import { auditReasonOf } from './audit-reason.ts'
import { type AuthenticateConsumer, authorize, bearerOf, serviceTokenIn, serviceTokenOf } from './authenticate.ts'
import type { AnsweringRoute } from './count-replies.ts'
import { errorHandler, toApiError } from './error-handler.ts'
import { writeErrorOrPage } from './error-page.ts'
import { type LimitOptions, limitCall } from './rate-limit.ts'
import { type ParsedBody, readBody, readLines } from './request-body.ts'
import { parseLines } from './request-lines.ts'
import { naming } from './request-log.ts'
import { isLimitedByAddress, type Reply, type Route, type RouteAuth, type RouteRequest, takesClientSecrets } from './route.ts'
import { sendJson } from './send-json.ts'
import { setRetryAfter } from './set-retry-after.ts'
import { readQuery, soundQuery } from './url-encoded.ts'
import { validate } from './validate.ts'

// Loads the CommonJS build. The other build imports `node:http`; `http/node-http.ts` says what that costs.
const Router: typeof KoaRouter = createRequire(import.meta.url)('@koa/router')

/** Gets every response with its route. The tests hand one in that compares the response with the declaration. */
export type ReplyObserver = (route: Route, reply: ObservedReply) => void

export interface ObservedReply {
  requestId: string
  status: number
  /** The code of an error, instead of a body. */
  code?: ErrorCode
  body?: unknown
}

export interface RouterOptions extends LimitOptions {
  authenticateConsumer: AuthenticateConsumer
  rehearse: Rehearse
  onReply?: ReplyObserver
}

/** Runs `fn` in a transaction that is rolled back, with stand-ins for what reaches outside; handed in by `app.ts`. */
type Rehearse = (deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<Reply>) => Promise<Reply>

export interface Routing {
  middleware: Middleware
  /** The methods that a path answers to; empty for an unknown path. */
  methodsOf(path: string): string[]
}

const noQuery = z.strictObject({})
const lastWordsMs = 500

/** Routes and their path prefix. */
export interface Mount {
  prefix: string
  routes: readonly Route[]
}

/** Mounts routes: limit, authenticate, read the body, validate, handle, in that order. */
export function createRouting(deps: Deps<Pool>, mounts: readonly Mount[], options: RouterOptions): Routing {
  const literals = new Map<string, Map<string, Handler>>()
  const router = new Router({ strict: true, sensitive: true })
  for (const { prefix, routes } of mounts) {
    for (const route of routes) {
      const pattern = prefix + route.path
      const answering: AnsweringRoute = { method: route.method, pattern }
      const refuse = route.navigation ? errorHandler(deps, writeErrorOrPage) : undefined
      const handler: Handler = (ctx) => {
        ctx.state.route = answering
        const answerIt = () => answer(naming(deps, ctx), route, ctx, options)
        return refuse ? refuse(ctx, answerIt) : answerIt()
      }
      const methods = route.method === 'GET' && !route.navigation ? ['HEAD', 'GET'] : [route.method]
      if (pattern.includes('{')) {
        const layer = router.register(pattern.replace(/\{(\w+)\}/g, ':$1'), methods, handler)
        // The router adds HEAD to every GET.
        layer.methods = methods
      } else {
        const handlers = literals.get(pattern) ?? new Map<string, Handler>()
        for (const method of methods) handlers.set(method, handler)
        literals.set(pattern, handlers)
      }
    }
  }

  const methodsOf = (path: string): string[] => {
    const handlers = literals.get(path)
    if (handlers) return [...handlers.keys()]
    const layers = isSoundPath(path) ? router.match(path, 'GET').path : []
    return [...new Set(layers.flatMap((layer) => layer.methods))]
  }
  const dispatch = router.routes() as unknown as Middleware
  return {
    methodsOf,
    async middleware(ctx, next) {
      // Paths without parameters are matched first, so that a fixed word in the place of an id is not taken for an id.
      const literal = literals.get(ctx.path)?.get(ctx.method)
      if (literal) return literal(ctx)
      const methods = methodsOf(ctx.path)
      if (methods.length === 0) throw new ApiError('not_found', { detail: `There is nothing at ${ctx.path.slice(0, 200)}` })
      if (!methods.includes(ctx.method)) throw new ApiError('method_not_allowed', { headers: { Allow: methods.join(', ') } })
      await dispatch(ctx, next)
    },
  }
}

type Handler = (ctx: Context) => Promise<void>

function isSoundPath(path: string): boolean {
  try {
    return isSoundText(decodeURIComponent(path))
  } catch {
    return false
  }
}

async function answer(deps: Deps<Pool>, route: Route, ctx: Context, options: RouterOptions): Promise<void> {
  if (route.noStore) ctx.set('Cache-Control', 'no-store')
  const { ip, requestId } = ctx.state.origin
  const takesSecrets = takesClientSecrets(route)
  let isCountedIfRefused = takesSecrets || route.countsFailuresOnly === true
  try {
    const sentQuery = readQuery(ctx)
    if ((route.dryRun ?? 'refused') === 'refused' && 'dry_run' in sentQuery)
      throw fieldError('dry_run', 'unknown_field', 'is allowed only on writes under /admin')
    const ofHeader = bearerOf(ctx) ?? (takesSecrets ? serviceTokenOf(ctx) : undefined)
    const isSecretInBody = takesSecrets && ofHeader === undefined
    // Strangers can send such bodies too.
    if (isSecretInBody) await options.assertRoomForAddress(deps, 'ip', ip)
    // An unreadable body holds no secret, so the call fails with `token_missing`.
    const readEarly = isSecretInBody ? await read(route, ctx).catch(() => undefined) : undefined
    const bearer = ofHeader ?? serviceTokenIn(readEarly?.value.client_secret)
    const limitByBody = isLimitedByAddress(route) ? await limitCall(deps, route, { ip, bearer }, options) : undefined
    const authenticate = route.authenticate ?? options.authenticate
    const caller = await authorize(deps, route, bearer, { ...options, authenticate })
    isCountedIfRefused &&= !takesSecrets
    const params = parseParams(route, ctx.params)
    const querySchema = route.query ?? (route.auth === 'system_admin' ? noQuery : undefined)
    const query = querySchema ? validate(querySchema, soundQuery(sentQuery)) : {}
    const isDryRun = isRecord(query) && query.dry_run === 'true'
    if (isDryRun) ctx.set('X-Dry-Run', 'true')
    const auditReason = route.dryRun && auditReasonOf(ctx)
    const sent = readEarly ?? (await read(route, ctx))
    route.assertMaySend?.(caller, sent.value)
    const { given, sentBack } = partsOf(route, sent.value)
    const body = route.body ? validate(route.body, given) : {}
    if (takesSecrets && ofHeader !== undefined && sent.value.client_secret !== undefined)
      throw fieldError('client_secret', 'invalid_value', 'cannot be sent together with an Authorization header')
    const exemptApp = await limitByBody?.(isRecord(body) ? body : {})
    isCountedIfRefused &&= exemptApp === undefined
    const headers = route.headers ? validate(route.headers, ctx.headers) : {}
    const lines = route.lines ? parseLines(await readLines(ctx, route.bodyLimitBytes), route.lines) : []
    const origin = { ...ctx.state.origin, exemptApp, auditReason }
    const request = { caller, bearer, params, query, body, headers, lines, sentBack, rawBody: sent.verbatim, origin }
    const isRehearsed = isDryRun && route.dryRun === 'rehearsed'
    const reply = isRehearsed
      ? await options.rehearse(deps, (deps) => rehearseCall(deps, route, request))
      : await route.handle(deps, request)
    ctx.status = reply.status
    if (reply.headers) ctx.set(reply.headers)
    setRetryAfter(ctx, reply.retryAfter)
    if (reply.stream) sendEvents(ctx, reply.stream)
    else if (isJson(reply.body)) sendJson(ctx, reply.body)
    else ctx.body = reply.body ?? null
    // Koa turns a null body into 204, so set the status of a response without a body again.
    ctx.status = reply.status
    options.onReply?.(route, { requestId, status: reply.status, body: reply.body })
  } catch (thrown) {
    const error = isCountedIfRefused ? await countRefusal(deps, thrown, { ip, options }) : thrown
    const { status, code } = toApiError(error)
    options.onReply?.(route, { requestId, status, code })
    throw error
  }
}

/** Counts a refused call by address. Returns the error to answer with: `rate_limited` once the address has no attempt left. */
async function countRefusal(
  deps: Deps<Pool>,
  error: unknown,
  { ip, options }: { ip: string; options: RouterOptions },
): Promise<unknown> {
  const { status, code } = toApiError(error)
  // A service account that lacks the scope has shown who it is.
  if (status >= 500 || code === 'rate_limited' || code === 'scope_required') return error
  return options.takeByAddress(deps, 'ip', ip).then(
    () => error,
    (limited: unknown) => limited,
  )
}

/** Whether a body is neither text nor bytes. */
function isJson(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !(body instanceof Stream)
}

async function rehearseCall(deps: Deps<Pool>, route: Route, request: AnyRequest): Promise<Reply> {
  const plan = await route.plan?.(deps, request)
  if (plan) return plan
  const reply = await route.handle(deps, request)
  return { ...reply, body: withoutSecrets(route.responses[reply.status], reply.body) }
}

type AnyRequest = RouteRequest<RouteAuth, unknown, unknown, unknown>

/** Replaces secrets with null: what they would open was rolled back. */
function withoutSecrets(schema: z.ZodType | null | undefined, body: unknown): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(body)) return body
  const isSecret = (name: string) => schema.shape[name]?.meta()?.[shownOnceMark] === true
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, isSecret(name) ? null : value]))
}

/** Writes a stream of events as they arrive. It bypasses Koa, which would log each consumer that disconnects as an error. */
function sendEvents(ctx: Context, stream: NonNullable<Reply['stream']>): void {
  ctx.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
  ctx.respond = false
  ctx.res.flushHeaders()
  // The consumer may have disconnected while it was being looked up.
  if (ctx.method === 'HEAD' || ctx.res.destroyed) stream.destroy()
  // A reader that takes nothing must not hold up the end of the stream.
  stream.once('end', () => setTimeout(() => ctx.res.destroy(), lastWordsMs).unref())
  if (!ctx.res.destroyed) pipeline(stream, ctx.res, () => {})
}

async function read({ body, formBody = false, bodyLimitBytes }: Route, ctx: Context): Promise<ParsedBody> {
  if (!body) return { value: {}, verbatim: () => ({}) }
  return readBody(ctx, { form: formBody, limitBytes: bodyLimitBytes })
}

function partsOf({ body, record }: Route, sent: Record<string, unknown>): ReturnType<typeof partSentBack> {
  if (!record || !(body instanceof z.ZodObject)) return { given: sent, sentBack: {} }
  return partSentBack(sent, { members: Object.keys(record.shape), settable: Object.keys(body.shape) })
}

/** A malformed id names nothing, so it is answered like an unknown one. */
function parseParams(route: Route, params: unknown): unknown {
  if (!route.params) return {}
  const parsed = route.params.safeParse(params)
  if (!parsed.success) throw new ApiError('not_found')
  return parsed.data
}
