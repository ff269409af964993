import { closest, distance } from 'fastest-levenshtein'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Role } from '../../models/role.ts'

/** The error for an app that does not exist. For admins: it tells the nearest code. */
export async function unknownApp(deps: Deps, ref: string): Promise<ApiError> {
  const codes = isUuid(ref) ? [] : (await App.listPools(deps.db)).map(({ code }) => code)
  return unknownName(`No app has the code or id ${ref}`, ref, codes)
}

/** The error for a role that does not exist. For admins: it tells the nearest code. */
export async function unknownRole(deps: Deps, code: string): Promise<ApiError> {
  const codes = (await Role.query(deps.db).select('code')).map((role) => role.code)
  return unknownName(`No role has the code ${code}`, code, codes)
}

/** `not_found`, with the name that was probably meant, if one resembles what was typed. */
function unknownName(detail: string, typed: string, names: readonly string[]): ApiError {
  const nearest = names.length === 0 ? undefined : closest(typed, names)
  const isNear = nearest !== undefined && distance(typed, nearest) <= Math.max(1, Math.floor(typed.length / 2))
  return new ApiError('not_found', { detail: isNear ? `${detail}; the nearest is ${nearest}` : detail })
}
