import { isRawJson } from '../../lib/json.ts'

const redacted = '[REDACTED]'
const secretKeys = new Set(['password', 'two_factor_code', 'device_token'])

/**
 * The body of a registration as webhooks carry it: verbatim, except that it redacts the values under the keys of secrets, in any
 * case and at any depth, and every string that equals the password or the device token.
 */
export function redactRegistration(received: Record<string, unknown>): Record<string, unknown> {
  const { password, device_token: deviceToken } = received
  const isGiven = typeof deviceToken === 'string' && deviceToken.trim() !== ''
  return redactMembers(received, isGiven ? [password, deviceToken] : [password])
}

function redact(value: unknown, secrets: readonly unknown[]): unknown {
  if (typeof value === 'string') return secrets.includes(value) ? redacted : value
  if (typeof value !== 'object' || value === null || isRawJson(value)) return value
  if (Array.isArray(value)) return value.map((entry: unknown) => redact(entry, secrets))
  return redactMembers(value, secrets)
}

function redactMembers(object: object, secrets: readonly unknown[]): Record<string, unknown> {
  const members = Object.entries(object).map(([key, member]): [string, unknown] => [
    secrets.includes(key) ? redacted : key,
    secretKeys.has(key.toLowerCase()) ? redacted : redact(member, secrets),
  ])
  // This defines own members, even for `__proto__`.
  return Object.fromEntries(members)
}
