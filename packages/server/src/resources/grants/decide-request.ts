import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { AccessRequest, type FullRequest } from '../../models/access-request.ts'
import { lockAdministrationOf } from '../users/assert-administrable.ts'
import { lockUser } from '../users/get-user.ts'

/**
 * Decides an open request. If several admins decide at once, one decision wins. `carryOut` must close the request. Throws
 * `not_found`, `access_request_decided`, and what `carryOut` throws.
 */
export async function decideRequest(
  deps: Deps<Pool>,
  id: string,
  carryOut: (deps: Deps<Tx>, request: FullRequest) => Promise<void>,
): Promise<FullRequest> {
  return transaction(deps, async (deps) => {
    const request = await getRequest(deps, id)
    // Lock the user before the request, in the same order as giving a grant.
    await lockUser(deps, request.user_id)
    await lockAdministrationOf(deps, request.user_id)
    const status = await AccessRequest.findStatusForUpdate(deps.db, id)
    if (status !== 'open') throw new ApiError('access_request_decided')
    await carryOut(deps, request)
    return getRequest(deps, id)
  })
}

/** Throws `not_found`. */
export async function getRequest(deps: Deps, id: string): Promise<FullRequest> {
  const request = await AccessRequest.find(deps.db, { id })
  if (!request) throw new ApiError('not_found', { detail: 'No access request has this id' })
  return request
}
