import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TOKEN_PREFIXES } from '@gatehouse/sdk/protocol'

const prefix = TOKEN_PREFIXES.serviceAccount
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62 ** 43 is the first power above 2 ** 256. */
const bodyLength = 43
/** 62 ** 6 is the first power above 2 ** 32. */
const checksumLength = 6
const form = new RegExp(`^${prefix}([0-9A-Za-z]{${bodyLength}})([0-9A-Za-z]{${checksumLength}})$`)

/**
 * A token of a service account: `gsa_`, 256 random bits and their checksum in base62. Letters, digits and _ only, so a double
 * click selects it.
 */
export function newServiceToken(): string {
  const body = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), bodyLength)
  return `${prefix}${body}${checksumOf(body)}`
}

/** Whether a bearer looks like the token of a service account. Every other bearer is treated as an access token. */
export function looksLikeServiceToken(bearer: string): boolean {
  return bearer.startsWith(prefix)
}

/**
 * Whether the text has the form of a service token with a valid checksum. This does not prove who made it. It detects a mistyped
 * or cut token without the database, and lets a scanner be sure about a token in a repository.
 */
export function isServiceToken(text: string): boolean {
  const [, body, checksum] = form.exec(text) ?? []
  return body !== undefined && checksumOf(body) === checksum
}

function checksumOf(body: string): string {
  return base62(BigInt(crc32(body)), checksumLength)
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}
