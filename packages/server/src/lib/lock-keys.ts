import { keyedDigest } from './keyed-digest.ts'

// What failed tries are counted by. The parts of a key are joined by a character that none of them holds.

const separator = ':'
const kinds = { address: 'address', device: 'device', secondFactor: 'two-factor' } as const
type Kind = (typeof kinds)[keyof typeof kinds]

const joined = (kind: Kind, ...parts: readonly string[]): string => [kind, ...parts].join(separator)

/**
 * Wrong passwords are counted by the address, in each pool that the app sees: whoever has the address there, or whether anybody has,
 * makes no difference. In the order of the keys.
 */
export function addressKeys(encryptionKey: Buffer, email: string, pools: readonly string[]): string[] {
  const prefix = addressPrefix(encryptionKey, email)
  return pools.map((pool) => prefix + pool).sort()
}

/** What the keys of an address begin with, in whatever pool. It does not tell the address. */
export function addressPrefix(encryptionKey: Buffer, email: string): string {
  return joined(kinds.address, keyedDigest(encryptionKey, 'lockout', email), '')
}

/** The pool of the key of an address; undefined of another key. */
export function poolOfKey(key: string): string | undefined {
  const [kind, , pool] = key.split(separator)
  return kind === kinds.address ? pool : undefined
}

/** Wrong passwords of a device that has logged in before are counted by themselves. */
export function deviceKey(userId: string, device: string): string {
  return devicePrefix(userId) + device
}

/** What the keys of all devices of a user begin with. */
export function devicePrefix(userId: string): string {
  return joined(kinds.device, userId, '')
}

/** Wrong second-factor codes are counted by the user, through whatever door they come. */
export function secondFactorKey(userId: string): string {
  return joined(kinds.secondFactor, userId)
}

export const keysOfSecondFactors = joined(kinds.secondFactor, '')

/** What comes after every key that begins with a prefix of keys, and before all others. */
export function afterKeysOf(prefix: string): string {
  const next = String.fromCharCode(separator.charCodeAt(0) + 1)
  return prefix.slice(0, -1) + next
}
