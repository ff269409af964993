/** How an account came to be: `self` is every kind of registration, `bootstrap` the first start and `create-admin`. */
export const madeBys = ['self', 'admin', 'import', 'provider', 'bootstrap'] as const
export type MadeBy = (typeof madeBys)[number]

/** What is known of where an account comes from. */
export interface AccountRecord {
  made_by: MadeBy
  /** When an address of the account was first verified. Never cleared, also when the address changes. */
  first_verified_at: number | null
}

/**
 * Whether nobody has ever shown that the account is theirs: somebody may have registered an address of somebody else. An account that
 * an operator made or imported is trusted as it is, whether or not its address was verified.
 */
export function isUnproven({ made_by, first_verified_at }: AccountRecord): boolean {
  return first_verified_at === null && (made_by === 'self' || made_by === 'provider')
}

/** What an admin should know who gives something to the account: part of the answer, and nothing for a proven one. */
export function unprovenWarnings(account: AccountRecord): { warnings?: { code: 'account_unverified' }[] } {
  return isUnproven(account) ? { warnings: [{ code: 'account_unverified' }] } : {}
}

declare const claimable: unique symbol

/** An account that may be claimed. Made by `asClaimable` alone, so that nothing else can be claimed by mistake. */
export type Claimable<U extends AccountRecord> = U & { readonly [claimable]: true }

/** The account as one that may be claimed; undefined unless it is unproven. Read it under the lock of its row. */
export function asClaimable<U extends AccountRecord>(account: U): Claimable<U> | undefined {
  return isClaimable(account) ? account : undefined
}

function isClaimable<U extends AccountRecord>(account: U): account is Claimable<U> {
  return isUnproven(account)
}

/** The columns of an address that is verified now: every writer of `email_verified_at` takes them from here. */
export function verifiedNow(now: number, account?: AccountRecord): { email_verified_at: number; first_verified_at: number } {
  return { email_verified_at: now, first_verified_at: account?.first_verified_at ?? now }
}
