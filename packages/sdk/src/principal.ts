import type { CheckedPayload, Claims, ServiceClaims, UserClaims } from './claims.ts'
import { refused } from './errors.ts'

/** What the principals of users and of service accounts have in common. */
interface CommonPrincipal<Name extends string> {
  /** The id of the user; for a machine token, that of its service account. */
  readonly userId: string
  /** The user's home pool. */
  readonly pool: string
  /** Whether the token carries all of these permissions. True without arguments. */
  has(...all: Name[]): boolean
  /** Whether the token carries at least one of these permissions. False without arguments. */
  hasAny(...any: Name[]): boolean
  /** Throws `PERMISSION_DENIED` unless the token carries all of these permissions. */
  assert(...all: Name[]): void
  /** Whether the token carries this role. */
  hasRole(code: string): boolean
}

/** The user that a verified token stands for. */
export interface UserPrincipal<Name extends string = string> extends CommonPrincipal<Name> {
  readonly kind: 'user'
  /** All claims, frozen, spelt as in the token. */
  readonly claims: UserClaims
  /** The organization that the token speaks for, or null. */
  readonly org: { readonly id: string; readonly slug: string } | null
}

/** The service account that a verified machine token stands for. Guards refuse it unless you set `kind`. */
export interface ServicePrincipal<Name extends string = string> extends CommonPrincipal<Name> {
  readonly kind: 'service'
  /** All claims, frozen, spelt as in the token. */
  readonly claims: ServiceClaims
  readonly org: null
}

/**
 * Who a verified token stands for. `kind` tells a user from a service account, and with it the types of the claims. `Name` is the
 * type of the permission names in the app's manifest.
 */
export type Principal<Name extends string = string> = UserPrincipal<Name> | ServicePrincipal<Name>

/** Whose tokens a guard accepts. */
export type TokenKind = 'user' | 'service' | 'any'

/** The principal behind a guard that accepts tokens of that kind. */
export type PrincipalOf<Kind extends TokenKind, Name extends string = string> = Kind extends 'user'
  ? UserPrincipal<Name>
  : Kind extends 'service'
    ? ServicePrincipal<Name>
    : Principal<Name>

/** A class, to share the methods. Its field is private, so logging a principal prints no claims. */
export class TokenPrincipal implements CommonPrincipal<string> {
  readonly #payload: CheckedPayload

  constructor(payload: CheckedPayload) {
    this.#payload = payload
  }

  get claims(): Claims {
    const { claims, lists } = this.#payload
    // Completed and frozen on first use, since most requests ask only for permissions.
    return Object.isFrozen(claims) ? claims : Object.freeze(Object.assign(claims, lists))
  }

  get kind(): 'user' | 'service' {
    return this.#payload.claims.kind ?? 'user'
  }

  get userId(): string {
    return this.#payload.claims.uid
  }

  get pool(): string {
    return this.#payload.claims.namespace ?? 'default'
  }

  get org(): { readonly id: string; readonly slug: string } | null {
    const { org_id: id, org_slug: slug } = this.#payload.claims
    return id === undefined || slug === undefined ? null : { id, slug }
  }

  has(...all: string[]): boolean {
    return all.every((permission) => this.#payload.lists.permissions.includes(permission))
  }

  hasAny(...any: string[]): boolean {
    return any.some((permission) => this.#payload.lists.permissions.includes(permission))
  }

  assert(...all: string[]): void {
    const missing = all.filter((permission) => !this.#payload.lists.permissions.includes(permission))
    if (missing.length > 0)
      throw refused(
        'PERMISSION_DENIED',
        `missing: ${missing.join(', ')}; the token has ${this.#payload.lists.permissions.length} permissions`,
      )
  }

  hasRole(code: string): boolean {
    return this.#payload.lists.roles.includes(code)
  }

  toJSON(): Pick<Principal, 'userId' | 'pool' | 'org'> {
    const { userId, pool, org } = this
    return { userId, pool, org }
  }
}
