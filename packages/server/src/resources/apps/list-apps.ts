import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { App } from '../../models/app.ts'

/** Apps, newest first. */
export async function listApps(
  deps: Deps,
  request: PageRequest & { status?: string | undefined; q?: string | undefined },
): Promise<Page<App>> {
  return App.listPage(deps.db, request)
}
