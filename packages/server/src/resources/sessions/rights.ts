import type { Deps } from '../../deps.ts'
import type { AccessTokenClaims } from '../../lib/access-token.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import type { SignInFacts } from '../../lib/proof.ts'
import type { Membership } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import { wordsIn } from '../../lib/words.ts'
import type { App } from '../../models/app.ts'
import type { MembershipColumns } from '../../models/organization-membership.ts'
import { type RolesAndGrantRow, User } from '../../models/user.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type GrantState, grantStateOf } from '../grants/grants.ts'
import type { PooledUser, ShownUser } from '../users/present.ts'

/** The global roles of a user and their grant for an app. One statement reads them, alone or with what the caller reads anyway. */
export interface RolesAndGrant {
  globalRoles: string[]
  grant: GrantState
  /** The generation of the catalog at the same moment; absent if it was not read. */
  catalogGeneration?: string
}

/** The same, with whether the user has an active second factor. */
export interface KnownRights extends RolesAndGrant {
  hasSecondFactor: boolean
}

export function rolesAndGrantOf(deps: Deps, row: RolesAndGrantRow): RolesAndGrant {
  const grant = row.grant_status === null ? undefined : { status: row.grant_status, expires_at: row.grant_expires_at }
  return { globalRoles: wordsIn(row.global_roles), grant: grantStateOf(deps, grant), catalogGeneration: row.catalog_generation }
}

/** The membership that a statement read with other things, or undefined if the user is no member. */
export function membershipOf(row: MembershipColumns): Membership | undefined {
  const { organization_id: id, organization_slug: slug, organization_name: name, organization_roles: roles } = row
  return id === null ? undefined : { id, slug, name, role_codes: wordsIn(roles) }
}

/** Reads the roles and the grant for an app, or for a login without one. */
export async function readRolesAndGrant(
  deps: Deps,
  userId: string,
  appId: string | null,
): Promise<KnownRights & { appFloor: number }> {
  const row = await User.findRolesAndGrant(deps.db, userId, appId)
  if (!row) throw new Error(`no user ${userId}`)
  return { ...rolesAndGrantOf(deps, row), hasSecondFactor: Boolean(row.has_factor), appFloor: row.app_floor ?? 0 }
}

interface Found {
  app: App | null
  membership: Membership | null
  globalRoles: string[]
  catalog: Catalog
}

/** The roles and permissions in a token. A login without an app, under AUTH_ALLOW_BASE_USER_LOGIN, gets only core permissions. */
export async function resolveRights(
  deps: Deps,
  { app, membership, globalRoles, catalog }: Found,
): Promise<{ roles: string[]; permissions: readonly string[] }> {
  if (app === null && deps.config.allowBaseUserLogin) {
    return { roles: ['base_user'], permissions: await catalog.listTokenPermissions(null, []) }
  }
  const roles = membership?.role_codes ?? globalRoles
  return { roles, permissions: await catalog.listTokenPermissions(app?.id ?? null, roles) }
}

/** The user whom a token speaks for, and what it lets them do. */
export interface Admitted {
  user: ShownUser & Pick<PooledUser, 'token_version'>
  app: App | null
  membership: Membership | null
  roles: string[]
  permissions: readonly string[]
}

/** The claims of a token; times in seconds. The lists come last, where a verifier finds them without parsing the rest. */
export function claimsOf(
  deps: Deps,
  admission: Admitted,
  session: SignInFacts & { id: string },
  issuedAt: number,
  expiresAt: number,
): AccessTokenClaims {
  const { user, app, membership } = admission
  return {
    ...(app ? { app_id: app.id, app_code: app.code } : {}),
    uid: user.id,
    sub: user.id,
    email: user.email,
    email_verified: user.email_verified_at !== null,
    first_name: user.first_name,
    last_name: user.last_name,
    ...(membership ? { org_id: membership.id, org_slug: membership.slug } : {}),
    ...(user.namespace === DEFAULT_POOL ? {} : { namespace: user.namespace }),
    tv: user.token_version,
    sid: session.id,
    auth_time: Math.floor(session.firstProvenAt / 1000),
    amr: [...session.amr],
    iss: deps.config.issuer,
    aud: app?.code ?? deps.config.issuer,
    exp: expiresAt,
    nbf: issuedAt,
    iat: issuedAt,
    jti: newId(),
    roles: admission.roles,
    permissions: [...admission.permissions],
  }
}
