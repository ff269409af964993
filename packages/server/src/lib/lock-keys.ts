import { keyedDigest } from './digests.ts'

// The keys of the counters of failed tries. Their parts are joined by a separator that no part contains.

const separator = ':'
const kinds = {
  address: 'address',
  device: 'device',
  session: 'session',
  secondFactor: 'two-factor',
  mailCode: 'mail-code',
} as const
type Kind = (typeof kinds)[keyof typeof kinds]

const joined = (kind: Kind, ...parts: readonly string[]): string => [kind, ...parts].join(separator)

/**
 * The counters of wrong passwords for an address: one in each pool that the app sees, whether or not a user has the address
 * there. Sorted.
 */
export function addressKeys(encryptionKey: Buffer, email: string, pools: readonly string[]): string[] {
  const prefix = addressPrefix(encryptionKey, email)
  return pools.map((pool) => prefix + pool).sort()
}

/** The prefix that the keys of an address have in every pool. It does not reveal the address. */
export function addressPrefix(encryptionKey: Buffer, email: string): string {
  return joined(kinds.address, keyedDigest(encryptionKey, 'lockout', email), '')
}

/** The pool in the key of an address. Undefined for any other key. */
export function poolOfKey(key: string): string | undefined {
  const [kind, , pool] = key.split(separator)
  return kind === kinds.address ? pool : undefined
}

/** Wrong passwords from a device that has signed in before are counted separately. */
export function deviceKey(userId: string, device: string): string {
  return devicePrefix(userId) + device
}

/** The prefix that the keys of all devices of a user have. */
export function devicePrefix(userId: string): string {
  return joined(kinds.device, userId, '')
}

/** Wrong passwords of a signed-in user who gives the password again are counted per session. */
export function sessionKey(userId: string, sessionId: string): string {
  return sessionPrefix(userId) + sessionId
}

/** The prefix that the keys of all sessions of a user have. */
export function sessionPrefix(userId: string): string {
  return joined(kinds.session, userId, '')
}

/** Wrong second-factor codes are counted per user, across all calls that take them. */
export function secondFactorKey(userId: string): string {
  return joined(kinds.secondFactor, userId)
}

/** Wrong codes from a mail are counted per address, and separately for all devices that have logged its user in before. */
export function mailCodeKey(encryptionKey: Buffer, email: string, isKnownDevice: boolean): string {
  return joined(kinds.mailCode, keyedDigest(encryptionKey, 'mail-code-lock', email, isKnownDevice ? 'known' : ''))
}

export const keysOfSecondFactors = joined(kinds.secondFactor, '')
export const keysOfMailCodes = joined(kinds.mailCode, '')

/** The end of the range of keys with this prefix. */
export function afterKeysOf(prefix: string): string {
  const next = String.fromCharCode(separator.charCodeAt(0) + 1)
  return prefix.slice(0, -1) + next
}
