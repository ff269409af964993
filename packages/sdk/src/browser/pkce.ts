import { encodeBase64url } from '../base64url.ts'
import { BrowserAuthError } from './errors.ts'

const toBase64url = (bytes: Uint8Array) => encodeBase64url(String.fromCharCode(...bytes))

/** Returns 256 random bits as 43 characters, which make a PKCE verifier (RFC 7636 section 4.1). */
export function randomWord(): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(32)))
}

/** Returns the S256 challenge of a verifier (RFC 7636 section 4.2). Throws `config_invalid` without WebCrypto. */
export async function challengeOf(verifier: string): Promise<string> {
  // Browsers offer it on https and localhost only.
  const { subtle } = crypto
  if (!subtle) throw new BrowserAuthError('config_invalid', 'Signing in needs https (or localhost)')
  return toBase64url(new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}
