import type { NodeBuiltins } from './node-builtins.ts'

/**
 * Reads UTF-8 text out of base64url; undefined unless it is the one canonical spelling (RFC 7515 section 2: no padding,
 * no blanks, no spare bits) of valid UTF-8. Both platforms decode leniently, so each reader checks the spelling itself.
 */
export type TextReader = (encoded: string) => string | undefined

/** For ASCII. The buffer is used again for every token: most of the cost of decoding is allocating. */
export function nodeTextReader({ allocate }: NodeBuiltins, maxLength: number): TextReader {
  const buffer = allocate(maxLength)
  return (encoded) => {
    const length = buffer.base64urlWrite(encoded)
    // Node skips what is not base64, stops at padding, and takes the other alphabet's two letters as well.
    if (length !== (encoded.length * 3) >> 2 || encoded.includes('+') || encoded.includes('/')) return undefined
    if (hasSpareBits(encoded)) return undefined
    const text = buffer.utf8Slice(0, length)
    // Node writes U+FFFD for what is not UTF-8. Few texts hold it rightly, so the strict decoder is asked only then.
    return text.includes('\uFFFD') ? decodeUtf8(buffer.subarray(0, length)) : text
  }
}

/** Whether the last character carries bits that belong to no byte: those must be zero for the spelling to be the only one. */
function hasSpareBits(encoded: string): boolean {
  const beyondGroups = encoded.length % 4
  if (beyondGroups === 0) return false
  const withoutSpareBits = beyondGroups === 2 ? 'AQgw' : beyondGroups === 3 ? 'AEIMQUYcgkosw048' : ''
  return !withoutSpareBits.includes(encoded[encoded.length - 1]!)
}

export const webTextReader: TextReader = (encoded) => {
  const bytes = decodeBase64url(encoded)
  return bytes === undefined ? undefined : decodeUtf8(bytes)
}

/** The bytes of canonical base64url, where there is no `Buffer`: only the canonical spelling comes out again as it went in. */
function decodeBase64url(encoded: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
    return encodeBase64url(binary) === encoded ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : undefined
  } catch {
    return undefined
  }
}

/** Of a string that holds one byte in each character. */
export function encodeBase64url(binary: string): string {
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
