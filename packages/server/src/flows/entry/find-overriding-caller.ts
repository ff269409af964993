import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'

/**
 * Finds the caller of a login or registration. A bearer has only one use there: if overrides must be declared, it exempts some
 * callers from that for this app. Any other bearer is ignored, even a dead one.
 */
export async function findOverridingCaller(
  deps: Deps,
  input: { app_code?: string | undefined; role_code?: string | undefined; linked_app_codes?: readonly string[] | undefined },
  bearer: string | undefined,
): Promise<Caller | undefined> {
  const overrides = input.role_code !== undefined || input.linked_app_codes !== undefined
  const appCode = input.app_code
  if (bearer === undefined || appCode === undefined || !overrides || deps.config.clientOverrides === 'open') return undefined
  try {
    const caller = await authenticateCaller(deps, bearer)
    return caller.authority.mayOverride(appCode, appCode) ? caller : undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}
