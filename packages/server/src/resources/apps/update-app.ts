import { type Deps, transaction } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getAppForUpdate } from './get-app.ts'
import { presentApp } from './present.ts'
import type { UpdateAppInput } from './schema.ts'
import { settleApp } from './settle-app.ts'

/**
 * Changes settings of an app (contract 4.2). The row is locked while the merged record is judged and only the given columns are
 * written, so two callers who change different fields at once both stick.
 * Throws `not_found`, `code_immutable` and the errors of `settleApp`.
 */
export async function updateApp(deps: Deps, ref: string, { code, ...input }: UpdateAppInput, actor: Actor): Promise<App> {
  if (code !== undefined) throw new ApiError('code_immutable', { detail: 'code: cannot be changed' })
  return transaction(deps, async (deps) => {
    const current = await getAppForUpdate(deps, ref)
    const changes = await settleApp(deps, current, input)
    if (Object.keys(changes).length === 0) return current
    const updated = await App.query(deps.db).patchAndFetchById(current.id, { ...changes, updated_at: deps.clock() })
    await recordEvent(deps, {
      event: 'app.updated',
      actor,
      appId: current.id,
      details: difference(presentApp(current), presentApp(updated)),
    })
    return updated
  })
}

function difference<T extends object>(before: T, after: T): { before: Partial<T>; after: Partial<T> } {
  const changed = (Object.keys(after) as (keyof T)[]).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
  const pick = (record: T) => Object.fromEntries(changed.map((key) => [key, record[key]])) as Partial<T>
  return { before: pick(before), after: pick(after) }
}
