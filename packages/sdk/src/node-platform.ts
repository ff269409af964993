import type { hash } from 'node:crypto'
import {
  encodeHeader,
  type KeyMaterial,
  type OpenKeys,
  type SecretKey,
  SIGNATURE_CHARACTERS,
  type TextReader,
} from './platform.ts'
import { CONSUMER_KEY_BYTES, CONSUMER_KEY_INFO, CONSUMER_TOKEN_TYPE, keyIdOf } from './protocol.ts'

// Taken from `globalThis`, since some bundlers replace a bare `Buffer` with an imitation.
const { Buffer } = globalThis

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/** Returns a module of Node, or undefined where there is none. An `import` would stop bundlers for Workers, Deno and browsers. */
export const builtin = ((name: string) => globalThis.process?.getBuiltinModule?.(name)) as typeof process.getBuiltinModule

/** Opens the secrets with Node's crypto. Returns undefined if Node's modules are not available. */
export function openNodeKeys({ secrets, maxTokenBytes }: KeyMaterial): OpenKeys | undefined {
  const crypto = builtin('node:crypto')
  // Runtimes that imitate Node may lack either.
  if (!crypto?.hash || !Buffer?.isEncoding('base64url')) return undefined
  const { hash, hkdfSync, createHmac } = crypto
  return {
    keys: secrets.map((secret) => {
      const kid = keyIdOf(secret, hash)
      return {
        kid,
        header: encodeHeader(encode, 'JWT', kid),
        signs: openKey(hash, secret, maxTokenBytes),
        signAsConsumer(claims) {
          const text = `${encodeHeader(encode, CONSUMER_TOKEN_TYPE, kid)}.${encode(claims)}`
          const key = new Uint8Array(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, CONSUMER_KEY_BYTES))
          return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
        },
      }
    }),
    readText: createTextReader(maxTokenBytes),
  }
}

const encodeText = (text: string) => Buffer.from(text).toString('base64url')
const encode = (part: object) => encodeText(JSON.stringify(part))

/**
 * HMAC-SHA-256 (RFC 2104) as two one-shot hashes over key blocks that are prepared once, at 0.6 times the cost of `createHmac`.
 * The digests are strings because Node returns those faster than buffers.
 */
function openKey(digest: typeof hash, secret: string, maxTokenBytes: number): SecretKey['signs'] {
  const bytes = Buffer.from(secret)
  const key = bytes.length > BLOCK_BYTES ? digest('sha256', bytes, 'buffer') : bytes
  // The inner key block, then room for the UTF-8 of any string of that length, so that writing one never ends early.
  const inner = Buffer.alloc(BLOCK_BYTES + 3 * maxTokenBytes)
  // The outer key block, then room for the inner digest.
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES)
  for (let i = 0; i < BLOCK_BYTES; i += 1) {
    // A short key is padded with zeros.
    inner[i] = key[i]! ^ 0x36
    outer[i] = key[i]! ^ 0x5c
  }
  const signature = Buffer.alloc(SIGNATURE_CHARACTERS)
  // Views of `inner`, by the length of what is signed: making one costs as much as writing the token.
  const signed: Uint8Array[] = new Array(maxTokenBytes)

  return (token, end) => {
    if (inner.write(token, BLOCK_BYTES) !== token.length) return false
    signed[end] ??= inner.subarray(0, BLOCK_BYTES + end)
    outer.write(digest('sha256', signed[end], 'binary'), BLOCK_BYTES, 'latin1')
    signature.write(digest('sha256', outer, 'base64url'), 'latin1')
    // Compares to the end even after a difference, so that the time it takes reveals nothing, and as text, which also refuses
    // spare bits in the last letter.
    const begin = BLOCK_BYTES + end + 1
    let difference = token.length + BLOCK_BYTES - begin - SIGNATURE_CHARACTERS
    for (let i = 0; i < SIGNATURE_CHARACTERS; i += 1) difference |= signature[i]! ^ inner[begin + i]!
    return difference === 0
  }
}

/**
 * The last letters without spare bits, by how many letters follow the last group of four. A single letter cannot encode a byte.
 */
const lastLetters = [undefined, '', 'AQgw', 'AEIMQUYcgkosw048']

/** Returns a reader for ASCII. It reuses one buffer for every token, since most of the cost of decoding is allocating. */
function createTextReader(maxLength: number): TextReader {
  const buffer = Buffer.alloc(maxLength)
  return (encoded) => {
    const length = buffer.write(encoded, 'base64url')
    const text = buffer.toString('utf8', 0, length)
    // Node skips what is not base64, stops at padding, also accepts the `+` and `/` of plain base64, and drops spare bits.
    const isCanonical =
      length === (encoded.length * 3) >> 2 &&
      !encoded.includes('+') &&
      !encoded.includes('/') &&
      (lastLetters[encoded.length % 4]?.includes(encoded.slice(-1)) ?? true)
    // Invalid UTF-8 becomes U+FFFD. Valid texts rarely contain it, so the whole text is compared only then.
    if (!isCanonical || (text.includes('\uFFFD') && encodeText(text) !== encoded)) throw new Error()
    return text
  }
}
