import type { NodeBuiltins } from './node-builtins.ts'

/**
 * Reads UTF-8 text out of base64url; throws unless it is the one canonical spelling (RFC 7515 section 2: no padding,
 * no blanks, no spare bits) of valid UTF-8. Both platforms decode leniently, so each reader checks the spelling itself.
 */
export type TextReader = (encoded: string) => string

/** How what follows the groups of four may end, by its length: the last character carries bits that belong to no byte, all zero. */
const lastCharacters = ['', '', 'AQgw', 'AEIMQUYcgkosw048']

/** For ASCII. The buffer is used again for every token: most of the cost of decoding is allocating. */
export function nodeTextReader({ allocate }: NodeBuiltins, maxLength: number): TextReader {
  const buffer = allocate(maxLength)
  return (encoded) => {
    const length = buffer.base64urlWrite(encoded)
    // Node skips what is not base64, stops at padding, and takes the other alphabet's two letters as well.
    const isWhole = length === (encoded.length * 3) >> 2 && !encoded.includes('+') && !encoded.includes('/')
    const rest = encoded.length % 4
    if (!isWhole || (rest > 0 && !lastCharacters[rest]!.includes(encoded[encoded.length - 1]!))) throw notCanonical()
    const text = buffer.utf8Slice(0, length)
    // Node writes U+FFFD for what is not UTF-8. Few texts hold it rightly, so the strict decoder is asked only then.
    return text.includes('\uFFFD') ? decodeUtf8(buffer.subarray(0, length)) : text
  }
}

/** Where there is no `Buffer`: only the canonical spelling comes out again as it went in. */
export const webTextReader: TextReader = (encoded) => {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
  if (encodeBase64url(binary) !== encoded) throw notCanonical()
  return decodeUtf8(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
}

/** Of a string that holds one byte in each character. */
export function encodeBase64url(binary: string): string {
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}

function notCanonical(): Error {
  return new Error('not canonical')
}
