import type { Pool, Tx } from '../../db/handle.ts'
import { rehearsal, transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { ApiError } from '../../errors.ts'
import { verifiedNow } from '../../lib/account-record.ts'
import { bcryptCost } from '../../lib/password.ts'
import { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { systemActor } from '../../resources/audit/record-event.ts'
import { renewCatalog } from '../../resources/catalog/catalog.ts'
import { giveGrants } from '../../resources/grants/grants.ts'
import { forgetFailures } from '../../resources/lockouts/lockouts.ts'
import { addMember } from '../../resources/organizations/organizations.ts'
import type { LoginCase } from './login-case.ts'

/** Looks like a bcrypt hash. In a rehearsal, every password matches it. */
const someHash = `$2b$10$${'.'.repeat(53)}`

/**
 * Makes the login pass the step that refuses it, as an admin or the user could. Needs a rehearsal, which rolls it back. Returns
 * the deps to continue with, or undefined if nothing helps, for example if the user does not exist.
 */
export async function mend(
  deps: Deps<Pool>,
  loginCase: LoginCase,
  { error }: { error: ApiError },
): Promise<Deps<Pool> | undefined> {
  if (error.code === 'rate_limited') return { ...deps, config: { ...deps.config, accountLimit: null } }
  const change = changeFor(loginCase, error)
  if (!change) return undefined
  await transaction(deps, change)
  return deps
}

/** As if the second factor that the app demands had been shown. Needs a rehearsal. */
export async function demandNoSecondFactor(deps: Deps<Tx>, app: App | undefined): Promise<void> {
  if (!app) return
  await renewCatalog(deps)
  await App.update(deps.db, { id: app.id }, { require_two_factor: 'off' })
}

function changeFor(loginCase: LoginCase, error: ApiError): ((deps: Deps<Tx>) => Promise<unknown>) | undefined {
  const { app, found, namesakes, organization, pools } = loginCase
  const user = loginCase.user ?? (namesakes.length === 1 ? namesakes[0] : undefined)
  if (error.code === 'app_inactive' && app)
    return async (deps) => {
      await renewCatalog(deps)
      await App.update(deps.db, { id: app.id }, { status: 'active' })
    }
  if (!user || user.status === 'deleted') return undefined
  switch (error.code) {
    case 'invalid_credentials':
      if (found?.id === user.id) return (deps) => User.change(deps.db, user.id, { password_hash: someHash })
      // A login finds another user with this address first, whatever pools this user is in.
      if (found) return undefined
      return (deps) => UserNamespace.add(deps.db, [{ user_id: user.id, namespace: pools[0], created_at: deps.clock() }])
    case 'account_locked':
      return (deps) => forgetFailures(deps, user, { codes: true })
    case 'account_suspended':
      return (deps) => User.change(deps.db, user.id, { status: 'active', updated_at: deps.clock() })
    case 'email_unverified':
      return (deps) => User.change(deps.db, user.id, verifiedNow(deps.clock(), user))
    case 'second_factor_not_shown':
    case 'two_factor_enrollment_required':
      return (deps) => demandNoSecondFactor(deps, app)
    case 'organization_membership_required':
      return organization && ((deps) => addMember(deps, memberOf(organization.id, user.id), systemActor))
    case 'app_access_denied':
      return app && ((deps) => giveGrants(deps, { users: [user], app }, systemActor))
    default:
      return undefined
  }
}

function memberOf(organizationId: string, userId: string) {
  return { organizationId, userId, roleCodes: ['org_member'] }
}

/**
 * Runs `fn` in a transaction that is always rolled back, and returns its result. Inside, any password is correct for a user who
 * has one, and nothing is logged. A login writes only rows, including its counts, audit events and outbox messages, so nothing of
 * it remains.
 */
export async function rehearse<T>(deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<T>): Promise<T> {
  const logger = deps.logger.child({}, { level: 'silent' })
  return rehearsal(deps, (deps) => fn({ ...deps, logger, passwords: anyPassword(deps.passwords) }))
}

/** Accepts any password for a user who has one, since an admin cannot know it. */
function anyPassword(passwords: Deps['passwords']): Deps['passwords'] {
  return {
    ...passwords,
    verify: async (_password, hash) => typeof hash === 'string' && bcryptCost(hash) !== undefined,
  }
}
