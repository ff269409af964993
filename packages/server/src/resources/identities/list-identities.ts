import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { withPage } from '../../models/list-query.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { getUser } from '../users/get-user.ts'

/** The identities that a user may come in with, newest first, each with its provider. Throws `not_found`. */
export async function listIdentities(deps: Deps, userId: string, request: PageRequest): Promise<Page<UserIdentity>> {
  const { id } = await getUser(deps, userId)
  const query = UserIdentity.query(deps.db).where({ user_id: id }).withGraphFetched('provider')
  return withPage(query, request, 'user_identities.id')
}

/** Whether anybody is linked with a provider. */
export async function isLinked(deps: Deps, providerId: string): Promise<boolean> {
  return (await deps.db('user_identities').where({ provider_id: providerId }).first('id')) !== undefined
}
