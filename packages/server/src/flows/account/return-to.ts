import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { UserApp } from '../../models/user-app.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { foreseeEntry } from '../sign-in/enter.ts'

/**
 * The app that a person came from: one that they can enter, and that has exactly this redirect URL. It is the app of the page, one
 * that the person was let into, or one that lets them in without a grant. Undefined for any other URL, so that nobody is led to the
 * site of a stranger.
 */
export async function findAppToReturnTo(
  deps: Deps,
  { user, app, returnTo }: { user: PooledUser; app: App | undefined; returnTo: string },
  actor: Actor,
): Promise<App | undefined> {
  if (returnTo === '' || returnTo.includes('*')) return undefined
  const catalog = await readCatalog(deps)
  const granted = await UserApp.listStates(deps.db, user.id)
  const open = await App.listOpen(deps.db)
  const ids = new Set([...(app ? [app.id] : []), ...granted.map(({ app_id: id }) => id), ...open.map(({ id }) => id)])
  for (const id of ids) {
    const candidate = await catalog.findApp({ id })
    if (!candidate?.allowed_redirect_urls.includes(returnTo)) continue
    // What the person has still to show or to set up is no reason to keep them here: the app asks for it.
    const shown = { method: 'password', second: 'shown' as const, shownAt: deps.clock() }
    const { refusal } = await foreseeEntry(deps, { user, app: candidate, organizationId: undefined, shown }, actor)
    if (refusal === undefined) return candidate
  }
  return undefined
}
