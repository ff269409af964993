import type { Deps } from '../deps.ts'
import { addressKey } from '../lib/client-address.ts'
import type { RateLimit } from '../lib/rate-limit.ts'
import type { AuthenticateCaller } from './route.ts'

/** Counts an attempt and throws `rate_limited` past the limit; handed in by `app.ts`. */
export type TakeAttempt = (deps: Deps, key: string, limit: RateLimit | null) => Promise<unknown>

const serviceTokenPrefix = 'gsa_'

/**
 * Counts a call against the address it came from, an IPv6 one by its /64. A backend that calls for many users with the token of its
 * service account is not counted. Throws `rate_limited`.
 */
export async function limitByAddress(
  deps: Deps,
  call: { ip: string; bearer: string | undefined },
  { takeAttempt, authenticate }: { takeAttempt: TakeAttempt; authenticate: AuthenticateCaller },
): Promise<void> {
  if (deps.config.ipLimit === null) return
  if (call.bearer?.startsWith(serviceTokenPrefix)) {
    const caller = await authenticate(deps, call.bearer).catch(() => undefined)
    if (caller?.kind === 'service_account') return
  }
  await takeAttempt(deps, `ip:${addressKey(call.ip)}`, deps.config.ipLimit)
}
