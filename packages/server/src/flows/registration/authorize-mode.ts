import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import type { RegisterInput } from './schema.ts'

/**
 * `register_or_return` tells whether a user exists and so is for services alone: 401 without a bearer, 403 with one that may not,
 * both before anything is looked up (decisions 4). The other modes have no use for a bearer and ignore it.
 */
export async function authorizeMode(
  deps: Deps,
  mode: RegisterInput['mode'],
  bearer: string | undefined,
): Promise<Caller | undefined> {
  if (mode !== 'register_or_return') return undefined
  if (bearer === undefined) throw new ApiError('token_missing')
  const caller = await authenticateCaller(deps, bearer)
  const mayReturn = caller.kind === 'service_account' ? caller.scopes.includes('users:register_or_return') : caller.isSystemAdmin
  if (!mayReturn) throw new ApiError('service_caller_required')
  return caller
}
