import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { ServiceAccount, type ServiceAccountWithApps } from '../../models/service-account.ts'

/** Throws `not_found`. */
export async function getServiceAccount(deps: Deps, id: string): Promise<ServiceAccountWithApps> {
  const account = await ServiceAccount.query(deps.db).findById(id).withGraphFetched('apps')
  if (!account) throw new ApiError('not_found', { detail: 'No service account has this id' })
  return account as ServiceAccountWithApps
}
