import type { Deps } from '../../deps.ts'
import type { App } from '../../models/app.ts'
import { ServiceAccountPermission } from '../../models/service-account-permission.ts'
import type { Catalog } from '../catalog/read-catalog.ts'

/** The permissions of a machine token: the account's permissions of the app's services, and all of `core`. Sorted, unique. */
export async function listMachinePermissions(
  deps: Deps,
  accountId: string,
  app: Pick<App, 'service_codes'>,
  catalog: Catalog,
): Promise<string[]> {
  const given = await ServiceAccountPermission.listCodes(deps.db, accountId, app.service_codes)
  return [...new Set([...(await catalog.listTokenPermissions(null, [])), ...given])].sort()
}
