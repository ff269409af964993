/** A way to hash passwords. The prefix of a hash tells which scheme made it. */
export interface PasswordScheme {
  prefixes: readonly string[]
  /** Takes as long as a hash of bcrypt at cost `costAtLeast` takes, or longer. */
  verify(hash: string, password: string, costAtLeast: number): Promise<HashCheck>
}

export interface HashCheck {
  matches: boolean
  /** The rounds of bcrypt that were run. */
  rounds: number
}

/** Finds the scheme of a hash. Throws if there is none. */
export function schemeOf(hash: string, schemes: readonly PasswordScheme[]): PasswordScheme {
  const found = schemes.find(({ prefixes }) => prefixes.some((prefix) => hash.startsWith(prefix)))
  if (!found) throw new Error('the hash has an unknown scheme')
  return found
}
