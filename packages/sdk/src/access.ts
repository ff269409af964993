import { type AuthError, refused } from './errors.ts'
import type { Principal, PrincipalOf, TokenKind } from './principal.ts'
import type { Requirements } from './requirements.ts'
import { type AnyAuth, assertProof } from './step-up.ts'

/** Returns the principal. Throws unless the token meets the requirements. */
export function assertAccess<Name extends string, Kind extends TokenKind>(
  auth: AnyAuth<never>,
  principal: Principal<Name>,
  requirements: Requirements<Name, never, Kind>,
): PrincipalOf<Kind, Name> {
  const { kind, permissions, anyOf, role, org } = requirements
  assertKind(principal, kind)
  if (permissions) principal.assert(...permissions)
  if (anyOf && !principal.hasAny(...anyOf)) throw denied(`any of: ${anyOf.join(', ')}`, principal)
  if (role !== undefined && !principal.hasRole(role)) throw denied(`the role ${role}`, principal)
  if (org === 'required' && principal.org === null) throw refused('PERMISSION_DENIED', 'the token has no organization')
  // Last, so that nobody has to prove themselves in vain.
  assertProof(auth, principal, requirements)
  return principal
}

/** A machine token carries permissions too, so a route written for users would let it in. */
export function assertKind<Name extends string, Kind extends TokenKind>(
  principal: Principal<Name>,
  wanted: Kind | 'user' = 'user',
): asserts principal is Principal<Name> & PrincipalOf<Kind, Name> {
  const { kind } = principal
  if (wanted !== 'any' && kind !== wanted) throw refused('PERMISSION_DENIED', `the token is of kind ${kind}, not ${wanted}`)
}

function denied(missing: string, { claims: { roles, permissions } }: Principal): AuthError {
  return refused(
    'PERMISSION_DENIED',
    `missing ${missing}; the token has ${roles.length} roles, ${permissions.length} permissions`,
  )
}
