import { Secret, TOTP } from 'otpauth'

/** RFC 4226 recommends 160 bits. */
const secretBytes = 20
const periodSeconds = 30
/** How many steps before and after the current one are accepted too, for clocks that differ and for slow typing. */
const window = 1
const form = { algorithm: 'SHA1', digits: 6, period: periodSeconds } as const

/** A random seed in base32, as authenticator apps take it. */
export function newTotpSecret(): string {
  return new Secret({ size: secretBytes }).base32
}

/** The URL that authenticator apps read from a QR code. */
export function totpUrl(input: { secret: string; issuer: string; account: string }): string {
  return new TOTP({ ...form, secret: input.secret, issuer: input.issuer, label: input.account }).toString()
}

/** A typed code of an authenticator app, without the spaces that apps show in it. Undefined for anything else. */
export function totpCodeIn(typed: string): string | undefined {
  const code = typed.replace(/\s/g, '')
  return /^\d{6}$/.test(code) ? code : undefined
}

/**
 * The time step of this code (RFC 6238: SHA-1, 6 digits, 30 s), if it is the present one or one beside it. Undefined for any
 * other code. `now` in milliseconds.
 */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const delta = new TOTP({ ...form, secret }).validate({ token: code, timestamp: now, window })
  return delta === null ? undefined : Math.floor(now / 1000 / periodSeconds) + delta
}
