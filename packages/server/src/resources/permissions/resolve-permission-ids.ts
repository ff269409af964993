import type { Deps } from '../../deps.ts'
import { type FieldError, validationFailed } from '../../errors.ts'
import { Permission } from '../../models/permission.ts'

/** The ids of the live permissions that a request names in this field. Throws `validation_failed` naming each unknown one. */
export async function resolvePermissionIds(deps: Deps, codes: readonly string[], field: string): Promise<string[]> {
  const live = await Permission.listLiveIds(deps.db, codes)
  const idOf = new Map(live.map(({ id, code }) => [code, id]))
  const errors = codes.flatMap((code, index): FieldError[] =>
    idOf.has(code) ? [] : [{ path: `${field}.${index}`, code: 'invalid_value', message: 'unknown permission' }],
  )
  if (errors.length > 0) throw validationFailed(errors)
  return [...idOf.values()]
}
