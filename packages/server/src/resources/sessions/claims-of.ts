import type { Deps } from '../../deps.ts'
import type { AccessTokenClaims } from '../../lib/access-token.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import type { SignInFacts } from '../../lib/proof.ts'
import type { Membership } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import type { PooledUser, ShownUser } from '../users/present.ts'

/** The user whom a token speaks for, and what it lets them do. */
interface Admitted {
  user: ShownUser & Pick<PooledUser, 'token_version'>
  app: App | null
  membership: Membership | null
  roles: string[]
  permissions: readonly string[]
}

/** The claims of a token; times in seconds. The lists come last, where a verifier finds them without parsing the rest. */
export function claimsOf(
  deps: Deps,
  admission: Admitted,
  session: SignInFacts & { id: string },
  issuedAt: number,
  expiresAt: number,
): AccessTokenClaims {
  const { user, app, membership } = admission
  return {
    ...(app ? { app_id: app.id, app_code: app.code } : {}),
    uid: user.id,
    sub: user.id,
    email: user.email,
    email_verified: user.email_verified_at !== null,
    first_name: user.first_name,
    last_name: user.last_name,
    ...(membership ? { org_id: membership.id, org_slug: membership.slug } : {}),
    ...(user.namespace === DEFAULT_POOL ? {} : { namespace: user.namespace }),
    tv: user.token_version,
    sid: session.id,
    auth_time: Math.floor(session.firstProvenAt / 1000),
    amr: [...session.amr],
    iss: deps.config.issuer,
    aud: app?.code ?? deps.config.issuer,
    exp: expiresAt,
    nbf: issuedAt,
    iat: issuedAt,
    jti: newId(),
    roles: admission.roles,
    permissions: [...admission.permissions],
  }
}
