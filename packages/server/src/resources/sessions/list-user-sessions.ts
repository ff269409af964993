import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { getUser } from '../users/get-user.ts'
import { listSessions } from './list-sessions.ts'
import type { sessionRecord } from './schema.ts'

/** The same for an admin, who may name anybody. Throws `not_found` for no user. */
export async function listUserSessions(
  deps: Deps,
  of: { userId: string; currentId: string },
  request: PageRequest,
): Promise<Page<z.output<typeof sessionRecord>>> {
  await getUser(deps, of.userId)
  return listSessions(deps, of, request)
}
