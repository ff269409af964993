import { configInvalid } from './errors.ts'
import type { Principal } from './principal.ts'

/** A registered symbol, so that `getAuth` also works with a guard of another copy of this package. */
const key = Symbol.for('gatehouse.auth')

export function setAuth(request: object, principal: Principal | undefined): void {
  ;(request as { [key]?: Principal | undefined })[key] = principal
}

/**
 * Returns the principal that a guard found for this request: `getAuth<BillingPermission>(req).has('invoices:read')`. Throws
 * `CONFIG_INVALID` if no guard ran. Behind `optionalAuth`, it returns undefined for a request without a token; to have that in
 * the type, write `getAuth<BillingPermission, undefined>(req)`.
 */
export function getAuth<Name extends string = string, Nobody extends undefined = never>(
  request: object,
): Principal<Name> | NoInfer<Nobody> {
  if (!(key in request)) throw configInvalid('getAuth: no guard ran for this request')
  return request[key] as Principal<Name> | NoInfer<Nobody>
}
