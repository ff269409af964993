import type { CheckedPayload, Claims } from './claims.ts'
import { refused } from './errors.ts'

/** Who a verified token speaks for. `Name` are the permissions of the app's manifest. */
export interface Principal<Name extends string = string> {
  /** All claims, frozen, in their wire spelling. */
  readonly claims: Claims
  /** `service` for a machine token: it stands for a service account, not for a user. Guards let users in only, unless they are told. */
  readonly kind: 'user' | 'service'
  /** Of a machine token, the id of its service account. */
  readonly userId: string
  /** The user's home pool. */
  readonly pool: string
  /** The organization the token speaks for. */
  readonly org: { readonly id: string; readonly slug: string } | null
  /** Whether the user has every one of these permissions; true when none is named. */
  has(...all: Name[]): boolean
  /** Whether the user has at least one of these permissions; false when none is named. */
  hasAny(...any: Name[]): boolean
  /** Throws `PERMISSION_DENIED` unless the user has every one of these permissions. */
  assert(...all: Name[]): void
  hasRole(code: string): boolean
}

/** A class, so that methods are shared; its field is private, so that logging a principal prints no claims. */
export class TokenPrincipal implements Principal {
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
