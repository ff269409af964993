import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { FullRequest } from '../../models/access-request.ts'
import { closeRequests } from './close-requests.ts'
import { decideRequest } from './decide-request.ts'

/** Denies a request. The user sees the reason. Throws what `decideRequest` throws. */
export async function denyRequest(
  deps: Deps<Pool>,
  id: string,
  { reason = null }: { reason?: string | null | undefined },
  actor: Actor,
): Promise<FullRequest> {
  return decideRequest(deps, id, (deps, { user, app }) =>
    closeRequests(deps, { app, users: [user], status: 'denied', reason }, actor),
  )
}
