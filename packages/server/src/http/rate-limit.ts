import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { ServiceAuthority } from '../lib/authority.ts'
import { addressKey } from '../lib/client-address.ts'
import type { Attempt, AttemptLimit } from '../lib/rate-limit.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import type { AuthenticateCaller, Route } from './route.ts'

/** Counts an attempt and throws `rate_limited` past the limit; handed in by `app.ts`. */
export type TakeAttempt = (deps: Deps<Pool>, key: string, limit: AttemptLimit | null) => Promise<Attempt | undefined>
/** Takes back an attempt that does not count; handed in by `app.ts`. */
export type GiveBackAttempt = (deps: Deps, attempt: Attempt | undefined) => Promise<void>
/** The code of the app that a token in a body belongs to; handed in by `app.ts`. */
export type FindAppOfToken = (deps: Deps, kind: TokenField, token: string) => Promise<string | undefined>

const tokenFields = ['refresh_token', 'token', 'code'] as const
type TokenField = (typeof tokenFields)[number]

export interface LimitOptions {
  authenticate: AuthenticateCaller
  takeAttempt: TakeAttempt
  giveBackAttempt: GiveBackAttempt
  findAppOfToken: FindAppOfToken
}

/** Completes the limit once the body is known. Returns the code of the app if it is exempt. Throws `rate_limited`. */
export type LimitByBody = (body: Record<string, unknown>) => Promise<string | undefined>

const noFurtherLimit: LimitByBody = async () => undefined

/** Counts a call against the address it came from; IPv6 addresses count by /64. Throws `rate_limited`. */
export async function limitByAddress(deps: Deps<Pool>, ip: string, { takeAttempt }: Pick<LimitOptions, 'takeAttempt'>) {
  return takeAttempt(deps, `ip:${addressKey(ip)}`, deps.config.ipLimit)
}

/**
 * Limits a call by address. A call with the token of a service account with `limits:exempt` is not counted if it is about one of
 * the account's apps. The body names the app, so for such an account, and only then, the decision waits for the body. If the body
 * holds a token instead, the attempt counts at once, because it may be a guess, and is given back if one of these apps has the
 * token.
 */
export async function limitCall(
  deps: Deps<Pool>,
  route: Route,
  call: { ip: string; bearer: string | undefined },
  options: LimitOptions,
): Promise<LimitByBody> {
  const take = () => limitByAddress(deps, call.ip, options)
  const authority = await exemptible(deps, call.bearer, options)
  if (authority && fieldOf(route, ['app_code'])) {
    const defaultApp = route.takesDefaultApp ? deps.config.defaultAppCode : undefined
    return async ({ app_code }) => {
      const app = typeof app_code === 'string' ? app_code : defaultApp
      if (authority.isExemptFromLimits(app)) return app
      await take()
      return undefined
    }
  }
  const attempt = await take()
  const field = authority && fieldOf(route, tokenFields)
  if (!field) return noFurtherLimit
  return async (body) => {
    const app = await options.findAppOfToken(deps, field, String(body[field]))
    if (!authority.isExemptFromLimits(app)) return undefined
    await options.giveBackAttempt(deps, attempt)
    return app
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
