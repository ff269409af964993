import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { accountPath } from '../../lib/account-sections.ts'
import type { ShownFactors } from '../../lib/proof.ts'
import { relyingPartyOf } from '../../lib/web-authn.ts'
import type { App } from '../../models/app.ts'
import { Passkey } from '../../models/passkey.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { isAdminApp } from '../apps/apps.ts'
import { BASE_ROLE } from '../users/administration.ts'

type Policy = Pick<App, 'require_two_factor' | 'require_two_factor_from'>

/** Whether an app demands by now that a user with these global roles has shown a second factor. */
function demandsSecondFactor(
  { require_two_factor: whose, require_two_factor_from: from }: Policy,
  globalRoles: readonly string[],
  now: number,
): boolean {
  if (whose === 'off' || (from !== null && now < from)) return false
  return whose === 'everyone' || globalRoles.some((code) => code !== BASE_ROLE)
}

/** A user who enters an app, or goes on there. */
interface Entrant {
  user: { id: string }
  app: App
  globalRoles: readonly string[]
  shown: ShownFactors
}

/**
 * Refuses a sign-in that has not shown what the app demands, or has shown it before the date from which the app demands it. A user
 * who owns a second factor or a passkey has to show it; only one who owns neither may set one up. Throws `second_factor_not_shown`
 * and `two_factor_enrollment_required`.
 */
export async function assertPolicyMet(deps: Deps, { user, app, globalRoles, shown }: Entrant): Promise<void> {
  if (!demandsSecondFactor(app, globalRoles, deps.clock())) return
  const isNewEnough = shown.shownAt >= (app.require_two_factor_from ?? 0)
  if (shown.second === 'shown' && isNewEnough) return
  const isOfAdmins = isAdminApp(deps.config, app)
  // For how many days a trust counts was asked at the entry.
  if (shown.second === 'trusted' && isNewEnough && app.trust_device_days > 0 && !isOfAdmins) return
  const owned = await findOwned(deps, user.id)
  if (owned === 'code') throw new ApiError('second_factor_not_shown', { detail: 'Sign in again, with the second factor' })
  if (owned === 'passkey') {
    const page = `${deps.config.publicUrl}/oauth/authorize`
    throw new ApiError('second_factor_not_shown', {
      detail: `Only the sign-in page can ask for the passkey of the user: ${page}`,
    })
  }
  if (!isOfAdmins && (await isTrustedProvider(deps, shown.method))) {
    if (isNewEnough) return
    throw new ApiError('second_factor_not_shown', { detail: 'Sign in again, at the provider' })
  }
  const page = pageOfApp(deps, app)
  throw new ApiError('two_factor_enrollment_required', page ? { members: { enrollment_url: page } } : {})
}

/** What a user has to show where a second factor is demanded. Passkeys of another host work nowhere any more. */
async function findOwned(deps: Deps, userId: string): Promise<'code' | 'passkey' | undefined> {
  if (await SecondFactor.findActive(deps.db, userId)) return 'code'
  const party = relyingPartyOf(deps.config.publicUrl)
  return party && (await Passkey.isOwned(deps.db, { user_id: userId, rp_id: party.id })) ? 'passkey' : undefined
}

async function isTrustedProvider(deps: Deps, method: string): Promise<boolean> {
  return (await SsoProvider.find(deps.db, { code: method }))?.trusted_for_two_factor === true
}

/**
 * The page where a user of an app signs in and sets up a second factor. Holds no secret. Undefined where this service has no such
 * pages.
 */
function pageOfApp({ config: { publicUrl } }: Deps, { code }: App): string | undefined {
  if (new URL(publicUrl).pathname !== '/') return undefined
  return publicUrl + accountPath('two-factor', { app: code, returnTo: '' })
}
