import { createHash, timingSafeEqual } from 'node:crypto'
import type { ProviderChallenge, SignInAtProvider } from '../../adapters/provider-clients.ts'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { KeptProof } from '../../lib/proof.ts'
import { ProviderFault } from '../../lib/provider-fault.ts'
import { hashOpaqueToken, newOpaqueToken, randomText, TOKEN_PREFIXES } from '../../lib/random.ts'
import { App } from '../../models/app.ts'
import { SsoLogin, type SsoLoginRow } from '../../models/sso-login.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import {
  assertServesApp,
  callbackUrlOf,
  findEnabledProvider,
  findKeptProvider,
  providerClientOf,
} from '../../resources/sso-providers/sso-providers.ts'

const retryAfterSeconds = 10

interface Begun {
  provider: SsoProvider
  app: Pick<App, 'id'>
  /** The session, of an app or of a browser, whose user is to be linked. None for a login. */
  sessionId?: string
  /** On our own pages: the browser, and what to go on with. */
  page?: { browserHash: string; requestField: string }
  fresh?: Pick<SignInAtProvider, 'prompt' | 'maxAgeSeconds'>
}

/** Where the provider's answer goes, and whose it is. */
interface Client {
  redirect_url: string
  state: string
  code_challenge: string
}

/**
 * Stores a pending login, or with a session id a pending link. Returns where the browser goes. Throws `unavailable` while the
 * provider cannot be reached.
 */
export async function beginAtProvider(
  deps: Deps<Pool>,
  { provider, app, sessionId, page, fresh }: Begun,
  client: Client,
): Promise<string> {
  const state = newOpaqueToken(TOKEN_PREFIXES.ssoState)
  const challenge = newPkceState()
  const target = { redirectUri: callbackUrlOf(deps.config.publicUrl, provider.code), scopes: provider.scopes, ...fresh }
  const providerClients = await deps.providerClients()
  const url = await providerClients
    .authorizationUrl(providerClientOf(deps, provider), { state, ...challenge }, target)
    .catch((fault: unknown) => {
      if (!(fault instanceof ProviderFault)) throw fault
      deps.logger.warn({ provider: provider.code, reason: fault.message }, 'provider cannot be reached')
      const detail = 'The provider cannot be reached'
      throw new ApiError('unavailable', { detail, retryAfter: retryAfterSeconds, cause: fault })
    })
  const now = deps.clock()
  const stateHash = hashOpaqueToken(state)
  await SsoLogin.query(deps.db).insert({
    state_hash: stateHash,
    provider_id: provider.id,
    app_id: app.id,
    session_id: sessionId ?? null,
    issuer: provider.issuer,
    redirect_url: client.redirect_url,
    client_state: client.state,
    code_challenge: client.code_challenge,
    browser_hash: page?.browserHash ?? null,
    request_field: page?.requestField ?? null,
    challenge_box: sealFor(deps, stateHash, challenge),
    created_at: now,
    expires_at: now + answerWithinMs,
  })
  return url
}

/** How long a user may take at the provider. */
const answerWithinMs = 10 * 60 * 1_000
/** How long a code is valid: long enough to look for a two-factor code. */
export const codeLifeMs = 5 * 60 * 1_000

/** The user as the provider describes them, in our terms. */
export interface SsoProfile {
  subject: string
  /** Normalized. Null if the provider sent no valid address. */
  email: string | null
  /** As the provider asserts it. `isTrustedAddress` decides whether that counts. */
  emailVerified: boolean
  /** The domain in `hd`, normalized; null when there was none. */
  hostedDomain: string | null
  firstName: string | null
  lastName: string | null
  /** When the user signed in at the provider, in milliseconds. Null if it did not say. */
  signedInAt: number | null
}

/** A login that the provider has answered. */
interface AnsweredLogin {
  login: KeptProof<SsoLoginRow>
  profile: SsoProfile
}

/** An answered login that is about to be used, and what it is for. */
export interface Exchange extends AnsweredLogin {
  app: App
}

/**
 * The login that a valid code stands for, if the caller holds its verifier. A wrong verifier does not spend the code: it cannot
 * be guessed, and otherwise anybody who saw the code could spoil the login. Throws `invalid_sso_code`, whatever is wrong.
 */
export async function getAnsweredLogin(deps: Deps, code: string, codeVerifier: string): Promise<AnsweredLogin> {
  const found = await SsoLogin.findByCode(deps.db, hashOpaqueToken(code), deps.clock())
  if (!found || found.browser_hash !== null || !isVerifierOf(codeVerifier, found.code_challenge)) throw invalidCode()
  return opened(deps, found)
}

/**
 * The login that a code stands for, in the browser that began it on our own page, for the app that it began for. With `sessionId`
 * it is the link of the person of that browser session, and no login. Throws `invalid_sso_code`.
 */
export async function getAnsweredInBrowser(
  deps: Deps,
  code: string,
  { browserHash, appId, sessionId = null }: { browserHash: string; appId: string; sessionId?: string | null },
): Promise<AnsweredLogin> {
  const found = await SsoLogin.findByCode(deps.db, hashOpaqueToken(code), deps.clock())
  const isOwn = found?.browser_hash === browserHash && found.app_id === appId && found.session_id === sessionId
  if (!found || !isOwn) throw invalidCode()
  return opened(deps, found)
}

function opened(deps: Deps, { claims_box, ...login }: KeptProof<SsoLoginRow & { claims_box: string }>): AnsweredLogin {
  return { login, profile: openFor(deps, login.state_hash, claims_box) }
}

/**
 * Spends the code in the same transaction as what it is exchanged for. Of several concurrent uses, only one succeeds. Throws
 * `invalid_sso_code`.
 */
export async function spendCode(deps: Deps<Tx>, { app_id, state_hash }: KeptProof<SsoLoginRow>): Promise<void> {
  if (!(await App.keep(deps.db, app_id)) || !(await SsoLogin.spend(deps.db, state_hash, deps.clock()))) throw invalidCode()
}

export function invalidCode(): ApiError {
  return new ApiError('invalid_sso_code', {
    detail: 'The code is unknown, expired or used, or the verifier or the session does not belong to it',
  })
}

/**
 * The provider of a login. Throws `sso_provider_disabled`, `auth_method_not_allowed` if it no longer serves the app, and
 * `invalid_sso_code` if it is gone or its issuer has changed.
 */
export async function getProviderOf(deps: Deps, exchange: Exchange): Promise<SsoProvider> {
  return serving(await findEnabledProvider(deps, exchange.login.provider_id), exchange)
}

/** Like `getProviderOf`, but also keeps the provider unchanged until the transaction ends. */
export async function keepProviderOf(deps: Deps<Tx>, exchange: Exchange): Promise<SsoProvider> {
  return serving(await findKeptProvider(deps, exchange.login.provider_id), exchange)
}

function serving(provider: SsoProvider | undefined, { login, app }: Exchange): SsoProvider {
  if (provider?.issuer !== login.issuer) throw invalidCode()
  assertServesApp(provider, app)
  return provider
}

/**
 * Locks the subject and then the address until the transaction ends, so that no other request links the one or registers the
 * other meanwhile. Callers without a subject lock only the address, which keeps this order.
 */
export async function lockSubject(deps: Deps<Tx>, { login, profile }: AnsweredLogin): Promise<void> {
  await lockUntilCommit(deps.db, 'identity', `${login.provider_id}:${profile.subject}`)
  if (profile.email !== null) await lockUntilCommit(deps.db, 'email', profile.email)
}

/** What a login keeps sealed in its row until the provider answers. */
export type PkceState = Pick<ProviderChallenge, 'nonce' | 'codeVerifier'>

/** Two secrets of 256 random bits. */
function newPkceState(): PkceState {
  const randomWord = () => randomText(32)
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
function isVerifierOf(verifier: string, challenge: string): boolean {
  const digest = createHash('sha256').update(verifier).digest('base64url')
  return timingSafeEqual(Buffer.from(digest), Buffer.from(challenge))
}
