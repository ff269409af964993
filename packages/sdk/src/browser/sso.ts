import { BrowserAuthError } from './errors.ts'
import { clearAnswer, ownUrl } from './own-address.ts'
import { challengeOf, randomWord } from './pkce.ts'
import type { Platform, TokenStorage } from './platform.ts'
import type { SignedIn, TwoFactorRequired } from './results.ts'
import { unreachable } from './service-client.ts'
import { readSsoAnswer, type SsoAnswer } from './sso-answer.ts'

export interface SsoStartOptions {
  /**
   * Where the user comes back to: a page of this origin, listed in the app's `allowed_redirect_urls` (default this page, without
   * query and fragment).
   */
  readonly redirectUrl?: string
  /** Where the user wanted to go: a path or http(s) URL of this origin. `finish` returns it. */
  readonly returnTo?: string
}

export interface SsoLinkOptions extends SsoStartOptions {
  /** Needed if the last login is more than ten minutes ago: without it, the service refuses with `fresh_login_required`. */
  readonly password?: string
  /** Needed then too, if a second factor is active. */
  readonly twoFactorCode?: string
}

/** The account at the provider is now one more way to sign in. */
export interface Linked {
  readonly status: 'linked'
  readonly provider: string
}

/** The result of `finish`. */
export type SsoResult = (SignedIn | TwoFactorRequired | Linked) & {
  /** The `returnTo` of `start` or `link`, as a URL of this origin. */
  readonly returnTo: string | undefined
}

/** Third-party login. Each call throws `BrowserAuthError`. */
export interface BrowserSso {
  /** Leaves this page for the provider's. Throws `config_invalid` if a URL is not of this origin. */
  start(provider: string, options?: SsoStartOptions): Promise<void>
  /**
   * Leaves this page for the provider's, to link the account there to the user who is signed in: after `link_required`, or from a
   * settings page. Throws `fresh_login_required`, `signed_out`, and other refusals of the service.
   */
  link(provider: string, options?: SsoLinkOptions): Promise<void>
  /**
   * Completes what `start` or `link` began in this tab, from the answer in `url` (default the page's address). Returns undefined
   * if `url` has no answer of a provider, so you may call it on every load. Called again for the same answer, it returns the same
   * result. Removes the answer from the address bar. Throws `sso_state_mismatch`, `sso_denied`, `sso_failed`, and refusals of the
   * service.
   */
  finish(url?: string): Promise<SsoResult | undefined>
}

/** What a tab keeps while the user is at the provider. */
interface Begun {
  readonly state: string
  readonly verifier: string
  readonly returnTo: string | undefined
  readonly isLink?: boolean
}

interface Calls {
  openSession(path: string, body: object): Promise<SignedIn | TwoFactorRequired>
  /** With the token of the user who is signed in. */
  callAsUser(path: string, body: object): Promise<unknown>
}

/** Third-party login: authorization code with PKCE, S256. */
export class Sso implements BrowserSso {
  readonly #platform: Platform
  readonly #baseUrl: string
  readonly #appCode: string
  readonly #key: string
  readonly #calls: Calls
  #finishing: { state: string; result: Promise<SsoResult> } | undefined

  constructor(platform: Platform, { baseUrl, appCode }: { baseUrl: string; appCode: string }, calls: Calls) {
    this.#platform = platform
    this.#baseUrl = baseUrl
    this.#appCode = appCode
    this.#key = `gatehouse:sso:${appCode}`
    this.#calls = calls
  }

  async start(provider: string, options: SsoStartOptions = {}): Promise<void> {
    const { begun, request } = await this.#begin(options)
    const query = new URLSearchParams({ app_code: this.#appCode, ...request })
    this.#leave(`${this.#baseUrl}/auth/sso/${encodeURIComponent(provider)}/start?${query}`, begun)
  }

  async link(provider: string, { password, twoFactorCode, ...options }: SsoLinkOptions = {}): Promise<void> {
    const { begun, request } = await this.#begin(options)
    const body = { provider, ...request, password, two_factor_code: twoFactorCode }
    const { location }: { location?: unknown } = Object(await this.#calls.callAsUser('/auth/identities/link', body))
    // `javascript:` would run in this page.
    if (typeof location !== 'string' || !/^https?:/i.test(location)) throw unreachable()
    this.#leave(location, { ...begun, isLink: true })
  }

  /** Returns what this tab keeps, and what it tells the service. */
  async #begin({ redirectUrl, returnTo }: SsoStartOptions): Promise<{ begun: Begun; request: Record<string, string> }> {
    const here = this.#platform.location?.href.split(/[?#]/)[0]
    const begun: Begun = {
      state: randomWord(),
      verifier: randomWord(),
      returnTo: returnTo === undefined ? undefined : ownUrl(this.#platform, 'returnTo', returnTo),
    }
    const request = {
      redirect_url: ownUrl(this.#platform, 'redirectUrl', redirectUrl ?? here ?? ''),
      code_challenge: await challengeOf(begun.verifier),
      state: begun.state,
    }
    return { begun, request }
  }

  #leave(url: string, begun: Begun): void {
    this.#tabStorage().setItem(this.#key, JSON.stringify(begun))
    this.#platform.location?.assign(url)
  }

  async finish(url = this.#platform.location?.href ?? ''): Promise<SsoResult | undefined> {
    const answer = readSsoAnswer(url)
    if (!answer) return undefined
    // Pages call this twice, from effects that run twice. The code is good for only one exchange.
    if (this.#finishing?.state !== answer.state) this.#finishing = { state: answer.state, result: this.#exchange(answer, url) }
    return this.#finishing.result
  }

  async #exchange({ state, code, error }: SsoAnswer, url: string): Promise<SsoResult> {
    let isOver = true
    try {
      const begun = this.#takeBegun(state)
      if (!code) throw endedBy(error)
      const result = await this.#redeem(begun, code).catch((error: unknown) => {
        isOver = !(BrowserAuthError.is(error) && error.retryable)
        // The code may still be good then, so the same answer can be tried again.
        if (!isOver) this.#putBack(begun)
        throw error
      })
      return { ...result, returnTo: begun.returnTo }
    } finally {
      if (isOver) clearAnswer(this.#platform, url)
    }
  }

  async #redeem({ verifier, isLink }: Begun, code: string): Promise<SignedIn | TwoFactorRequired | Linked> {
    const body = { code, code_verifier: verifier }
    if (!isLink) return this.#calls.openSession('/auth/sso/token', body)
    const { provider }: { provider?: unknown } = Object(await this.#calls.callAsUser('/auth/sso/token', body))
    if (typeof provider !== 'string') throw unreachable()
    return { status: 'linked', provider }
  }

  #putBack(begun: Begun): void {
    this.#tabStorage().setItem(this.#key, JSON.stringify(begun))
    this.#finishing = undefined
  }

  /** Returns what this tab began under that state, and forgets it, so an answer that comes twice finds nothing. */
  #takeBegun(state: string): Begun {
    const storage = this.#tabStorage()
    const begun: Partial<Begun> | null = JSON.parse(storage.getItem(this.#key) ?? 'null')
    if (begun?.state !== state || begun.verifier === undefined)
      throw new BrowserAuthError('sso_state_mismatch', 'This login was not started in this tab, or has already ended')
    storage.removeItem(this.#key)
    return { returnTo: undefined, ...begun, state, verifier: begun.verifier }
  }

  #tabStorage(): TokenStorage {
    const { sessionStorage } = this.#platform
    if (!sessionStorage) throw new BrowserAuthError('config_invalid', 'Third-party login needs sessionStorage')
    return sessionStorage
  }
}

function endedBy(error: string | undefined): BrowserAuthError {
  if (error === 'access_denied') return new BrowserAuthError('sso_denied', 'The provider did not log the user in')
  return new BrowserAuthError('sso_failed', 'The login at the provider failed')
}
