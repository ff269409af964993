/** Encodes a string that holds one byte in each character. */
export function encodeBase64url(binary: string): string {
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
