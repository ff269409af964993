import type { Buffer as NodeBuffer } from 'node:buffer'
import type { hash } from 'node:crypto'
import {
  consumerLabel,
  decodeUtf8,
  isSignature,
  keyIdLabel,
  type Platform,
  prefixOf,
  type SigningKey,
  type TextReader,
} from './platform.ts'

/**
 * A `Buffer` with the calls that `write` and `toString` choose from by their encoding. Node does not document them; they
 * are as old as `Buffer`, and going straight to them saves a twentieth of a verification.
 */
interface TokenBuffer extends NodeBuffer {
  utf8Write(text: string, offset: number): number
  latin1Write(text: string, offset: number): number
  base64urlWrite(text: string): number
  utf8Slice(start: number, end: number): string
}

// Not as a bare name, for which some bundlers put in an imitation.
const { Buffer } = globalThis

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/** How what follows the groups of four may end, by its length: the last character carries bits that belong to no byte, all zero. */
const lastCharacters = ['', '', 'AQgw', 'AEIMQUYcgkosw048']

/** A module of Node by its name, where there is one: an `import` would stop bundlers for Workers, Deno and browsers. */
export const builtin = ((name: string) => globalThis.process?.getBuiltinModule?.(name)) as typeof process.getBuiltinModule

/** What the SDK uses of Node, or undefined where it is not to be had. */
export function nodePlatform(): Platform<false> | undefined {
  const crypto = builtin('node:crypto')
  // Runtimes that imitate Node may lack either.
  if (!crypto?.hash || !Buffer?.prototype.base64urlWrite) return undefined
  const { hash, hkdfSync, createHmac } = crypto
  const keyId = (secret: string) => hash('sha256', keyIdLabel + secret).slice(0, 8)
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  return {
    openKeys: ({ secrets, maxTokenBytes }) => ({
      keys: secrets.map((secret) => {
        const kid = keyId(secret)
        return { kid, prefix: prefixOf(kid, encode), signs: openKey(hash, secret, maxTokenBytes) }
      }),
      readText: createTextReader(maxTokenBytes),
    }),
    keyId,
    encode,
    signAsConsumer(secret, text) {
      const key = new Uint8Array(hkdfSync('sha256', secret, '', consumerLabel, DIGEST_BYTES))
      return createHmac('sha256', key).update(text).digest('base64url')
    },
  }
}

function allocate(size: number): TokenBuffer {
  return Buffer.alloc(size) as TokenBuffer
}

/**
 * HMAC-SHA-256 (RFC 2104) as two one-shot hashes over key blocks that are prepared once, 0.6 times the cost of `createHmac`.
 * Digests travel as strings because Node hands those over faster than buffers.
 */
function openKey(digest: typeof hash, secret: string, maxTokenBytes: number): SigningKey['signs'] {
  const bytes = Buffer.from(secret)
  const key = bytes.length > BLOCK_BYTES ? digest('sha256', bytes, 'buffer') : bytes
  // The inner key block, and room behind it for the UTF-8 of any string of that length, so that writing one never ends early.
  const inner = allocate(BLOCK_BYTES + 3 * maxTokenBytes)
  // The outer key block, and room for the inner digest behind it.
  const outer = allocate(BLOCK_BYTES + DIGEST_BYTES)
  for (let i = 0; i < BLOCK_BYTES; i += 1) {
    // Behind a short key there is nothing, which is 0 here.
    inner[i] = key[i]! ^ 0x36
    outer[i] = key[i]! ^ 0x5c
  }
  // Views of `inner`, by the length of what is signed: making one costs as much as writing the token.
  const signed: Uint8Array[] = new Array(maxTokenBytes)

  return (token, end) => {
    if (inner.utf8Write(token, BLOCK_BYTES) !== token.length) return false
    signed[end] ??= inner.subarray(0, BLOCK_BYTES + end)
    outer.latin1Write(digest('sha256', signed[end], 'binary'), BLOCK_BYTES)
    return isSignature(digest('sha256', outer, 'base64url'), token, end)
  }
}

/** For ASCII. The buffer is used again for every token: most of the cost of decoding is allocating. */
function createTextReader(maxLength: number): TextReader {
  const buffer = allocate(maxLength)
  return (encoded) => {
    const length = buffer.base64urlWrite(encoded)
    // Node skips what is not base64, stops at padding, and takes the other alphabet's two letters as well.
    const isWhole = length === (encoded.length * 3) >> 2 && !encoded.includes('+') && !encoded.includes('/')
    const rest = encoded.length % 4
    if (!isWhole || (rest && !lastCharacters[rest]!.includes(encoded.at(-1)!))) throw new Error()
    const text = buffer.utf8Slice(0, length)
    // Node writes U+FFFD for what is not UTF-8. Few texts hold it rightly, so the strict decoder is asked only then.
    return text.includes('\uFFFD') ? decodeUtf8(buffer.subarray(0, length)) : text
  }
}
