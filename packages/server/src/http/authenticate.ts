import type { Context } from 'koa'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { AssertedConsumer, Caller, ConsumerCaller } from '../lib/caller.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import type { AuthenticateCaller, Route } from './route.ts'

/** Verifies the assertion of a consumer and looks up its app; handed in by `app.ts`. */
export type AuthenticateConsumer = (deps: Deps, assertion: string) => Promise<AssertedConsumer>

/** The token of `Authorization: Bearer …`, or undefined when there is none. */
export function bearerOf(ctx: Context): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('Authorization'))?.[1]
}

/** The token of a service account in HTTP Basic. Standard clients of RFC 7662 send it as their client password. */
export function serviceTokenOf(ctx: Context): string | undefined {
  const encoded = /^Basic +([^\s]+) *$/i.exec(ctx.get('Authorization'))?.[1]
  const password = encoded && /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString())?.[1]
  // RFC 6749 section 2.3.1: clients form-encode both parts, and some encode every character except letters and digits.
  return serviceTokenIn(password && new URLSearchParams(`password=${password}`).get('password'))
}

/** The token of a service account in the `client_secret` of a body. Undefined if the secret is something else. */
export function serviceTokenIn(secret: unknown): string | undefined {
  return typeof secret === 'string' && looksLikeServiceToken(secret) ? secret : undefined
}

/**
 * Authenticates the caller that a route requires, and refuses a service account without the scope of the route. A public route
 * gets undefined, and its token is not checked.
 */
export async function authorize(
  deps: Deps,
  { auth, scope }: Pick<Route, 'auth' | 'scope'>,
  bearer: string | undefined,
  { authenticate, authenticateConsumer }: { authenticate: AuthenticateCaller; authenticateConsumer: AuthenticateConsumer },
): Promise<Caller | AssertedConsumer | undefined> {
  if (auth === 'public') return undefined
  if (bearer === undefined) throw new ApiError('token_missing')
  if (auth === 'any_consumer') return authenticateConsumer(deps, bearer)
  if (auth === 'service_account' && !looksLikeServiceToken(bearer))
    throw new ApiError('token_invalid', { detail: 'The token of a service account is required' })
  const takesServiceAccounts =
    auth === 'service_account' || (auth === 'consumer_or_service_account' && looksLikeServiceToken(bearer))
  if (auth === 'consumer' || (auth === 'consumer_or_service_account' && !takesServiceAccounts)) {
    return ofKnownApp(await authenticateConsumer(deps, bearer))
  }
  const caller = await authenticate(deps, bearer)
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
