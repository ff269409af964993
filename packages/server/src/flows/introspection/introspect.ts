import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { AccessTokenClaims } from '../../lib/access-token.ts'
import { entersWithoutGrant } from '../../lib/authority.ts'
import type { ConsumerCaller, ServiceCaller } from '../../lib/caller.ts'
import { storedFacts } from '../../lib/proof.ts'
import { wordsIn } from '../../lib/words.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { findHolder } from '../../resources/sessions/authenticate-caller.ts'
import { claimsOf, resolveRights } from '../../resources/sessions/rights.ts'
import { membershipsIn, readSelf, type SelfCaller, userOfSelf } from '../../resources/sessions/user-sessions.ts'

/** RFC 7662 allows further parameters. */
export const introspectBody = z
  .object({
    token: z.string().meta({ description: 'The access token to check' }),
    token_type_hint: z.string().optional().meta({ description: 'Not needed' }),
    client_id: z.string().optional().meta({ description: 'Not needed' }),
    client_secret: z.string().optional().meta({
      format: 'password',
      description: 'The token of a service account, in place of an `Authorization` header (`client_secret_post`)',
    }),
  })
  .meta({ id: 'Introspect' })

/** An active token has all its claims here. For an inactive one, `active` is the only member. */
export const introspection = z
  .looseObject({
    active: z.boolean(),
    token_type: z.literal('Bearer').optional(),
    client_id: z.string().optional().meta({ description: 'Code of the app' }),
    sub: z.string().optional().meta({ description: 'The user; the same as `uid`' }),
    username: z.string().optional().meta({ description: 'The same as `email`' }),
    scope: z.string().optional().meta({ description: '`permissions`, separated by spaces' }),
    exp: z.int().optional(),
  })
  .meta({ id: 'Introspection' })

export type Introspection = { active: false } | { active: true; [claim: string]: unknown }

/**
 * Whether an access token is alive, and what a new token of its session would say (RFC 7662). Both come from the database, since
 * every consumer holds the secret and could have written the claims. A token of an app that the caller may not ask about is
 * inactive, just like garbage, and the answer never says why. Throws `app_inactive` or `token_invalid` to the consumer of an app
 * that is inactive or deleted.
 */
export async function introspect(deps: Deps, token: string, caller: ConsumerCaller | ServiceCaller): Promise<Introspection> {
  const refusal = caller.kind === 'consumer' ? refuseConsumer(caller) : undefined
  if (refusal) throw new ApiError(refusal.code, refusal)
  const holder = await findHolder(deps, token, (claims) => readSelf(deps, claims))
  const claims = holder && mayKnow(caller, holder) ? await currentClaims(deps, holder) : undefined
  if (!claims) return { active: false }
  return {
    ...claims,
    active: true,
    token_type: 'Bearer',
    client_id: claims.aud,
    sub: claims.uid,
    username: claims.email,
    scope: claims.permissions.join(' '),
  }
}

function refuseConsumer({ app }: ConsumerCaller): { code: ErrorCode; detail?: string } | undefined {
  if (app.status === 'deleted') return { code: 'token_invalid', detail: 'The app was deleted' }
  return app.status === 'inactive' ? { code: 'app_inactive' } : undefined
}

function mayKnow(caller: ConsumerCaller | ServiceCaller, holder: SelfCaller): boolean {
  if (caller.kind === 'consumer') return holder.appId === caller.app.id
  return caller.authority.mayIntrospect(holder.appCode)
}

/**
 * Takes from the token only what distinguishes it from other tokens. Returns undefined if a refresh would not give these claims
 * again: the app is gone, the user has left the organization of the session, or the grant has ended.
 */
async function currentClaims(deps: Deps, holder: SelfCaller): Promise<AccessTokenClaims | undefined> {
  const { claims: token, rows, appId } = holder
  const [self] = rows
  const catalog = await readCatalog(deps, holder.catalogGeneration)
  const app = appId === null ? null : await catalog.findApp({ id: appId })
  const organizationId = self.session_organization_id
  const membership = organizationId === null ? null : membershipsIn(holder).find(({ id }) => id === organizationId)
  if (app === undefined || membership === undefined) return undefined
  const globalRoles = wordsIn(self.global_roles)
  const rights = await resolveRights(deps, { app, membership, globalRoles, catalog })
  const grantExpiresAt = entersWithoutGrant(globalRoles, app) ? null : self.access_expires_at
  const expiresAt = Math.min(token.exp, Math.floor((grantExpiresAt ?? Number.POSITIVE_INFINITY) / 1000))
  if (expiresAt * 1000 <= deps.clock()) return undefined
  const admitted = { user: { ...userOfSelf(holder), token_version: self.user_version }, app, membership, ...rights }
  const { tv, nbf, jti } = token
  return { ...claimsOf(deps, admitted, { id: token.sid, ...storedFacts(self) }, token.iat, expiresAt), tv, nbf, jti }
}
