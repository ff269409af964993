/** Passwords of the tests, signed tokens, opaque tokens by their prefixes, bcrypt hashes. */
const forms = [/correct horse/, /\beyJ[\w-]+\.[\w-]+\.[\w-]+/, /\bg[a-z]{2}_[\w-]{43}/, /\$2[aby]\$\d\d\$/]

/** The first secret in a log line: one of a known form, or one of `secrets`. No line may contain one, at any log level. */
export function secretIn(line: string, secrets: readonly string[] = []): string | undefined {
  for (const form of forms) {
    const [found] = form.exec(line) ?? []
    if (found !== undefined) return found
  }
  return secrets.find((secret) => line.includes(secret))
}
