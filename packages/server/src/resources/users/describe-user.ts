import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { grantStateAt } from '../../lib/grant-state.ts'
import { addressKeys, secondFactorKey } from '../../lib/lock-keys.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import { Lockout } from '../../models/lockout.ts'
import { Passkey } from '../../models/passkey.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { getUser } from './get-user.ts'
import { listGlobalRoles } from './global-roles.ts'
import { listMemberships } from './list-memberships.ts'
import { type PooledUser, presentUser } from './present.ts'
import type { userDetail } from './schema.ts'

/** A user with pools, apps, roles, organizations and ways to sign in, for an admin. Throws `not_found`. */
export async function describeUser(deps: Deps, id: string): Promise<z.output<typeof userDetail>> {
  const user = await getUser(deps, id)
  const apps = await UserApp.listStates(deps.db, id)
  const now = deps.clock()
  return {
    ...presentUser(user),
    locale: user.locale,
    apps: apps.map((app) => ({ ...app, effective: grantStateAt(app, now), expires_at: isoOrNull(app.expires_at) })),
    roles: await listGlobalRoles(deps, id),
    organizations: await listMemberships(deps, id),
    two_factor: (await SecondFactor.findActive(deps.db, id)) !== undefined,
    passkeys: (await Passkey.listOf(deps.db, id)).length,
    identities: await listIdentitiesOf(deps, id),
    locked_until: isoOrNull(await lockedUntil(deps, user, now)),
    last_login_at: isoOrNull(await Session.findLastLogin(deps.db, id)),
    made_by: user.made_by,
  }
}

/** More than an account has: usually one for each provider. */
const mostIdentities = 200

async function listIdentitiesOf(deps: Deps, userId: string): Promise<z.output<typeof userDetail>['identities']> {
  const { items } = await UserIdentity.listPage(deps.db, userId, { limit: mostIdentities })
  return items.map(({ id, provider, created_at }) => ({ id, provider: provider.code, created_at: iso(created_at) }))
}

/** When the last lock after wrong passwords for the address or wrong codes ends; null if there is none. */
async function lockedUntil(deps: Deps, { id, email, namespace, tags }: PooledUser, now: number): Promise<number | null> {
  const keys = [...addressKeys(deps.config.encryptionKeys[0], email, [namespace, ...tags]), secondFactorKey(id)]
  const ends = (await Lockout.listLocks(deps.db, keys)).flatMap(({ locked_until }) => locked_until ?? [])
  const last = Math.max(0, ...ends)
  return last > now ? last : null
}
