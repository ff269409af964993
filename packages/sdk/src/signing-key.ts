import { encodeBase64url } from './base64url.ts'
import type { NodeBuiltins } from './node-builtins.ts'

/** A secret made ready to check HS256 signatures with. */
export interface SigningKey<Answer extends boolean | Promise<boolean>> {
  /** The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret. */
  readonly kid: string
  /** How a token begins that the service signed with this secret: the encoded header and the dot after it. */
  readonly prefix: string
  /** Whether what follows the dot at `end` signs what stands before it, and all of it is ASCII. */
  matches(token: string, end: number): Answer
}

const keyIdText = (secret: string) => `gatehouse-kid:${secret}`
const encodePart = (part: object) => encodeBase64url(JSON.stringify(part))
const prefixOf = (kid: string) => `${encodePart({ alg: 'HS256', typ: 'JWT', kid })}.`

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
const SIGNATURE_CHARACTERS = 43

/**
 * HMAC-SHA-256 (RFC 2104) as two one-shot hashes over key blocks that are prepared once, 0.6 times the cost of `createHmac`.
 * Digests travel as strings because Node hands those over faster than buffers.
 */
export function openNodeKey(
  { hash, utf8Bytes, allocate }: NodeBuiltins,
  secret: string,
  maxTokenBytes: number,
): SigningKey<boolean> {
  const kid = hash('sha256', keyIdText(secret)).slice(0, 8)
  const bytes = utf8Bytes(secret)
  const key = bytes.length > BLOCK_BYTES ? hash('sha256', bytes, 'buffer') : bytes
  // The inner key block, and room behind it for the UTF-8 of any string of that length, so that writing one never ends early.
  const inner = allocate(BLOCK_BYTES + 3 * maxTokenBytes)
  // The outer key block, and room for the inner digest behind it.
  const outer = allocate(BLOCK_BYTES + DIGEST_BYTES)
  for (let i = 0; i < BLOCK_BYTES; i += 1) {
    inner[i] = (key[i] ?? 0) ^ 0x36
    outer[i] = (key[i] ?? 0) ^ 0x5c
  }
  // Views of `inner`, by the length of what is signed: making one costs as much as writing the token.
  const signed: Uint8Array[] = new Array(maxTokenBytes)

  return {
    kid,
    prefix: prefixOf(kid),
    matches(token, end) {
      if (inner.utf8Write(token, BLOCK_BYTES) !== token.length) return false
      signed[end] ??= inner.subarray(0, BLOCK_BYTES + end)
      outer.latin1Write(hash('sha256', signed[end], 'binary'), BLOCK_BYTES)
      return isSignature(hash('sha256', outer, 'base64url'), token, end)
    },
  }
}

/**
 * Compared as text, which refuses spare bits in the last character too, and to the end wherever it differs, so that
 * time tells nothing. `timingSafeEqual` would need both in buffers, a twentieth of the whole verification.
 */
function isSignature(wanted: string, token: string, end: number): boolean {
  let difference = token.length - end - 1 - SIGNATURE_CHARACTERS
  for (let i = 0; i < SIGNATURE_CHARACTERS; i += 1) difference |= wanted.charCodeAt(i) ^ token.charCodeAt(end + 1 + i)
  return difference === 0
}

type WebHmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** The same through WebCrypto, which has no synchronous calls. */
export async function openWebKey(secret: string): Promise<SigningKey<Promise<boolean>>> {
  const kid = await webKeyId(secret)
  const key = await webHmacKey(utf8(secret))
  return {
    kid,
    prefix: prefixOf(kid),
    matches: async (token, end) => isSignature(encodeBytes(await webHmac(key, token.slice(0, end))), token, end),
  }
}

async function webKeyId(secret: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', utf8(keyIdText(secret)))
  return new DataView(digest).getUint32(0).toString(16).padStart(8, '0')
}

function webHmacKey(bytes: Uint8Array<ArrayBuffer>): Promise<WebHmacKey> {
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

async function webHmac(key: WebHmacKey, text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, utf8(text)))
}

interface Consumer {
  readonly secrets: readonly string[]
  readonly appCode: string
  readonly now: () => number
}

/**
 * What a consumer shows to the service (decisions 6): a JWT that lives for a minute, signed with
 * HKDF-SHA-256(secret, no salt, "gatehouse-consumer", 32 bytes), which is two HMACs (RFC 5869).
 */
export async function signAssertion(secret: string, { secrets, appCode, now }: Consumer): Promise<string> {
  const pseudoRandomKey = await webHmac(await webHmacKey(new Uint8Array(DIGEST_BYTES)), secret)
  const key = await webHmac(await webHmacKey(pseudoRandomKey), 'gatehouse-consumer\x01')
  const header = { alg: 'HS256', typ: 'consumer+jwt', kid: await webKeyId(secret) }
  // Half of its minute lies behind, for the clock of the service may be ahead or behind.
  const iat = Math.floor(now() / 1000) - 30
  const claims = { sub: appCode, iat, exp: iat + 60, kids: await Promise.all(secrets.map(webKeyId)) }
  const signed = `${encodePart(header)}.${encodePart(claims)}`
  return `${signed}.${encodeBytes(await webHmac(await webHmacKey(key), signed))}`
}

function encodeBytes(bytes: Uint8Array): string {
  return encodeBase64url(String.fromCharCode(...bytes))
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>
}
