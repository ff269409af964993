import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { getUser } from '../users/get-user.ts'
import { listSessions } from './list-sessions.ts'
import type { sessionRecord } from './schema.ts'

/** Like `listSessions`, for an admin, who may name any user. Throws `not_found` if there is no such user. */
export async function listUserSessions(
  deps: Deps,
  of: { userId: string; currentId: string },
  request: PageRequest,
): Promise<Page<z.output<typeof sessionRecord>>> {
  await getUser(deps, of.userId)
  return listSessions(deps, of, request)
}
