import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type LivePermission, Permission } from '../../models/permission.ts'
import type { RegistrationPlan } from './plan-registration.ts'

/** An error names at most this many codes. */
export const maxCodesTold = 20

export function pruneLimit({ pruned }: RegistrationPlan, limit: number): ApiError {
  const named = pruned.slice(0, maxCodesTold).map(({ code }) => code)
  return new ApiError('prune_limit', {
    detail: `${pruned.length} would be pruned and max_prune is ${limit}: ${named.join(', ')}`,
  })
}

export async function prunePermissions(deps: Deps<Tx>, pruned: readonly LivePermission[]): Promise<void> {
  const ids = pruned.map(({ id }) => id)
  await Permission.prune(deps.db, ids, deps.clock())
}
