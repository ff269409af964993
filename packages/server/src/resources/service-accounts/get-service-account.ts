import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { ServiceAccount } from '../../models/service-account.ts'

/** Throws `not_found`. */
export async function getServiceAccount(deps: Deps, id: string): Promise<ServiceAccount> {
  const account = await ServiceAccount.find(deps.db, id)
  if (!account) throw unknownAccount()
  return account
}

/** Gets a service account and locks it until the transaction ends. Throws `not_found`. */
export async function getServiceAccountForUpdate(deps: Deps<Tx>, id: string): Promise<ServiceAccount> {
  const account = await ServiceAccount.findLocked(deps.db, id, 'exclusive')
  if (!account) throw unknownAccount()
  return account
}

export function unknownAccount(): ApiError {
  return new ApiError('not_found', { detail: 'No service account has this id' })
}
