import { configInvalid } from './errors.ts'
import type { Principal } from './principal.ts'

/** In the registry of symbols, so that a guard of one copy of this package serves `getAuth` of another. */
const key = Symbol.for('gatehouse.auth')

export function setAuth(request: object, principal: Principal | undefined): void {
  ;(request as { [key]?: Principal | undefined })[key] = principal
}

/**
 * The principal that a guard found for this request: `getAuth<BillingPermission>(req).has('invoices:read')`. Throws
 * `CONFIG_INVALID` when no guard ran. Behind `optionalAuth` it is undefined for a request without a token; to have that
 * in the type, write `getAuth<BillingPermission, undefined>(req)`.
 */
export function getAuth<Name extends string = string, Nobody extends undefined = never>(
  request: object,
): Principal<Name> | NoInfer<Nobody> {
  if (!(key in request)) throw configInvalid('getAuth: no guard ran for this request')
  return request[key] as Principal<Name> | NoInfer<Nobody>
}
