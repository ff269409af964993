import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'

/**
 * The caller of a login or registration, for the one use they have for a bearer: where overrides must be declared, some callers are not
 * bound by that for this app. Any other bearer is ignored, a dead one too.
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
