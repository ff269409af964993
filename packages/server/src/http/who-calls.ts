import type { Context } from 'koa'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { AssertedConsumer, Caller, ConsumerCaller } from '../lib/caller.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import { type LimitByBody, type LimitOptions, limitCall, limitOf } from './limits.ts'
import { type ParsedBody, readBody } from './read-request.ts'
import type { Route } from './route.ts'

/** How callers are looked up and counted; handed in by `app.ts`. */
export interface CallerOptions extends LimitOptions {
  /** Verifies the assertion of a consumer and looks up its app. */
  authenticateConsumer(deps: Deps, assertion: string): Promise<AssertedConsumer>
}

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
  // A body is read once. An unreadable one holds no secret, so a route that needs a caller refuses with `token_missing`.
  let fault: unknown
  const keepFault = (error: unknown) => {
    fault = error
    return undefined
  }
  const sent = isSecretInBody ? await readBody(ctx, route).catch(keepFault) : undefined
  const bearer = inHeader ?? serviceTokenIn(sent?.value.client_secret)
  const isLimited = limit === 'calls' || limit === 'failures'
  const limitByBody = isLimited ? await limitCall(deps, route, { ip, bearer }, options) : undefined
  const caller = await authorize(deps, route, bearer, options)
  if (fault !== undefined) throw fault
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
  if (!app) throw new ApiError('token_invalid', { detail: 'No app has the code in sub' })
  return { ...consumer, app }
}
