import type { CONSUMER_TOKEN_TYPE } from './protocol.ts'

/**
 * The opened secrets of an app: used synchronously by Node (`node-platform.ts`), asynchronously by WebCrypto (`web-platform.ts`).
 */
export interface OpenKeys {
  /** One or two, the current one first. */
  readonly keys: readonly SecretKey[]
  readonly readText: TextReader
}

export interface KeyMaterial {
  readonly secrets: readonly string[]
  readonly maxTokenBytes: number
}

export interface SecretKey {
  readonly kid: string
  /** The encoded header of the tokens that the service signs with this secret. */
  readonly header: string
  /** Whether what follows the dot at `end` is the HS256 signature of what precedes it, and the whole token is ASCII. */
  signs(token: string, end: number): boolean | Promise<boolean>
  /** Signs the assertion of a consumer: a JWT under a key that is derived from the secret. */
  signAsConsumer(claims: object): string | Promise<string>
}

/**
 * Decodes base64url to text. Throws unless it is the one canonical spelling (RFC 7515 section 2: no padding, no blanks, no spare
 * bits) of valid UTF-8. Both platforms decode leniently, so each reader checks the spelling itself.
 */
export type TextReader = (encoded: string) => string

/** Encodes the header that the service writes. `encode` turns JSON into base64url on this platform. */
export function encodeHeader(encode: (part: object) => string, typ: 'JWT' | typeof CONSUMER_TOKEN_TYPE, kid: string): string {
  return encode({ alg: 'HS256', typ, kid })
}

/** HMAC-SHA-256 in base64url. */
export const SIGNATURE_CHARACTERS = 43
