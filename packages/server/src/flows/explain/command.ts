const plain = /^[A-Za-z0-9@%+=:,./_-]+$/

/** A command line of authctl to copy. What a user chose, an e-mail above all, is quoted where a shell would act on it. */
export function command(verb: string, ...words: string[]): string {
  return ['authctl', verb, ...words.map((word) => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))].join(' ')
}

/** A user as authctl takes one. */
export function userRefOf(user: { email: string; namespace: string }): string {
  return `${user.email}@@${user.namespace}`
}
