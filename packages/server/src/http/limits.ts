import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { ServiceAuthority } from '../lib/authority.ts'
import type { Attempt } from '../lib/rate-limit.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import type { AuthenticateCaller, Route } from './route.ts'
import { toApiError } from './speak/reply.ts'

/** In this order: beside a `request_id`, a `code` is six digits of a mail. */
const tokenFields = ['refresh_token', 'token', 'request_id', 'code'] as const
type TokenField = (typeof tokenFields)[number]

/** How calls are counted; handed in by `app.ts`. */
export interface LimitOptions {
  authenticate: AuthenticateCaller
  /** Counts a call by address and throws `rate_limited` past the limit. */
  takeByAddress(deps: Deps<Pool>, counted: 'ip', ip: string): Promise<Attempt[]>
  /** Throws `rate_limited` if the address has no attempt left. */
  assertRoomForAddress(deps: Deps, counted: 'ip', ip: string): Promise<void>
  /** Takes back attempts that do not count. */
  giveBackAttempts(deps: Deps, attempts: readonly Attempt[]): Promise<void>
  /** The code of the app that a token in a body belongs to. */
  findAppOfToken(deps: Deps, kind: TokenField, token: string): Promise<string | undefined>
}

/** What AUTH_RATE_LIMIT_IP counts of a route. Undefined if nothing. */
export function limitOf({
  limit,
  speaks,
  method,
  auth,
}: Pick<Route, 'limit' | 'speaks' | 'method' | 'auth'>): Exclude<Route['limit'], 'nothing'> {
  if (limit === 'nothing') return undefined
  return limit ?? (speaks === 'oauth' ? 'strangers' : method === 'POST' && auth === 'public' ? 'calls' : undefined)
}

/** Completes the limit once the body is known. Returns the code of the app if it is exempt. Throws `rate_limited`. */
export type LimitByBody = (body: Record<string, unknown>) => Promise<string | undefined>

/**
 * Limits a call by address. A call with the token of a service account with `limits:exempt` is not counted if it is about one of
 * the account's apps. The body names the app, so for such an account, and only then, the decision waits for the body. If the body
 * holds a token instead, the attempt counts at once, because it may be a guess, and is given back if one of these apps has the
 * token. It is then not refused either: strangers can use up the address of a backend with made-up tokens. Of a route that counts
 * failures, nothing is counted here.
 */
export async function limitCall(
  deps: Deps<Pool>,
  route: Route,
  { ip, bearer }: { ip: string; bearer: string | undefined },
  options: LimitOptions,
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
  { authenticate }: LimitOptions,
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
export async function countRefusal(deps: Deps<Pool>, error: unknown, ip: string, options: LimitOptions): Promise<unknown> {
  const { status, code } = toApiError(error)
  // A service account that lacks the scope has shown who it is, and a device that waits holds a code.
  if (status >= 500 || code === 'rate_limited' || code === 'scope_required' || code === 'authorization_pending') return error
  return options.takeByAddress(deps, 'ip', ip).then(
    () => error,
    (limited: unknown) => limited,
  )
}
