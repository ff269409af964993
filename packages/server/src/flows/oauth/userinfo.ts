import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { hasScope, type StandardClaims, standardClaims } from '../../lib/standard-claims.ts'
import { wordsIn } from '../../lib/words.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { callerWithToken } from '../../resources/sessions/authenticate-caller.ts'
import { membershipsIn, readSelf, userOfSelf } from '../../resources/sessions/read-self.ts'
import { resolveRights } from '../../resources/sessions/rights.ts'

/** The access token of a call to userinfo, which may stand in the header or in a form (RFC 6750). Throws `validation_failed`. */
export function tokenOfUserinfo(bearer: string | undefined, inBody: string | undefined): string | undefined {
  if (bearer !== undefined && inBody !== undefined)
    throw fieldError('access_token', 'invalid_value', 'cannot be sent together with an Authorization header')
  return bearer ?? inBody
}

/**
 * What an app may know about the user of an access token, by the scopes that its session was opened with. All of it is read now: a
 * session that has ended, a grant that was revoked and an address that changed count at once. Throws the `token_*` errors and
 * `insufficient_scope`.
 */
export async function describeToApp(deps: Deps, token: string | undefined): Promise<{ sub: string } & StandardClaims> {
  if (token === undefined) throw new ApiError('token_missing')
  const holder = await callerWithToken(deps, token, (claims) => readSelf(deps, claims))
  const [self] = holder.rows
  if (!hasScope(self.scope, 'openid')) throw new ApiError('insufficient_scope')
  const catalog = await readCatalog(deps, holder.catalogGeneration)
  const app = holder.appId === null ? null : ((await catalog.findApp({ id: holder.appId })) ?? null)
  const memberships = membershipsIn(holder)
  const membership = memberships.find(({ id }) => id === self.session_organization_id) ?? null
  const { roles } = await resolveRights(deps, { app, membership, globalRoles: wordsIn(self.global_roles), catalog })
  const user = { ...userOfSelf(holder), mailbox_proven_at: self.mailbox_proven_at }
  const organizations = memberships.map(({ slug }) => slug)
  return { sub: holder.userId, ...standardClaims(self.scope, { user, roles, organizations }) }
}
