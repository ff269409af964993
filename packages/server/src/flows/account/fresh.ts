import type { Deps } from '../../deps.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { callerOfBrowser } from '../../resources/sessions/browser-sessions.ts'

/** Why the person may change nothing. Undefined if they have just shown all that they have. */
export function refuseChange(deps: Deps, live: LiveBrowserSession) {
  const at = { now: deps.clock(), factorSince: live.factor_activated_at }
  return callerOfBrowser(deps, live).authority.refuseCredentialChange(at)
}
