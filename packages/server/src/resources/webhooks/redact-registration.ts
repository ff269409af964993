const redacted = '[REDACTED]'
const secretKeys = new Set(['password', 'two_factor_code'])

/**
 * The body of a registration as webhooks carry it: verbatim, but for the values under `password` and `two_factor_code`,
 * in any case and at any depth, and every string that equals the password.
 */
export function redactRegistration(received: Record<string, unknown>): Record<string, unknown> {
  return redactMembers(received, received.password)
}

function redact(value: unknown, password: unknown): unknown {
  if (typeof value === 'string') return value === password ? redacted : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((entry: unknown) => redact(entry, password))
  return redactMembers(value, password)
}

function redactMembers(object: object, password: unknown): Record<string, unknown> {
  const members = Object.entries(object).map(([key, member]): [string, unknown] => [
    key === password ? redacted : key,
    secretKeys.has(key.toLowerCase()) ? redacted : redact(member, password),
  ])
  // Defines each member as its own, `__proto__` too.
  return Object.fromEntries(members)
}
