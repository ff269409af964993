import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { keysOf } from '../../lib/keys-of.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { App } from '../../models/app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { endAccessOfApp, endMachineTokensOfApp } from '../revocations/end-tokens.ts'
import { assertAdministrable, lockAdministration } from '../users/last-system-admin.ts'
import { getAppForUpdate } from './get-app.ts'
import { type AppWarning, listWarnings } from './list-warnings.ts'
import { presentApp } from './present.ts'
import { resolveAppChanges } from './resolve-app-changes.ts'
import type { AppInput, UpdateAppInput } from './schema.ts'

/**
 * Changes settings of an app. It locks the row while it checks the merged record, and writes only the given columns, so
 * concurrent changes to different fields both stick.
 * Deactivating the app kills its access tokens; its sessions go on once it is active again. Turning off `machine_tokens` kills
 * the tokens of the service accounts that could get tokens for it.
 * Throws `not_found`, `code_immutable`, `last_system_admin` and the errors of `resolveAppChanges`.
 */
export async function updateApp(
  deps: Deps<Pool>,
  ref: string,
  input: UpdateAppInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<{ app: App; warnings: AppWarning[] }> {
  const { before, after } = await change(deps, ref, input, sentBack, actor)
  return { app: after, warnings: await listWarnings(deps, { before, after, input }) }
}

async function change(
  deps: Deps<Pool>,
  ref: string,
  input: AppInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<{ before: App; after: App }> {
  return transaction(deps, async (deps) => {
    const barsAdmins =
      input.status === 'inactive' ||
      input.require_verified_email === true ||
      input.registration_namespace !== undefined ||
      input.read_namespaces !== undefined
    if (barsAdmins) await lockAdministration(deps)
    const current = await getAppForUpdate(deps, ref)
    refuseChanged(changedMembers(sentBack, presentApp(current)))
    const changes = await resolveAppChanges(deps, current, input)
    if (Object.keys(changes).length === 0) return { before: current, after: current }
    await renewCatalog(deps)
    const closes = current.status === 'active' && changes.status === 'inactive'
    if (closes) await endAccessOfApp(deps, current.id)
    const updated = await App.update(deps.db, current.id, { ...changes, updated_at: deps.clock() })
    if (barsAdmins) await assertAdministrable(deps)
    await recordEvent(deps, {
      event: 'app.updated',
      actor,
      appId: current.id,
      details: difference(presentApp(current), presentApp(updated)),
    })
    if (current.machine_tokens && !updated.machine_tokens) await endMachineTokensOfApp(deps, current.id)
    return { before: current, after: updated }
  })
}

function difference<T extends object>(before: T, after: T): { before: Partial<T>; after: Partial<T> } {
  const changed = keysOf(after).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
  const pick = (record: T) => {
    const picked: Partial<T> = {}
    for (const key of changed) picked[key] = record[key]
    return picked
  }
  return { before: pick(before), after: pick(after) }
}
