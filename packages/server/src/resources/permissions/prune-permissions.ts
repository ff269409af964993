import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { chunksOf } from '../../lib/chunks.ts'
import type { LivePermission, RegistrationPlan } from './plan-registration.ts'

/** What an error names at most. */
export const maxCodesTold = 20

export function pruneLimit({ pruned }: RegistrationPlan, limit: number): ApiError {
  const named = pruned.slice(0, maxCodesTold).map(({ code }) => code)
  return new ApiError('prune_limit', {
    detail: `${pruned.length} would be pruned and max_prune is ${limit}: ${named.join(', ')}`,
  })
}

export async function prunePermissions(deps: Deps, pruned: readonly LivePermission[]): Promise<void> {
  const now = deps.clock()
  for (const chunk of chunksOf(pruned)) {
    const ids = chunk.map(({ id }) => id)
    await deps.db('permissions').whereIn('id', ids).update({ pruned_at: now, updated_at: now })
  }
}
