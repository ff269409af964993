import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { ServiceAuthority } from '../lib/authority.ts'
import type { Attempt } from '../lib/rate-limit.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import type { AuthenticateCaller, Route } from './route.ts'

/** Counts a call by address and throws `rate_limited` past the limit; handed in by `app.ts`. */
type TakeByAddress = (deps: Deps<Pool>, counted: 'ip', ip: string) => Promise<Attempt[]>
/** Throws `rate_limited` if the address has no attempt left; handed in by `app.ts`. */
type AssertRoomForAddress = (deps: Deps, counted: 'ip', ip: string) => Promise<void>
/** Takes back attempts that do not count; handed in by `app.ts`. */
type GiveBackAttempts = (deps: Deps, attempts: readonly Attempt[]) => Promise<void>
/** The code of the app that a token in a body belongs to; handed in by `app.ts`. */
type FindAppOfToken = (deps: Deps, kind: TokenField, token: string) => Promise<string | undefined>

const tokenFields = ['refresh_token', 'token', 'code'] as const
type TokenField = (typeof tokenFields)[number]

export interface LimitOptions {
  authenticate: AuthenticateCaller
  takeByAddress: TakeByAddress
  assertRoomForAddress: AssertRoomForAddress
  giveBackAttempts: GiveBackAttempts
  findAppOfToken: FindAppOfToken
}

/** Completes the limit once the body is known. Returns the code of the app if it is exempt. Throws `rate_limited`. */
export type LimitByBody = (body: Record<string, unknown>) => Promise<string | undefined>

const noFurtherLimit: LimitByBody = async () => undefined

/**
 * Limits a call by address. A call with the token of a service account with `limits:exempt` is not counted if it is about one of
 * the account's apps. The body names the app, so for such an account, and only then, the decision waits for the body. If the body
 * holds a token instead, the attempt counts at once, because it may be a guess, and is given back if one of these apps has the
 * token. It is then not refused either: strangers can use up the address of a backend with made-up tokens. Of a route that counts
 * failures only, nothing is counted here.
 */
export async function limitCall(
  deps: Deps<Pool>,
  route: Route,
  { ip, bearer }: { ip: string; bearer: string | undefined },
  options: LimitOptions,
): Promise<LimitByBody> {
  const take = async () => {
    if (!route.countsFailuresOnly) return options.takeByAddress(deps, 'ip', ip)
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
    return noFurtherLimit
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
