import type { Context } from 'koa'
import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { ServiceAuthority } from '../lib/authority.ts'
import type { AssertedConsumer, Caller, ConsumerCaller } from '../lib/caller.ts'
import type { Attempt } from '../lib/rate-limit.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import { type ParsedBody, readBody } from './read-request.ts'
import { type AuthenticateCaller, limitOf, type Route } from './route.ts'
import { toApiError } from './speak/json.ts'

const tokenFields = ['refresh_token', 'token', 'code'] as const
type TokenField = (typeof tokenFields)[number]

/** How callers are looked up and counted; handed in by `app.ts`. */
export interface CallerOptions {
  authenticate: AuthenticateCaller
  /** Verifies the assertion of a consumer and looks up its app. */
  authenticateConsumer(deps: Deps, assertion: string): Promise<AssertedConsumer>
  /** Counts a call by address and throws `rate_limited` past the limit. */
  takeByAddress(deps: Deps<Pool>, counted: 'ip', ip: string): Promise<Attempt[]>
  /** Throws `rate_limited` if the address has no attempt left. */
  assertRoomForAddress(deps: Deps, counted: 'ip', ip: string): Promise<void>
  /** Takes back attempts that do not count. */
  giveBackAttempts(deps: Deps, attempts: readonly Attempt[]): Promise<void>
  /** The code of the app that a token in a body belongs to. */
  findAppOfToken(deps: Deps, kind: TokenField, token: string): Promise<string | undefined>
}

/** Completes the limit once the body is known. Returns the code of the app if it is exempt. Throws `rate_limited`. */
type LimitByBody = (body: Record<string, unknown>) => Promise<string | undefined>

/** Who calls, as far as the route asks. */
export interface KnownCaller {
  caller: Caller | AssertedConsumer | undefined
  bearer: string | undefined
  /** The body, if it was read to find the client secret. */
  sent: ParsedBody | undefined
  limitByBody: LimitByBody | undefined
}

/** Finds out who calls, after counting the call by address. Throws `rate_limited` and what refuses a caller. */
export async function whoCalls(deps: Deps<Pool>, route: Route, ctx: Context, options: CallerOptions): Promise<KnownCaller> {
  const { ip } = ctx.state.origin
  const limit = limitOf(route)
  const isOAuth = route.speaks === 'oauth'
  const inHeader = bearerOf(route, ctx) ?? (isOAuth ? serviceTokenOf(ctx) : undefined)
  const isSecretInBody = isOAuth && inHeader === undefined
  // Strangers can send such bodies too.
  if (isSecretInBody) await options.assertRoomForAddress(deps, 'ip', ip)
  // An unreadable body holds no secret, so the call fails with `token_missing`.
  const sent = isSecretInBody ? await readBody(ctx, route).catch(() => undefined) : undefined
  const bearer = inHeader ?? serviceTokenIn(sent?.value.client_secret)
  const isLimited = limit === 'calls' || limit === 'failures'
  const limitByBody = isLimited ? await limitCall(deps, route, { ip, bearer }, options) : undefined
  const caller = await authorize(deps, route, bearer, options)
  return { caller, bearer, sent, limitByBody }
}

/** The token of `Authorization: Bearer …`. Undefined if there is none, and for a page, which browsers open without one. */
function bearerOf({ speaks }: Route, ctx: Context): string | undefined {
  if (speaks === 'page') return undefined
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('Authorization'))?.[1]
}

/** The token of a service account in HTTP Basic. Standard clients of RFC 7662 send it as their client password. */
function serviceTokenOf(ctx: Context): string | undefined {
  const encoded = /^Basic +([^\s]+) *$/i.exec(ctx.get('Authorization'))?.[1]
  const password = encoded && /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString())?.[1]
  // RFC 6749 section 2.3.1: clients form-encode both parts, and some encode every character except letters and digits.
  return serviceTokenIn(password && new URLSearchParams(`password=${password}`).get('password'))
}

/** The token of a service account in the `client_secret` of a body. Undefined if the secret is something else. */
function serviceTokenIn(secret: unknown): string | undefined {
  return typeof secret === 'string' && looksLikeServiceToken(secret) ? secret : undefined
}

/**
 * Authenticates the caller that a route requires, and refuses a service account without the scope of the route. A public route
 * gets undefined, and its token is not checked.
 */
async function authorize(
  deps: Deps,
  { auth, scope, authenticate }: Route,
  bearer: string | undefined,
  options: CallerOptions,
): Promise<Caller | AssertedConsumer | undefined> {
  if (auth === 'public') return undefined
  if (bearer === undefined) throw new ApiError('token_missing')
  if (auth === 'any_consumer') return options.authenticateConsumer(deps, bearer)
  if (auth === 'service_account' && !looksLikeServiceToken(bearer))
    throw new ApiError('token_invalid', { detail: 'The token of a service account is required' })
  const takesServiceAccounts =
    auth === 'service_account' || (auth === 'consumer_or_service_account' && looksLikeServiceToken(bearer))
  if (auth === 'consumer' || (auth === 'consumer_or_service_account' && !takesServiceAccounts)) {
    return ofKnownApp(await options.authenticateConsumer(deps, bearer))
  }
  const caller = await (authenticate ?? options.authenticate)(deps, bearer)
  if (auth === 'user') {
    if (caller.kind !== 'user') throw new ApiError('token_invalid', { detail: 'An access token of a user is required' })
    return caller
  }
  if ((auth === 'service' || takesServiceAccounts) && caller.kind === 'service_account') {
    const refusal = scope && caller.authority.refuseWithout(scope)
    if (refusal) throw new ApiError(refusal.code, refusal)
    return caller
  }
  const refusal = caller.authority.refuseAdministration()
  if (!refusal) return caller
  const asksForService = auth === 'service' && refusal.code === 'system_admin_required'
  throw new ApiError(asksForService ? 'service_caller_required' : refusal.code)
}

function ofKnownApp({ app, ...consumer }: AssertedConsumer): ConsumerCaller {
  if (!app) throw new ApiError('token_invalid', { detail: 'No app has the code in `sub`' })
  return { ...consumer, app }
}

/**
 * Limits a call by address. A call with the token of a service account with `limits:exempt` is not counted if it is about one of
 * the account's apps. The body names the app, so for such an account, and only then, the decision waits for the body. If the body
 * holds a token instead, the attempt counts at once, because it may be a guess, and is given back if one of these apps has the
 * token. It is then not refused either: strangers can use up the address of a backend with made-up tokens. Of a route that counts
 * failures, nothing is counted here.
 */
async function limitCall(
  deps: Deps<Pool>,
  route: Route,
  { ip, bearer }: { ip: string; bearer: string | undefined },
  options: CallerOptions,
): Promise<LimitByBody | undefined> {
  const take = async () => {
    if (limitOf(route) === 'calls') return options.takeByAddress(deps, 'ip', ip)
    await options.assertRoomForAddress(deps, 'ip', ip)
    return []
  }
  const authority = await exemptible(deps, bearer, options)
  if (authority && fieldOf(route, ['app_code'])) {
    const defaultApp = route.takesDefaultApp ? deps.config.defaultAppCode : undefined
    return async ({ app_code }) => {
      const app = typeof app_code === 'string' ? app_code : defaultApp
      if (authority.isExemptFromLimits(app)) return app
      await take()
      return undefined
    }
  }
  const field = authority && fieldOf(route, tokenFields)
  if (!field) {
    await take()
    return undefined
  }
  const [taken] = await Promise.allSettled([take()])
  return async (body) => {
    const app = await options.findAppOfToken(deps, field, String(body[field]))
    if (authority.isExemptFromLimits(app)) {
      if (taken.status === 'fulfilled') await options.giveBackAttempts(deps, taken.value)
      return app
    }
    if (taken.status === 'rejected') throw taken.reason
    return undefined
  }
}

async function exemptible(
  deps: Deps,
  bearer: string | undefined,
  { authenticate }: CallerOptions,
): Promise<ServiceAuthority | undefined> {
  if (bearer === undefined || !looksLikeServiceToken(bearer)) return undefined
  const caller = await authenticate(deps, bearer).catch(() => undefined)
  return caller?.kind === 'service_account' && caller.authority.mayBeExemptFromLimits ? caller.authority : undefined
}

/** The first of these fields that the route declares in its body. */
function fieldOf<F extends string>(route: Route, fields: readonly F[]): F | undefined {
  const declared = route.body instanceof z.ZodObject ? route.body.shape : {}
  return fields.find((field) => field in declared)
}

/** Counts a refused call by address. Returns the error to answer with: `rate_limited` once the address has no attempt left. */
export async function countRefusal(deps: Deps<Pool>, error: unknown, ip: string, options: CallerOptions): Promise<unknown> {
  const { status, code } = toApiError(error)
  // A service account that lacks the scope has shown who it is.
  if (status >= 500 || code === 'rate_limited' || code === 'scope_required') return error
  return options.takeByAddress(deps, 'ip', ip).then(
    () => error,
    (limited: unknown) => limited,
  )
}
