import { randomBytes, timingSafeEqual } from 'node:crypto'
import { keyedDigest } from './keyed-digest.ts'
import { TOKEN_PREFIXES } from './opaque-token.ts'

const form = new RegExp(`^${TOKEN_PREFIXES.refresh}(?<secret>[\\w-]{43})(?<session>[0-9a-f]{32})(?<mac>[\\w-]{22})$`)

type Keys = readonly [Buffer, ...Buffer[]]

/** A refresh token of a session, from 256 bits that nobody else knows: random ones unless told. */
export function newRefreshToken([key]: Keys, sessionId: string, secret = randomBytes(32).toString('base64url')): string {
  const session = sessionId.replaceAll('-', '')
  return `${TOKEN_PREFIXES.refresh}${secret}${session}${macOf(key, session, secret)}`
}

/**
 * The session that a token was made for here. A token that is stored no longer is known by it: it was spent some uses ago, and nobody
 * else can make one. Accepts each of the keys.
 */
export function sessionOfRefreshToken(keys: Keys, token: string): string | undefined {
  const { secret = '', session = '', mac = '' } = form.exec(token)?.groups ?? {}
  const given = Buffer.from(mac)
  const isOurs = keys
    .map((key) => Buffer.from(macOf(key, session, secret)))
    .reduce((found, ours) => (ours.length === given.length && timingSafeEqual(ours, given)) || found, false)
  return isOurs ? session.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined
}

/** 128 bits, which is enough for what opens nothing. */
function macOf(key: Buffer, session: string, secret: string): string {
  return keyedDigest(key, 'refresh-token', session, secret).slice(0, 22)
}
