import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { App } from '../../models/app.ts'
import { whereContains, withPage } from '../../models/list-query.ts'

/** Apps, newest first. */
export async function listApps(
  deps: Deps,
  request: PageRequest & { status?: string | undefined; q?: string | undefined },
): Promise<Page<App>> {
  const query = App.query(deps.db)
  if (request.status) query.where({ status: request.status })
  if (request.q) whereContains(query, ['code', 'name'], request.q)
  return withPage(query, request, 'apps.id')
}
