import type { CONSUMER_TOKEN_TYPE } from './protocol.ts'

/** The opened secrets of an app: synchronously by Node (`node-platform.ts`), asynchronously by WebCrypto (`web-platform.ts`). */
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
  /** The encoded header of what the service signs with this secret. */
  readonly header: string
  /** Whether what follows the dot at `end` signs what stands before it, with HS256, and all of it is ASCII. */
  signs(token: string, end: number): boolean | Promise<boolean>
  /** Signs the assertion of a consumer: a JWT under a key of its own. */
  signAsConsumer(claims: object): string | Promise<string>
}

/**
 * Reads UTF-8 text out of base64url; throws unless it is the one canonical spelling (RFC 7515 section 2: no padding,
 * no blanks, no spare bits) of valid UTF-8. Both platforms decode leniently, so each reader checks the spelling itself.
 */
export type TextReader = (encoded: string) => string

/** The header that the service writes. `encode` turns JSON into base64url on this platform. */
export function encodeHeader(encode: (part: object) => string, typ: 'JWT' | typeof CONSUMER_TOKEN_TYPE, kid: string): string {
  return encode({ alg: 'HS256', typ, kid })
}

/** HMAC-SHA-256 in base64url. */
export const SIGNATURE_CHARACTERS = 43
