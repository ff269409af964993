import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { OpenIdChallenge } from '../../adapters/open-id-clients.ts'
import type { Deps } from '../../deps.ts'
import type { SsoProfile } from './exchange.ts'

/** What a login keeps sealed in its row until the provider answers. */
export type PkceState = Pick<OpenIdChallenge, 'nonce' | 'codeVerifier'>

/** Two secrets of 256 random bits. */
export function newPkceState(): PkceState {
  const randomWord = () => randomBytes(32).toString('base64url')
  return { nonce: randomWord(), codeVerifier: randomWord() }
}

export function sealFor(deps: Deps, stateHash: string, value: PkceState | SsoProfile): string {
  return deps.secretBox.seal(JSON.stringify(value), contextOf(stateHash))
}

export function openFor<T extends PkceState | SsoProfile>(deps: Deps, stateHash: string, box: string): T {
  return JSON.parse(deps.secretBox.open(box, contextOf(stateHash)))
}

function contextOf(stateHash: string): string {
  return `sso_logins/${stateHash}`
}

/** Whether the client that brings the verifier is the one that sent the challenge (PKCE, S256). */
export function isVerifierOf(verifier: string, challenge: string): boolean {
  const digest = createHash('sha256').update(verifier).digest('base64url')
  return timingSafeEqual(Buffer.from(digest), Buffer.from(challenge))
}
