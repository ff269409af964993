import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { endAccessOfApp } from '../revocations/end-tokens.ts'
import { assertAdministrable, lockAdministration } from '../users/last-system-admin.ts'
import { getAppForUpdate } from './get-app.ts'
import { presentApp } from './present.ts'

/**
 * Deletes an app with its grants and sessions, and kills its access tokens. A later app with the same code is a different app.
 * Needs `force` while users still have access.
 * Throws `not_found`, `built_in`, `app_in_use`, `last_system_admin`.
 */
export async function deleteApp(deps: Deps<Pool>, ref: string, options: { force: boolean }, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockAdministration(deps)
    const app = await getAppForUpdate(deps, ref)
    if (app.built_in) throw new ApiError('built_in', { detail: `${app.code} cannot be deleted` })
    const isEntered = await UserApp.isAppEntered(deps.db, app.id, deps.clock())
    if (isEntered && !options.force)
      throw new ApiError('app_in_use', { detail: 'Revoke its grants first, or delete with ?force=true' })
    await renewCatalog(deps)
    await endAccessOfApp(deps, app.id)
    await DeletedApp.note(deps.db, app, deps.clock())
    await App.delete(deps.db, app.id)
    if (app.status === 'active') await assertAdministrable(deps)
    await recordEvent(deps, { event: 'app.deleted', actor, appId: app.id, details: { before: presentApp(app) } })
  })
}
