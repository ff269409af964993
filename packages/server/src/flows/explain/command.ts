const plain = /^[A-Za-z0-9@%+=:,./_-]+$/

/**
 * An authctl command line to copy. Words that a shell would interpret are quoted, because users choose some of them, such as an
 * e-mail address.
 */
export function command(verb: string, ...words: string[]): string {
  return ['authctl', verb, ...words.map((word) => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))].join(' ')
}

/** A user in the form that authctl accepts. */
export function userRefOf(user: { email: string; namespace: string }): string {
  return `${user.email}@@${user.namespace}`
}
