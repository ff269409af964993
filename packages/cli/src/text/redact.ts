// The output of --debug and --dry-run ends up in tickets, and on screens that others see.
const secretName = /password|secret|token$|^token|two_factor_code|recovery_code|otpauth|invite_code|^authorization$|hash$/i
const harmless = /^token_(type|version|bytes)$/
const redacted = '[redacted]'

function isSecret(name: string): boolean {
  return secretName.test(name) && !harmless.test(name)
}

/** A body with the values of secret members replaced. A body that is not JSON shows only its size. */
export function redact(body: string | Uint8Array): unknown {
  if (typeof body !== 'string') return `[${body.byteLength} bytes]`
  try {
    return JSON.parse(body, (name, value: unknown) =>
      isSecret(name) && value !== null && typeof value !== 'boolean' ? redacted : value,
    )
  } catch {
    return `[${Buffer.byteLength(body)} bytes]`
  }
}

export function redactUrl(raw: string): string {
  const url = new URL(raw)
  for (const name of new Set(url.searchParams.keys())) if (isSecret(name)) url.searchParams.set(name, redacted)
  return url.href
}
