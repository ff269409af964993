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

/** The columns that say how far an address is verified: every writer of them takes them from here. */
interface Verification {
  email_verified_at: number | null
  first_verified_at: number | null
  mailbox_proven_at: number | null
}

/** An address whose mailbox belongs to whoever signs in to the account. */
export function verifiedNow(now: number, account?: AccountRecord): { [column in keyof Verification]: number } {
  return { email_verified_at: now, first_verified_at: account?.first_verified_at ?? now, mailbox_proven_at: now }
}

/**
 * An address that somebody verified by the link of a mail and nothing else. They read its mail, and yet the account may be a stranger's
 * who registered the address before them.
 */
export function verifiedByLink(now: number, account: AccountRecord & Verification): Omit<Verification, 'mailbox_proven_at'> {
  return { email_verified_at: account.email_verified_at ?? now, first_verified_at: account.first_verified_at ?? now }
}

/** An address that nobody has verified. */
export const unverified = { email_verified_at: null, mailbox_proven_at: null } as const

/** Whether an app takes the account as it is: one may ask that the mailbox was proven. */
export function isVerifiedFor(
  app: { require_verified_email: boolean } | null,
  account: Pick<Verification, 'mailbox_proven_at'>,
): boolean {
  return !app?.require_verified_email || account.mailbox_proven_at !== null
}
