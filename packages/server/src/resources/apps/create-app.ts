import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { announce } from '../feeds/restart-feeds.ts'
import { type AppWarning, listWarnings } from './list-warnings.ts'
import { presentApp } from './present.ts'
import { blankApp, resolveAppChanges } from './resolve-app-changes.ts'
import type { CreateAppInput } from './schema.ts'

/**
 * Creates an app, and returns warnings for the admin who set it up. Throws `app_code_taken` and the errors of
 * `resolveAppChanges`.
 */
export async function createApp(
  deps: Deps<Pool>,
  input: CreateAppInput,
  actor: Actor,
): Promise<{ app: App; warnings: AppWarning[] }> {
  const app = await insert(deps, input, actor)
  return { app, warnings: await listWarnings(deps, { after: app, input }) }
}

async function insert(deps: Deps<Pool>, { code, ...input }: CreateAppInput, actor: Actor): Promise<App> {
  const now = deps.clock()
  const blank = blankApp(newId(now), code)
  try {
    return await transaction(deps, async (deps) => {
      // Leaving out the redirect URLs counts as setting an empty list, which is refused in production.
      const settings = { ...input, allowed_redirect_urls: input.allowed_redirect_urls ?? null }
      const changes = await resolveAppChanges(deps, blank, settings)
      await renewCatalog(deps)
      // From here on, consumers with this code belong to the new app.
      if (await DeletedApp.delete(deps.db, code)) announce(deps)
      const app = await App.insert(deps.db, { ...blank, ...changes, created_at: now, updated_at: now })
      await recordEvent(deps, { event: 'app.created', actor, appId: app.id, details: { after: presentApp(app) } })
      return app
    })
  } catch (error) {
    if (isUniqueViolation(error))
      throw new ApiError('app_code_taken', { detail: `Another app has the code ${code}`, cause: error })
    throw error
  }
}
