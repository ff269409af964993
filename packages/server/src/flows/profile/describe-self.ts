import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller, UserCaller } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { wordsIn } from '../../lib/words.ts'
import { type SelfRow, Session } from '../../models/session.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { authenticateCaller, callerOf, verifyToken } from '../../resources/sessions/authenticate-caller.ts'
import { resolveRights } from '../../resources/sessions/resolve-rights.ts'
import { type PooledUser, presentUser, userOf } from '../../resources/users/present.ts'
import type { Profile } from './schema.ts'

/** A caller with what the same statement told of them. */
export interface SelfCaller extends UserCaller {
  rows: [SelfRow, ...SelfRow[]]
}

/** As `authenticateCaller`, and reads in the same statement whom it finds: in two, the call would cost a quarter more. */
export async function authenticateSelf(deps: Deps, bearer: string): Promise<Caller | SelfCaller> {
  if (looksLikeServiceToken(bearer)) return authenticateCaller(deps, bearer)
  return readSelf(deps, verifyToken(deps, bearer))
}

/** The caller whose token has these claims, as the database has it now. Throws `token_invalid`, `token_revoked`. */
export async function readSelf(deps: Deps, claims: UserCaller['claims']): Promise<SelfCaller> {
  const [first, ...others] = await Session.listSelf(deps.db, claims.sid)
  if (!first) throw new ApiError('token_revoked')
  return { ...callerOf(deps, first, claims), rows: [first, ...others] }
}

export function userOfSelf({ rows }: SelfCaller): PooledUser {
  return userOf(rows[0])
}

/** The caller's own account as it is now, with the roles and permissions that a token of this session would get. */
export async function describeSelf(deps: Deps, caller: SelfCaller): Promise<Profile> {
  const { rows } = caller
  const [self] = rows
  const catalog = await readCatalog(deps, caller.catalogGeneration)
  const app = caller.appId === null ? null : ((await catalog.findApp({ id: caller.appId })) ?? null)
  const organizations = rows.flatMap(membershipIn)
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

function membershipIn(row: SelfRow): Membership[] {
  if (row.organization_id === null) return []
  return [
    {
      id: row.organization_id,
      slug: row.organization_slug,
      name: row.organization_name,
      role_codes: wordsIn(row.organization_roles),
    },
  ]
}
