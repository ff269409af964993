import type { Deps } from '../../deps.ts'
import type { Caller } from '../../lib/caller.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { wordsIn } from '../../lib/words.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { authenticateCaller, callerWithToken } from '../../resources/sessions/authenticate-caller.ts'
import { membershipsIn, readSelf, type SelfCaller, userOfSelf } from '../../resources/sessions/read-self.ts'
import { resolveRights } from '../../resources/sessions/resolve-rights.ts'
import { presentUser } from '../../resources/users/present.ts'
import type { Profile } from './schema.ts'

export type { SelfCaller }

/** Like `authenticateCaller`, but also reads the user's data in the same statement: a second one would slow the call down. */
export async function authenticateSelf(deps: Deps, bearer: string): Promise<Caller | SelfCaller> {
  if (looksLikeServiceToken(bearer)) return authenticateCaller(deps, bearer)
  return callerWithToken(deps, bearer, (claims) => readSelf(deps, claims))
}

/** The caller's current account, with the roles and permissions that a new token of this session would get. */
export async function describeSelf(deps: Deps, caller: SelfCaller): Promise<Profile> {
  const [self] = caller.rows
  const catalog = await readCatalog(deps, caller.catalogGeneration)
  const app = caller.appId === null ? null : ((await catalog.findApp({ id: caller.appId })) ?? null)
  const organizations = membershipsIn(caller)
  const membership = organizations.find((organization) => organization.id === caller.claims.org_id) ?? null
  const globalRoles = wordsIn(self.global_roles)
  const { roles, permissions } = await resolveRights(deps, { app, membership, globalRoles, catalog })
  return {
    user: presentUser(userOfSelf(caller)),
    app: app ? presentAppRef(app) : null,
    roles,
    permissions: [...permissions],
    organizations,
    two_factor: Boolean(self.has_factor),
  }
}
