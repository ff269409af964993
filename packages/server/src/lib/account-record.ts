/** How an account was created. `self` is any kind of registration, `bootstrap` the first start or `create-admin`. */
export const madeBys = ['self', 'admin', 'import', 'provider', 'bootstrap'] as const
export type MadeBy = (typeof madeBys)[number]

/** What is known about the origin of an account. */
export interface AccountRecord {
  made_by: MadeBy
  /** When an address of the account was first verified. Never cleared, even when the address changes. */
  first_verified_at: number | null
  /** Since when the link of a mail is all that verified an address of the account. Cleared by a proof of the mailbox. */
  link_verified_at: number | null
  /** When the mailbox of the present address was proven to be the account's. */
  mailbox_proven_at: number | null
}

/**
 * Whether nobody has ever shown to have both the account and the mailbox of its address, so that it may have been registered with
 * a stranger's address. The link of a mail alone does not show that: the owner of the address may have clicked it without knowing
 * of the account. An account that an operator made or imported is trusted, whether or not its address was verified.
 */
export function isUnproven({ made_by, ...proof }: AccountRecord): boolean {
  const wasProven = proof.first_verified_at !== null && proof.link_verified_at === null
  return !wasProven && proof.mailbox_proven_at === null && (made_by === 'self' || made_by === 'provider')
}

/** Whether the present address is verified and the account is not unproven, so that the two belong to one person. */
export function hasProvenAddress(account: AccountRecord & Pick<Verification, 'email_verified_at'>): boolean {
  return account.email_verified_at !== null && !isUnproven(account)
}

/** The warning for an admin who gives something to an unproven account, as part of the answer. Empty for a proven account. */
export function unprovenWarnings(account: AccountRecord): { warnings?: { code: 'account_unverified' }[] } {
  return isUnproven(account) ? { warnings: [{ code: 'account_unverified' }] } : {}
}

declare const claimable: unique symbol

/** An account that may be taken over. Only `asClaimable` makes one, so no other account can be taken over by mistake. */
export type Claimable<U extends AccountRecord> = U & { readonly [claimable]: true }

/** Marks an unproven account as claimable. Undefined for a proven one. Read the account under the lock of its row. */
export function asClaimable<U extends AccountRecord>(account: U): Claimable<U> | undefined {
  return isClaimable(account) ? account : undefined
}

function isClaimable<U extends AccountRecord>(account: U): account is Claimable<U> {
  return isUnproven(account)
}

/** The columns that say how far an address is verified. Every writer gets their values from the functions below. */
interface Verification {
  email_verified_at: number | null
  first_verified_at: number | null
  link_verified_at: number | null
  mailbox_proven_at: number | null
}

/** Columns for an address whose mailbox belongs to the user of the account. */
export function verifiedNow(now: number, account?: AccountRecord) {
  const first_verified_at = account?.first_verified_at ?? now
  return { email_verified_at: now, first_verified_at, link_verified_at: null, mailbox_proven_at: now } satisfies Verification
}

/**
 * Columns for an address that was verified only by the link in a mail. The person who opened it reads the mail, but the account
 * may belong to a stranger who registered the address first, so an unproven account stays unproven.
 */
export function verifiedByLink(now: number, account: AccountRecord & Verification): Omit<Verification, 'mailbox_proven_at'> {
  return {
    email_verified_at: account.email_verified_at ?? now,
    first_verified_at: account.first_verified_at ?? now,
    link_verified_at: isUnproven(account) ? (account.link_verified_at ?? now) : null,
  }
}

/** Columns for a new address that is not verified. They keep what is known of earlier ones. */
export const unverified = { email_verified_at: null, mailbox_proven_at: null } as const

/** Columns for an account none of whose addresses was ever verified. */
export const neverVerified = { ...unverified, first_verified_at: null, link_verified_at: null } as const

/** Whether an app accepts the account: an app may require a proven mailbox. */
export function isVerifiedFor(
  app: { require_verified_email: boolean } | null,
  account: Pick<Verification, 'mailbox_proven_at'>,
): boolean {
  return !app?.require_verified_email || account.mailbox_proven_at !== null
}
