import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type LivePermission, Permission } from '../../models/permission.ts'

/** An error names at most this many codes. */
export const maxCodesTold = 20

/** The permissions of a service that it no longer declares, by code. */
export function listUndeclared<P extends { code: string }>(live: readonly P[], declared: readonly { code: string }[]): P[] {
  const declaredCodes = new Set(declared.map(({ code }) => code))
  return live.filter(({ code }) => !declaredCodes.has(code)).sort((a, b) => (a.code < b.code ? -1 : 1))
}

/** Throws `prune_limit` if a registration would prune more permissions than it allows. */
export function assertPruneLimit(pruned: readonly LivePermission[], limit: number | undefined): void {
  if (limit === undefined || pruned.length <= limit) return
  const named = pruned.slice(0, maxCodesTold).map(({ code }) => code)
  throw new ApiError('prune_limit', {
    detail: `${pruned.length} permissions would be pruned, but max_prune is ${limit}: ${named.join(', ')}`,
  })
}

/** Leaves tombstones: a pruned permission has no effect, and keeps its roles in case the service declares it again. */
export async function prunePermissions(deps: Deps<Tx>, pruned: readonly LivePermission[]): Promise<void> {
  const ids = pruned.map(({ id }) => id)
  await Permission.prune(deps.db, ids, deps.clock())
}
