import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { getUser } from '../users/get-user.ts'

/** The identities that a user can log in with, newest first, each with its provider. Throws `not_found`. */
export async function listIdentities(deps: Deps, userId: string, request: PageRequest): Promise<Page<UserIdentity>> {
  const { id } = await getUser(deps, userId)
  return UserIdentity.listPage(deps.db, id, request)
}
