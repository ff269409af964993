/** Encodes a string that holds one byte per character, without padding. */
export function encodeBase64url(binary: string): string {
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
