import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller, ServiceCaller } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { findOverridingCaller } from '../login/find-overriding-caller.ts'
import type { RegisterInput } from './schema.ts'

/**
 * `register_or_return` tells whether a user exists and so is for services alone: 401 without a bearer, 403 with one that may not,
 * both before anything is looked up (decisions 4). The other modes take a bearer as a login does.
 */
export async function authorizeMode(
  deps: Deps,
  input: Pick<RegisterInput, 'mode' | 'app_code' | 'role_code' | 'linked_app_codes'>,
  bearer: string | undefined,
): Promise<Caller | undefined> {
  if (input.mode !== 'register_or_return') return findOverridingCaller(deps, input, bearer)
  if (bearer === undefined) throw new ApiError('token_missing')
  const caller = await authenticateCaller(deps, bearer)
  if (caller.kind === 'service_account') assertScope(caller, input.app_code ?? deps.config.defaultAppCode)
  else if (!caller.isSystemAdmin) throw new ApiError('service_caller_required')
  return caller
}

/** By the codes alone, whether or not an app has them. */
function assertScope(caller: ServiceCaller, appCode: string | undefined): void {
  if (!caller.scopes.includes('users:register_or_return'))
    throw new ApiError('scope_required', { detail: 'The scope users:register_or_return is required' })
  const isForApp = appCode === undefined || caller.appCodes.length === 0 || caller.appCodes.includes(appCode)
  if (!isForApp) throw new ApiError('scope_required', { detail: 'This service account may not register users through this app' })
}
