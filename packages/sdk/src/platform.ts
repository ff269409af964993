/**
 * What the SDK asks of the platform it runs on. Node answers at once (`node-platform.ts`); elsewhere WebCrypto answers with
 * promises (`web-platform.ts`, which is loaded only there).
 */
export interface Platform<Later extends boolean = boolean> {
  openKeys(config: KeyMaterial): Answer<OpenKeys, Later>
  /** The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret. */
  keyId(secret: string): Answer<string, Later>
  /** Base64url of the UTF-8 of a text. */
  encode(text: string): string
  /** HMAC-SHA-256 of a text in base64url, by HKDF-SHA-256(secret, no salt, "gatehouse-consumer", 32 bytes), RFC 5869. */
  signAsConsumer(secret: string, text: string): Answer<string, Later>
}

type Answer<Value, Later extends boolean> = Later extends true ? Promise<Value> : Value

export interface KeyMaterial {
  readonly secrets: readonly string[]
  readonly maxTokenBytes: number
}

/** What tokens are checked with. */
export interface OpenKeys {
  readonly keys: readonly SigningKey[]
  readonly readText: TextReader
}

/** A secret made ready to check HS256 signatures with. */
export interface SigningKey {
  readonly kid: string
  /** How a token begins that the service signed with this secret: the encoded header and the dot after it. */
  readonly prefix: string
  /** Whether what follows the dot at `end` signs what stands before it, and all of it is ASCII. */
  signs(token: string, end: number): boolean | Promise<boolean>
}

/**
 * Reads UTF-8 text out of base64url; throws unless it is the one canonical spelling (RFC 7515 section 2: no padding,
 * no blanks, no spare bits) of valid UTF-8. Both platforms decode leniently, so each reader checks the spelling itself.
 */
export type TextReader = (encoded: string) => string

/** Stands before the secret in the text whose hash is the key's id. */
export const keyIdLabel = 'gatehouse-kid:'
export const consumerLabel = 'gatehouse-consumer'

const SIGNATURE_CHARACTERS = 43

export function prefixOf(kid: string, encode: Platform['encode']): string {
  return `${encode(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid }))}.`
}

/**
 * Compared as text, which refuses spare bits in the last character too, and to the end wherever it differs, so that
 * time tells nothing. `timingSafeEqual` would need both in buffers, a twentieth of the whole verification.
 */
export function isSignature(wanted: string, token: string, end: number): boolean {
  let difference = token.length - end - 1 - SIGNATURE_CHARACTERS
  for (let i = 0; i < SIGNATURE_CHARACTERS; i += 1) difference |= wanted.charCodeAt(i) ^ token.charCodeAt(end + 1 + i)
  return difference === 0
}

export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}
