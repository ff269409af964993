import type { Config } from '../config.ts'
import { AuthError, refused } from '../errors.ts'

export type Settings = Pick<Config, 'authUrl' | 'appCode' | 'serviceToken' | 'fetch' | 'now' | 'warn' | 'check'>

/** The tokens of a session, as they are kept in its cookie. */
export interface Tokens {
  readonly access: string
  readonly refresh: string
  /** When to renew the access token, in milliseconds since 1970: a little before it expires. */
  readonly renewAt: number
}

/** Where the sign-in page is, as the service says: browsers may reach it at another address than this app does. */
export interface Metadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly end_session_endpoint: string
}

/** The issuer is not checked here: an answer that names another is refused. */
function isMetadata(value: { readonly [Name in keyof Metadata]?: unknown }): value is Metadata {
  return [value.authorization_endpoint, value.end_session_endpoint].every((url) => /^https?:/.test(`${url}`))
}

/** Shorter than the time in which the service answers a lost refresh again. */
const TIMEOUT_MS = 4_000
const TRIES = 2
const LONGEST_MARGIN_MS = 30_000
/** How long tokens are kept for requests that still carry the previous cookie. */
const KEPT_MS = 60_000
const MAX_KEPT = 1_000

/** The calls to the service. They throw `SERVICE_UNREACHABLE`, or `SERVICE_REJECTED` with the service's code as the hint. */
export class TokenEndpoint {
  readonly #settings: Settings
  readonly #kept = new Map<string, { readonly until: number; readonly tokens: Promise<Tokens> }>()
  /** What `#kept` holds for a session that was signed out here. */
  readonly #signedOut: Promise<Tokens> = Promise.reject(refused('SERVICE_REJECTED', 'signed_out'))
  #metadata: Promise<Metadata> | undefined

  constructor(settings: Settings) {
    this.#settings = settings
    this.#signedOut.catch(() => {})
  }

  metadata(): Promise<Metadata> {
    this.#metadata ??= this.#read().catch((error: unknown) => {
      this.#metadata = undefined
      throw error
    })
    return this.#metadata
  }

  /**
   * Exchanges a code, once, however often the browser sends it, as when the user reloads: a code that comes twice ends the session.
   * For the same reason, it is not tried again.
   */
  exchange(code: string, redirectUrl: string, verifier: string): Promise<Tokens> {
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUrl, code_verifier: verifier }
    return this.#once(`${code} ${verifier}`, () => this.#grant(grant))
  }

  /**
   * Renews the tokens of a session once, however many requests ask: those that come later with the same cookie, as a browser sends
   * them in parallel, get the same tokens. Another server gets them from the service, within its leeway.
   */
  async renew(refresh: string): Promise<Tokens> {
    const tokens = await this.#once(refresh, () => this.#grant({ grant_type: 'refresh_token', refresh_token: refresh }, TRIES))
    // Rejects if the user has signed out in the meantime.
    return this.#kept.get(refresh)?.tokens ?? tokens
  }

  /** Ends the session of a refresh token. A request that is on its way with this cookie does not bring it back. */
  async end(refresh: string): Promise<void> {
    const renewal = this.#kept.get(refresh)?.tokens
    this.#kept.delete(refresh)
    this.#once(refresh, () => this.#signedOut).catch(() => {})
    const renewed = await renewal?.catch(() => undefined)
    await this.#post('/oauth/revoke', { token: renewed?.refresh ?? refresh })
  }

  /** Whether the session of a refresh token was signed out on this server in the last minute. */
  hasEnded(refresh: string): boolean {
    return this.#kept.get(refresh)?.tokens === this.#signedOut
  }

  #once(key: string, ask: () => Promise<Tokens>): Promise<Tokens> {
    const now = this.#settings.now()
    // The oldest come first.
    for (const [old, { until }] of this.#kept)
      if (until <= now || this.#kept.size > MAX_KEPT) this.#kept.delete(old)
      else break
    const known = this.#kept.get(key)
    if (known) return known.tokens
    const tokens = ask()
    this.#kept.set(key, { until: now + KEPT_MS, tokens })
    tokens.catch((error: unknown) => {
      if (isUnreachable(error)) this.#kept.delete(key)
    })
    return tokens
  }

  async #grant(grant: Record<string, string>, tries = 1): Promise<Tokens> {
    const sentAt = this.#settings.now()
    const answer = await this.#post('/oauth/token', grant).catch((error: unknown) => {
      if (tries > 1 && isUnreachable(error)) return undefined
      throw error
    })
    if (answer === undefined) return this.#grant(grant, tries - 1)
    const { access_token: access, refresh_token: refresh, expires_in } = answer
    if (typeof access !== 'string' || typeof refresh !== 'string') throw refused('SERVICE_UNREACHABLE', 'no tokens')
    const lifeMs = Number(expires_in) * 1000
    return { access, refresh, renewAt: sentAt + lifeMs - Math.min(LONGEST_MARGIN_MS, lifeMs / 10) }
  }

  async #read(): Promise<Metadata> {
    const found = await this.#call('/.well-known/oauth-authorization-server', {})
    if (!isMetadata(found)) throw refused('SERVICE_UNREACHABLE', 'no sign-in page')
    return found
  }

  /** With a service account, so that the limit per address, which all users of this app share, does not count it. */
  #post(path: string, body: Record<string, string>): Promise<Record<string, unknown>> {
    const { appCode, serviceToken } = this.#settings
    const form = new URLSearchParams({ ...body, client_id: appCode, app_code: appCode })
    return this.#call(path, {
      method: 'POST',
      body: form,
      ...(serviceToken && { headers: { authorization: `Bearer ${serviceToken}` } }),
    })
  }

  async #call(path: string, init: RequestInit): Promise<Record<string, unknown>> {
    const { fetch, authUrl } = this.#settings
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    let response: Response
    let answer: unknown
    try {
      // A redirect would carry the token elsewhere.
      response = await fetch(`${authUrl!.slice(0, -'/api/v1'.length)}${path}`, { ...init, redirect: 'manual', signal })
      answer = await response.json().catch(() => undefined)
    } catch (error) {
      // Not the message, which may quote what was sent.
      const { name, cause } = Object(error)
      throw refused('SERVICE_UNREACHABLE', `no answer (${Object(cause).code ?? name})`)
    }
    const { status, ok } = response
    const answered: Record<string, unknown> = Object(answer)
    const { code, error } = answered
    if (ok && answer) return answered
    const reason = [code, error].find((word) => /^[a-z0-9_]{1,60}$/.test(`${word}`) && typeof word === 'string')
    const isFinal = reason && /^4(?!08|29)/.test(`${status}`)
    throw refused(isFinal ? 'SERVICE_REJECTED' : 'SERVICE_UNREACHABLE', `${reason ?? `HTTP ${status}`}`)
  }
}

/** Whether the same call may succeed later. */
export function isUnreachable(error: unknown): boolean {
  return AuthError.is(error, 'SERVICE_UNREACHABLE')
}
