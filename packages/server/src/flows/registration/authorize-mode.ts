import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { findOverridingCaller } from '../sign-in/login.ts'
import type { RegisterInput } from './schema.ts'

/**
 * `register_or_return` reveals whether a user exists, so only service accounts and system admins may use it: 401 without a
 * bearer, 403 with one that may not, both before any user is searched for. The other modes treat a bearer as a login does.
 */
export async function authorizeMode(
  deps: Deps,
  input: Pick<RegisterInput, 'mode' | 'app_code' | 'role_code' | 'linked_app_codes'>,
  bearer: string | undefined,
): Promise<Caller | undefined> {
  const appCode = input.app_code ?? deps.config.defaultAppCode
  if (input.mode !== 'register_or_return') return findOverridingCaller(deps, { ...input, app_code: appCode }, bearer)
  if (bearer === undefined) throw new ApiError('token_missing')
  const caller = await authenticateCaller(deps, bearer)
  const refusal = caller.authority.refuseRegisterOrReturn(appCode)
  if (refusal) throw new ApiError(refusal.code, refusal)
  return caller
}
