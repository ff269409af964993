import { configInvalid } from './errors.ts'
import type { Principal, PrincipalOf, TokenKind } from './principal.ts'

/** A registered symbol, so that `getAuth` also works with a guard of another copy of this package. */
const key = Symbol.for('gatehouse.auth')

export function setAuth(request: object & { [key]?: Principal | undefined }, principal: Principal | undefined): void {
  request[key] = principal
}

/**
 * Returns the principal that a guard found for this request: `getAuth<BillingPermission>(req).has('invoices:read')`. Throws
 * `CONFIG_INVALID` if no guard ran. Behind `optionalAuth`, it returns undefined for a request without a token; to have that in
 * the type, write `getAuth<BillingPermission, undefined>(req)`. Behind a guard with another `kind` than `user`, name it too:
 * `getAuth<BillingPermission, never, 'any'>(req)`.
 *
 * @example
 * ```ts
 * app.get('/me', requireAuth(auth), (req, res) => {
 *   const { userId, claims } = getAuth(req)
 *   res.json({ userId, email: claims.email })
 * })
 * ```
 */
export function getAuth<Name extends string = string, Nobody extends undefined = never, Kind extends TokenKind = 'user'>(
  request: object,
): PrincipalOf<Kind, Name> | NoInfer<Nobody> {
  if (!(key in request)) throw configInvalid('getAuth: no guard ran for this request')
  return request[key] as PrincipalOf<Kind, Name> | NoInfer<Nobody>
}
