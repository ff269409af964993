import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { AccessRequest, type FullRequest } from '../../models/access-request.ts'
import { getApp } from '../apps/get-app.ts'

/** The access requests, newest first. Throws `not_found` if the app does not exist. */
export async function listRequests(
  deps: Deps,
  {
    status,
    app,
    user_id,
  }: { status?: AccessRequest['status'] | undefined; app?: string | undefined; user_id?: string | undefined },
  request: PageRequest,
): Promise<Page<FullRequest>> {
  const appId = app === undefined ? undefined : (await getApp(deps, app)).id
  const filter = { ...(status && { status }), ...(appId && { app_id: appId }), ...(user_id && { user_id }) }
  return AccessRequest.list(deps.db, filter, request)
}
