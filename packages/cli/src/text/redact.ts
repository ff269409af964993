// The output of --debug and --dry-run ends up in tickets, and on screens that others see.
const secretName = /password|secret|token$|^token|two_factor_code|recovery_code|otpauth|invite_code|^authorization$|hash$/i
const harmless = /^token_(type|version|bytes)$/
const redacted = '[redacted]'

function isSecret(name: string): boolean {
  return secretName.test(name) && !harmless.test(name)
}

/** Shorter values stay: they are also ordinary words elsewhere in a body. */
const shortestSecret = 8

/**
 * A body with the values of secret members replaced, also where another member repeats one, as the `code` of an invitation does
 * its `token`. Of the URL of a webhook only the origin stays: chat services keep their secret in the path or the query. A body
 * that is not JSON shows only its size.
 */
export function redact(body: string | Uint8Array): unknown {
  if (typeof body !== 'string') return `[${body.byteLength} bytes]`
  const secrets = new Set<unknown>()
  try {
    const hidden: unknown = JSON.parse(body, (name, value: unknown) => {
      if (name === 'url' && typeof value === 'string') return originOf(value)
      if (!isSecret(name) || value === null || typeof value === 'boolean') return value
      if (typeof value === 'string' && value.length >= shortestSecret) secrets.add(value)
      return redacted
    })
    if (secrets.size === 0) return hidden
    return JSON.parse(JSON.stringify(hidden), (_, value: unknown) => (secrets.has(value) ? redacted : value))
  } catch {
    return `[${Buffer.byteLength(body)} bytes]`
  }
}

function originOf(url: string): string {
  const { origin, href } = URL.canParse(url) ? new URL(url) : { origin: 'null', href: '' }
  if (origin === 'null') return redacted
  return href === `${origin}/` ? url : `${origin}/${redacted}`
}

export function redactUrl(raw: string): string {
  const url = new URL(raw)
  for (const name of new Set(url.searchParams.keys())) if (isSecret(name)) url.searchParams.set(name, redacted)
  return url.href
}
