import type { Deps } from '../../deps.ts'
import type { App } from '../../models/app.ts'
import { Permission } from '../../models/permission.ts'

/** The service that holds the built-in permissions. */
export const CORE_SERVICE = 'core'

/**
 * The permissions of an access token (docs/guard-a-backend/tokens.md#the-shape-of-a-token): all of `core`, those of every service that the app
 * lists, and those that the roles hold. An app of scope `roles` takes from its services only what the roles hold. Sorted, unique,
 * without pruned permissions.
 */
export async function listTokenPermissions(
  deps: Deps,
  app: Pick<App, 'service_codes' | 'permission_scope'> | null,
  roles: readonly string[],
): Promise<string[]> {
  const services = app?.service_codes ?? []
  const narrowed = app?.permission_scope === 'roles'
  const holdsAll = roles.includes('super_admin')
  const codes = await Permission.listCodes(deps.db, { core: CORE_SERVICE, services, roles, narrowed, holdsAll })
  return codes.sort()
}
