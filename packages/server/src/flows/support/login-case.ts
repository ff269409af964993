import type { Pool, Tx } from '../../db/handle.ts'
import { rehearsal, transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { ApiError } from '../../errors.ts'
import { verifiedNow } from '../../lib/account-record.ts'
import { mailCodeKey } from '../../lib/lock-keys.ts'
import { bcryptCost } from '../../lib/password.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Organization } from '../../models/organization.ts'
import { Passkey } from '../../models/passkey.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { systemActor } from '../../resources/audit/record-event.ts'
import { renewCatalog } from '../../resources/catalog/catalog.ts'
import { giveGrants } from '../../resources/grants/grants.ts'
import { forgetFailures, secondsOfLock } from '../../resources/lockouts/lockouts.ts'
import { addMember } from '../../resources/organizations/organizations.ts'
import { listGlobalRoles } from '../../resources/users/administration.ts'
import { findUserInPools, listMemberships } from '../../resources/users/find-users.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { getUser, listUsers } from '../../resources/users/users.ts'
import type { ExplainInput } from './schema.ts'

/** What a login is about. An admin may know all of it, but the login would not disclose it. */
export interface LoginCase {
  email: string
  /** The code that the login sends. If no app matches, this is what the admin asked for. */
  appCode: string | undefined
  app: App | undefined
  organizationId: string | undefined
  organization: Organization | undefined
  /** The pools that are searched. */
  pools: readonly [string, ...string[]]
  /** The user in question: the one that was named, or the one that a login with the address finds. */
  user: PooledUser | undefined
  /** The user that a login with the address finds. */
  found: PooledUser | undefined
  /** All users with the address, in any pool. */
  namesakes: PooledUser[]
  hasTwoFactor: boolean
  /** The number of passkeys of the user. */
  passkeys: number
  /** For how many seconds codes from mails are still refused for the address. */
  mailCodesLockedSeconds: number
}

type Grant = Pick<UserApp, 'status' | 'granted_via' | 'granted_at' | 'expires_at' | 'revoked_at'> & { app_code: string }

/** What a user may do at some moment. */
export interface Entitlements {
  globalRoles: string[]
  grants: Grant[]
  memberships: Membership[]
}

/** Throws `not_found` for an unknown `user_id`. */
export async function getLoginCase(deps: Deps, input: ExplainInput): Promise<LoginCase> {
  const named = input.user_id === undefined ? undefined : await getUser(deps, input.user_id)
  const email = named?.email ?? input.email
  if (email === undefined) throw new Error('the query has neither email nor user_id')
  const app = input.app === undefined ? undefined : await findApp(deps, input.app)
  const pools = poolSet(app ?? null)
  const found = await findUserInPools(deps, email, pools)
  const user = named ?? found
  const factor = user && (await SecondFactor.findActive(deps.db, user.id))
  return {
    email,
    appCode: app?.code ?? input.app,
    app,
    organizationId: input.organization_id,
    organization: input.organization_id ? await Organization.find(deps.db, { id: input.organization_id }) : undefined,
    pools,
    user,
    found,
    namesakes: (await listUsers(deps, { email, limit: 200 })).items,
    hasTwoFactor: factor !== undefined,
    passkeys: user ? await Passkey.query(deps.db).where({ user_id: user.id }).resultSize() : 0,
    mailCodesLockedSeconds: await secondsOfLock(deps, [mailCodeKey(deps.config.encryptionKeys[0], email, false)]),
  }
}

async function findApp(deps: Deps, ref: string): Promise<App | undefined> {
  return App.find(deps.db, isUuid(ref) ? { id: ref.toLowerCase() } : { code: ref })
}

export async function listEntitlements(deps: Deps, userId: string | undefined): Promise<Entitlements> {
  if (userId === undefined) return { globalRoles: [], grants: [], memberships: [] }
  return {
    grants: await UserApp.listHistories(deps.db, userId),
    globalRoles: await listGlobalRoles(deps, userId),
    memberships: await listMemberships(deps, userId),
  }
}

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
