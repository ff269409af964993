import type { AccessLists, Claims } from './claims.ts'
import { refused } from './errors.ts'

/** Who a verified token speaks for. `Name` are the permissions of the app's manifest. */
export interface Principal<Name extends string = string> {
  /** All claims, frozen, in their wire spelling. */
  readonly claims: Claims
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

/** A class, so that methods are shared; its fields are private, so that logging a principal prints no claims. */
export class TokenPrincipal implements Principal {
  readonly #claims: Claims
  readonly #lists: AccessLists

  constructor(claims: Claims, lists: AccessLists) {
    this.#claims = claims
    this.#lists = lists
  }

  get claims(): Claims {
    // Made whole and frozen when first handed out: most requests only ask for permissions.
    if (Object.isFrozen(this.#claims)) return this.#claims
    return Object.freeze(Object.assign(this.#claims, this.#lists))
  }

  get userId(): string {
    return this.#claims.uid
  }

  get pool(): string {
    return this.#claims.namespace ?? 'default'
  }

  get org(): { readonly id: string; readonly slug: string } | null {
    const { org_id: id, org_slug: slug } = this.#claims
    return id === undefined || slug === undefined ? null : { id, slug }
  }

  has(...all: string[]): boolean {
    return all.every((permission) => this.#lists.permits(permission))
  }

  hasAny(...any: string[]): boolean {
    return any.some((permission) => this.#lists.permits(permission))
  }

  assert(...all: string[]): void {
    const missing = all.filter((permission) => !this.#lists.permits(permission))
    if (missing[0] !== undefined) throw refused('PERMISSION_DENIED', `missing: ${missing.join(', ')}`)
  }

  hasRole(code: string): boolean {
    return this.#lists.roles.includes(code)
  }

  toJSON(): { userId: string; pool: string; org: Principal['org'] } {
    const { userId, pool, org } = this
    return { userId, pool, org }
  }
}
