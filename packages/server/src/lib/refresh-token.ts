import { timingSafeEqual } from 'node:crypto'
import { keyedDigest } from './digests.ts'
import { randomText, TOKEN_PREFIXES } from './random.ts'

const form = new RegExp(`^${TOKEN_PREFIXES.refresh}(?<secret>[\\w-]{43})(?<session>[0-9a-f]{32})(?<mac>[\\w-]{22})$`)

type Keys = readonly [Buffer, ...Buffer[]]

/** A refresh token of a session, made from 256 secret bits, which are random by default. */
export function newRefreshToken([key]: Keys, sessionId: string, secret = randomText(32)): string {
  const session = sessionId.replaceAll('-', '')
  return `${TOKEN_PREFIXES.refresh}${secret}${session}${macOf(key, session, secret)}`
}

/**
 * The session that this service made the token for. This also recognizes a token that is no longer stored: it was spent some uses
 * ago, and only this service can make one. Accepts each of the keys.
 */
export function sessionOfRefreshToken(keys: Keys, token: string): string | undefined {
  const { secret = '', session = '', mac = '' } = form.exec(token)?.groups ?? {}
  const given = Buffer.from(mac)
  const isOurs = keys
    .map((key) => Buffer.from(macOf(key, session, secret)))
    .reduce((found, ours) => (ours.length === given.length && timingSafeEqual(ours, given)) || found, false)
  return isOurs ? session.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined
}

/** 128 bits are enough, since the MAC alone gives no access. */
function macOf(key: Buffer, session: string, secret: string): string {
  return keyedDigest(key, 'refresh-token', session, secret).slice(0, 22)
}
