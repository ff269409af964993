import type { Deps } from '../../deps.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import type { Catalog } from '../catalog/read-catalog.ts'

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
