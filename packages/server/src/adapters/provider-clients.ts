import * as openid from 'openid-client'
import { Agent, fetch, type RequestInit } from 'undici'
import { ProviderFault } from '../lib/provider-fault.ts'
import { guardedConnector, resolveOnce } from './guarded-dial.ts'

const requestTimeoutMs = 5_000
const maxAnswerBytes = 512 * 1024
const metadataFreshMs = 10 * 60 * 1_000
/** How long an old provider description is used while a newer one cannot be read. */
const metadataKeptMs = 24 * 60 * 60 * 1_000
/** Cached keys are passed with this age: openid-client uses them, and reads them again if a token names an unknown key. */
const keysAgeSeconds = 61

/** This service as a client of one provider. */
export interface ProviderClient {
  issuer: string
  clientId: string
  clientSecret: string
}

/** What a login sent to the provider. The answer must match it. */
export interface ProviderChallenge {
  state: string
  nonce: string
  codeVerifier: string
}

/** What a browser is to do at the provider. */
export interface SignInAtProvider {
  redirectUri: string
  scopes: readonly string[]
  /** `login` asks the provider not to rely on an earlier sign-in there. */
  prompt?: 'login' | undefined
  /** How old a sign-in there may be. With it, the ID token has to say when that was (OpenID Connect Core 3.1.2.1). */
  maxAgeSeconds?: number | undefined
}

/** The identity that the provider asserts. */
export interface ProviderClaims {
  subject: string
  /** As the provider wrote it. */
  email: string | undefined
  emailVerified: boolean
  /** Google's `hd`: the domain of the organization that the account belongs to, as the provider wrote it. */
  hostedDomain: string | undefined
  givenName: string | undefined
  familyName: string | undefined
  /** When the user signed in at the provider, in seconds. */
  authTime: number | undefined
}

interface Described {
  metadata: openid.ServerMetadata
  readAt: number
}

interface Options {
  /** Whether providers may be reached by http. */
  allowHttp: boolean
  /** Whether this host, of a provider or of what it refers to, may be at a private address or on this machine. */
  mayBePrivate: (host: string) => boolean
  /** Unix milliseconds. */
  clock: () => number
  /** For one request to a provider. */
  timeoutMs?: number
}

/**
 * Logins at OpenID Connect providers (OpenID Connect Core, PKCE S256). It caches descriptions and keys of providers, so a login
 * makes only the requests that it needs. A provider that hangs delays only its own logins, by at most `timeoutMs` for each
 * request.
 */
export class ProviderClients {
  readonly #options: Required<Options>
  readonly #fetch: openid.CustomFetch
  readonly #described = new Map<string, Described>()
  readonly #reading = new Map<string, Promise<Described>>()
  readonly #keys = new Map<string, openid.JWKS>()

  constructor({ timeoutMs = requestTimeoutMs, ...options }: Options) {
    this.#options = { timeoutMs, ...options }
    const { mayBePrivate } = options
    const connect = guardedConnector({ mayBePrivate, setting: 'AUTH_SSO_PRIVATE_HOSTS', timeoutMs, resolve: resolveOnce })
    this.#fetch = boundedFetch(new Agent({ connect }))
  }

  /** Where a browser goes to sign in. Throws ProviderFault. */
  async authorizationUrl(
    client: ProviderClient,
    { state, nonce, codeVerifier }: ProviderChallenge,
    { redirectUri, scopes, prompt, maxAgeSeconds }: SignInAtProvider,
  ): Promise<string> {
    const config = await this.#configure(client)
    try {
      const parameters = {
        redirect_uri: redirectUri,
        scope: scopes.join(' '),
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(prompt && { prompt }),
        ...(maxAgeSeconds === undefined ? {} : { max_age: String(maxAgeSeconds) }),
      }
      return openid.buildAuthorizationUrl(config, parameters).href
    } catch (error) {
      throw faultOf(error)
    }
  }

  /**
   * Redeems the answer that a browser brought back (`callbackUrl` with its query). Checks state and `iss`, and the signature,
   * issuer, audience, times and nonce of the ID token. Asks the userinfo endpoint if the ID token has no e-mail. Throws
   * ProviderFault.
   */
  async redeem(
    client: ProviderClient,
    callbackUrl: URL,
    { state, nonce, codeVerifier }: ProviderChallenge,
  ): Promise<ProviderClaims> {
    const config = await this.#configure(client)
    try {
      const answer = await openid.authorizationCodeGrant(config, callbackUrl, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      })
      const keys = openid.getJwksCache(config)
      if (keys) this.#keys.set(client.issuer, keys.jwks)
      const claims = answer.claims()
      if (!claims) throw new Error('the response from the provider has no ID token')
      const asks = claims.email === undefined && config.serverMetadata().userinfo_endpoint !== undefined
      const more = asks ? await openid.fetchUserInfo(config, answer.access_token, claims.sub) : claims
      return { ...readClaims(claims.sub, more), authTime: claims.auth_time }
    } catch (error) {
      throw faultOf(error)
    }
  }

  async #configure(client: ProviderClient): Promise<openid.Configuration> {
    const { metadata } = await this.#describe(client.issuer)
    const config = new openid.Configuration(metadata, client.clientId, {}, authenticationOf(metadata, client.clientSecret))
    config[openid.customFetch] = this.#fetch
    config.timeout = this.#options.timeoutMs / 1000
    if (this.#options.allowHttp) openid.allowInsecureRequests(config)
    openid.enableNonRepudiationChecks(config)
    const jwks = this.#keys.get(client.issuer)
    if (jwks) openid.setJwksCache(config, { jwks, uat: Math.floor(Date.now() / 1000) - keysAgeSeconds })
    return config
  }

  /** The description of an issuer. Concurrent calls share one request. */
  async #describe(issuer: string): Promise<Described> {
    const known = this.#described.get(issuer)
    const ageMs = known ? this.#options.clock() - known.readAt : Number.POSITIVE_INFINITY
    if (known && ageMs < metadataFreshMs) return known
    let reading = this.#reading.get(issuer)
    if (!reading) {
      reading = this.#discover(issuer).finally(() => this.#reading.delete(issuer))
      this.#reading.set(issuer, reading)
    }
    return reading.catch((error: unknown) => {
      if (known && ageMs < metadataKeptMs) return known
      throw faultOf(error)
    })
  }

  async #discover(issuer: string): Promise<Described> {
    const { allowHttp, clock, timeoutMs } = this.#options
    const config = await openid.discovery(new URL(issuer), 'discovery', undefined, undefined, {
      [openid.customFetch]: this.#fetch,
      timeout: timeoutMs / 1000,
      execute: allowHttp ? [openid.allowInsecureRequests] : [],
    })
    // A plain copy, without the exceptions that the library makes for some providers: tokens must name exactly this issuer.
    const metadata: openid.ServerMetadata = JSON.parse(JSON.stringify(config.serverMetadata()))
    if (new URL(metadata.issuer).href !== new URL(issuer).href) throw new Error('the provider describes another issuer')
    const described = { metadata, readAt: clock() }
    this.#described.set(issuer, described)
    return described
  }
}

/** Uses the standard method of OpenID Connect unless the provider takes only the other one. */
function authenticationOf({ token_endpoint_auth_methods_supported: methods }: openid.ServerMetadata, secret: string) {
  const takesBasic = methods === undefined || methods.includes('client_secret_basic')
  return takesBasic ? openid.ClientSecretBasic(secret) : openid.ClientSecretPost(secret)
}

/** A fetch that dials through the agent. It reads the answer up to a limit, within the time limit of the request. */
function boundedFetch(dispatcher: Agent): openid.CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, { ...options, redirect: 'manual', dispatcher } as RequestInit)
    const chunks: Uint8Array[] = []
    let size = 0
    const body: ReadableStream<Uint8Array> | null = response.body
    for await (const chunk of body ?? []) {
      size += chunk.length
      if (size > maxAnswerBytes) throw new Error('the response from the provider is too long')
      chunks.push(chunk)
    }
    const { status, headers } = response
    const hasBody = status !== 204 && status !== 304
    return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers: [...headers] })
  }
}

/** Takes the address and `email_verified` from the same source, so that an unverified address never counts as verified. */
function readClaims(subject: string, claims: openid.UserInfoResponse | openid.IDToken): Omit<ProviderClaims, 'authTime'> {
  return {
    subject,
    email: textOf(claims.email),
    emailVerified: isTrue(claims.email_verified),
    hostedDomain: textOf(claims.hd),
    givenName: textOf(claims.given_name),
    familyName: textOf(claims.family_name),
  }
}

/** Some providers send `email_verified` as text. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim.trim() !== '' ? claim.trim() : undefined
}

function faultOf(error: unknown): ProviderFault {
  if (error instanceof ProviderFault) return error
  if (error instanceof openid.AuthorizationResponseError) return new ProviderFault('denied', error, error.error)
  return new ProviderFault(isUnreachable(error) ? 'unreachable' : 'refused', error)
}

function isUnreachable(error: unknown): boolean {
  // fetch throws this if there was no answer.
  if (error instanceof TypeError && error.message === 'fetch failed') return true
  if (error instanceof openid.ResponseBodyError) return error.status >= 500
  if (!(error instanceof openid.ClientError)) return false
  if (error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_ABORT') return true
  return error.cause instanceof Response && error.cause.status >= 500
}
