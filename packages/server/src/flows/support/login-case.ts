import type { Deps } from '../../deps.ts'
import { mailCodeKey } from '../../lib/lock-keys.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Organization } from '../../models/organization.ts'
import { Passkey } from '../../models/passkey.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { UserApp } from '../../models/user-app.ts'
import { secondsOfLock } from '../../resources/lockouts/lockouts.ts'
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
