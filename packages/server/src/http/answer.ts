import type { Context, Middleware, Next } from 'koa'
import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError, fieldError } from '../errors.ts'
import { isAdminDoor } from '../lib/authority.ts'
import type { Caller } from '../lib/caller.ts'
import { isRecord } from '../lib/collections.ts'
import type { CookieName, Cookies, SetCookies } from '../lib/cookies.ts'
import { shownOnceMark } from '../lib/fields.ts'
import type { PagePlace } from '../lib/html.ts'
import { partSentBack } from '../lib/sent-back.ts'
import { wayOn } from '../pages/fields.ts'
import { textsFor } from '../pages/texts/texts-for.ts'
import { countRefusal, limitOf } from './limits.ts'
import {
  auditReasonOf,
  type ParsedBody,
  prefersHtml,
  readBody,
  readBytes,
  readLines,
  readQuery,
  reasonHeader,
  soundQuery,
  type UrlEncoded,
} from './read-request.ts'
import { noContent, type Route, type RouteAuth, type RouteRequest } from './route.ts'
import { errorForOAuth, oauthStatusOf } from './speak/oauth.ts'
import { errorForBrowser, errorOfPage, leadTo } from './speak/page.ts'
import { errorAsJson, type Reply, say, toApiError } from './speak/reply.ts'
import { validate } from './validate.ts'
import { type CallerOptions, type KnownCaller, whoCalls } from './who-calls.ts'

export interface AnswerOptions extends CallerOptions {
  rehearse: Rehearse
  onReply: ReplyObserver | undefined
  /** Throws `system_admin_required` if somebody of the help desk may not help this user. */
  assertMayHelp(deps: Deps, userId: string, by: { caller: Caller | undefined }): Promise<void>
}

/** Runs `fn` in a transaction that is rolled back, with stand-ins for what reaches outside; handed in by `app.ts`. */
type Rehearse = (deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<Reply>) => Promise<Reply>

/** Gets every response with its route. The tests hand one in that compares the response with the declaration. */
export type ReplyObserver = (route: Route, reply: ObservedReply) => void

/** A reply, or the status and code of an error. */
export interface ObservedReply extends Pick<Reply, 'status' | 'body'> {
  requestId: string
  code: Reply['errorCode']
}

type AnyRequest = RouteRequest<RouteAuth, unknown, unknown, unknown>

/** Answers a request: who calls, what they sent, do it, say it. */
export async function answer(deps: Deps<Pool>, route: Route, ctx: Context, options: AnswerOptions): Promise<void> {
  if (route.noStore) ctx.set('Cache-Control', 'no-store')
  const { ip, requestId } = ctx.state.origin
  const limit = limitOf(route)
  let countsIfRefused = limit === 'failures' || limit === 'strangers'
  try {
    const query = queryOf(route, ctx)
    if (route.cookies && route.method !== 'GET' && !isOwnForm(deps, ctx)) {
      const reply = await leadOn(route, ctx)
      say(ctx, reply)
      options.onReply?.(route, { requestId, status: reply.status, body: reply.body, code: undefined })
      return
    }
    const known = await whoCalls(deps, route, ctx, options)
    countsIfRefused &&= limit === 'failures' && known.client?.hasShownSecret !== true
    const request = await whatTheySent(deps, route, ctx, { ...known, query }, options)
    countsIfRefused &&= request.origin.exemptApp === undefined
    const reply = await doIt(deps, route, request, options)
    if (reply.cookies) writeCookies(deps, ctx, reply.cookies, route.cookies?.sets ?? [])
    say(ctx, reply)
    // A redirect after a form leads to the page that shows the error, so it is no error itself.
    const code = reply.status < 400 ? undefined : reply.errorCode
    options.onReply?.(route, { requestId, status: reply.status, body: reply.body, code })
  } catch (thrown) {
    const error = countsIfRefused ? await countRefusal(deps, thrown, ip, options) : thrown
    const { status, code } = toApiError(error)
    options.onReply?.(route, { requestId, status: route.oauthErrors ? oauthStatusOf(code, route.oauthErrors) : status, code })
    throw error
  }
}

/** Leads a form of another site to the GET that it asks for. Nothing else comes of such a form. Throws `foreign_form`. */
async function leadOn(route: Route, ctx: Context): Promise<Reply> {
  if (route.leadsOn) ctx.state.foreignForm = (await readBody(ctx, route).catch(() => noBody)).value
  const location = route.leadsOn?.(ctx.state.foreignForm ?? {})
  if (location === undefined) throw new ApiError('foreign_form')
  return leadTo(location)
}

/** The query as it was sent. Throws `validation_failed` if it is too long, or asks for a dry run where there is none. */
function queryOf(route: Route, ctx: Context): UrlEncoded {
  const query = readQuery(ctx)
  if ((route.dryRun ?? 'refused') === 'refused' && 'dry_run' in query)
    throw fieldError('dry_run', 'unknown_field', 'is allowed only on writes under /admin')
  return query
}

const noQuery = z.strictObject({})
const noBytes = Buffer.alloc(0)
const noBody: ParsedBody = { value: {}, verbatim: () => ({}) }

/** Reads and validates what the caller sent. Of the body, nothing is read before it is known who calls. */
async function whatTheySent(
  deps: Deps,
  route: Route,
  ctx: Context,
  known: KnownCaller & { query: UrlEncoded },
  options: AnswerOptions,
): Promise<AnyRequest> {
  const { caller, bearer, client, limitByBody, query: sentQuery } = known
  const params = parseParams(route, ctx.params)
  const querySchema = route.query ?? (isAdminDoor(route.auth) ? noQuery : undefined)
  const query = querySchema ? validate(querySchema, soundQuery(sentQuery)) : {}
  if (isDryRun(query)) ctx.set('X-Dry-Run', 'true')
  const auditReason = route.dryRun && auditReasonOf(ctx)
  await assertMayAct(deps, route, { caller, params, auditReason }, options)
  const sent = known.sent ?? (route.body ? await readBody(ctx, route) : noBody)
  route.assertMaySend?.(caller, sent.value)
  const { given, sentBack } = partsOf(route, sent.value)
  const body = route.body ? validate(route.body, given) : {}
  if (route.speaks === 'oauth' && !known.sent && sent.value.client_secret !== undefined)
    throw fieldError('client_secret', 'invalid_value', 'cannot be sent together with an Authorization header')
  const exemptApp = await limitByBody?.(isRecord(body) ? body : {})
  const headers = route.headers ? validate(route.headers, ctx.headers) : {}
  const bytes = route.takes ? await readBytes(ctx, route.takes, route.bodyLimitBytes) : noBytes
  const lines = route.lines ? await readLines(ctx, route.lines, route.bodyLimitBytes) : []
  const cookies = route.cookies ? readCookies(deps, ctx, route.cookies.reads) : {}
  const origin = { ...ctx.state.origin, exemptApp, auditReason }
  return { caller, bearer, client, params, query, body, headers, cookies, lines, bytes, sentBack, rawBody: sent.verbatim, origin }
}

/**
 * Throws `validation_failed` if somebody of the help desk gives no reason, and `system_admin_required` if they may not help this
 * user.
 */
async function assertMayAct(
  deps: Deps,
  { helps }: Route,
  { caller, params, auditReason }: Pick<AnyRequest, 'caller' | 'params'> & { auditReason: string | undefined },
  options: AnswerOptions,
): Promise<void> {
  if (!helps || caller?.kind !== 'user' || !caller.authority.helpsWithReason) return
  if (auditReason === undefined) throw fieldError(reasonHeader, 'required', 'is required: say why you do this')
  const userId = await helps(deps, params)
  if (userId !== undefined) await options.assertMayHelp(deps, userId, { caller })
}

/** A malformed id names nothing, so it is answered like an unknown one. */
function parseParams(route: Route, params: unknown): unknown {
  if (!route.params) return {}
  const parsed = route.params.safeParse(params)
  if (!parsed.success) throw new ApiError('not_found')
  return parsed.data
}

function partsOf({ body, record }: Route, sent: Record<string, unknown>): ReturnType<typeof partSentBack> {
  if (!record || !(body instanceof z.ZodObject)) return { given: sent, sentBack: {} }
  return partSentBack(sent, { members: Object.keys(record.shape), settable: Object.keys(body.shape) })
}

function isDryRun(query: unknown): boolean {
  return isRecord(query) && query.dry_run === 'true'
}

/** Does what was asked, or rehearses it. */
async function doIt(deps: Deps<Pool>, route: Route, request: AnyRequest, { rehearse }: AnswerOptions): Promise<Reply> {
  const isRehearsed = isDryRun(request.query) && route.dryRun === 'rehearsed'
  if (!isRehearsed) return (await route.handle(deps, request)) ?? noContent()
  return rehearse(deps, async (deps) => {
    const plan = await route.plan?.(deps, request)
    if (plan) return plan
    const reply = (await route.handle(deps, request)) ?? noContent()
    return { ...reply, body: withoutSecrets(route.responses[reply.status], reply.body) }
  })
}

/** Replaces secrets with null: what they would open was rolled back. */
function withoutSecrets(schema: z.ZodType | null | undefined, body: unknown): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(body)) return body
  const isSecret = (name: string) => schema.shape[name]?.meta()?.[shownOnceMark] === true
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, isSecret(name) ? null : value]))
}

/** The one place where errors become HTTP responses, as the route speaks. Internal causes go to the log only. */
export function errorHandler(deps: Deps): Middleware {
  return async (ctx: Context, next: Next) => {
    try {
      await next()
    } catch (thrown) {
      const error = toApiError(thrown)
      // A 503 without a cause is a decision of the service, such as to open no stream while it stops. The line of the request has
      // it.
      if (error.status >= 500 && error.cause !== undefined) {
        deps.logger.error({ ...ctx.state.lineFields, code: error.code, err: error.cause }, 'request failed')
      }
      say(ctx, await errorReply(deps, ctx, error))
    }
  }
}

async function errorReply(deps: Deps, ctx: Context, error: ApiError): Promise<Reply> {
  const { requestId } = ctx.state.origin
  const route = ctx.state.answering?.route
  if (route?.oauthErrors) return errorForOAuth(route.oauthErrors, error, requestId)
  const accepts = ctx.state.origin.languages
  if (route?.speaks === 'page') {
    const place = await findPlace(deps, route, ctx, error)
    const texts = textsFor({ accepts, place })
    const { method, path } = route
    return errorOfPage(texts, { method, path, place, onward: wayOn(texts, place) }, error, requestId)
  }
  const texts = textsFor({ accepts })
  if (route?.navigation) ctx.vary('Accept')
  const isForBrowser = route?.navigation && prefersHtml(ctx)
  return isForBrowser ? errorForBrowser(texts, error, requestId) : errorAsJson(error, requestId)
}

/** The app that a form is about which was refused before it was read: it came from elsewhere, or there were too many. */
async function findPlace(deps: Deps, route: Route, ctx: Context, { code }: ApiError): Promise<PagePlace | undefined> {
  const { foreignForm } = ctx.state
  const isUnread = (code === 'foreign_form' || code === 'rate_limited') && (foreignForm || !ctx.req.readableDidRead)
  if (!route.placeOf || !isUnread) return undefined
  try {
    return await route.placeOf(deps, foreignForm ?? (await readBody(ctx, route)).value)
  } catch {
    return undefined
  }
}

/**
 * The cookies that a route reads. With an https `PUBLIC_URL` their names have the prefix `__Host-`, so that no other host of the
 * domain can set them.
 */
export function readCookies({ config }: Deps, ctx: Context, names: readonly CookieName[]): Cookies {
  const sent = names.map((name) => [name, ctx.cookies.get(nameOf(config.publicUrl, name))] as const)
  return Object.fromEntries(sent.filter(([, value]) => value !== undefined))
}

function writeCookies({ config }: Deps, ctx: Context, cookies: SetCookies, declared: readonly CookieName[]): void {
  const secure = isSecure(config.publicUrl)
  // A proxy has ended TLS, which the cookie library cannot see.
  ctx.cookies.secure = secure
  for (const name of declared) {
    const cookie = cookies[name]
    if (cookie === undefined) continue
    const { value, seconds } = cookie ?? { value: '', seconds: 0 }
    const lasts = seconds === undefined ? {} : { maxAge: seconds * 1000 }
    ctx.cookies.set(nameOf(config.publicUrl, name), value, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure,
      overwrite: true,
      ...lasts,
    })
  }
}

function nameOf(publicUrl: string, name: CookieName): string {
  return `${isSecure(publicUrl) ? '__Host-' : ''}gatehouse_${name}`
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}

/**
 * Whether a page of this origin has sent a form. Browsers name the site of the sender; those that do not yet do so name its origin.
 * `Origin: null` is never ours.
 */
function isOwnForm({ config }: Deps, ctx: Context): boolean {
  const site = ctx.get('Sec-Fetch-Site')
  return site === '' ? ctx.get('Origin') === new URL(config.publicUrl).origin : site === 'same-origin'
}
