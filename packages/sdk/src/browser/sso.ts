import { BrowserAuthError } from './errors.ts'
import { challengeOf, randomWord } from './pkce.ts'
import type { Platform, TokenStorage } from './platform.ts'
import type { LoginResult } from './results.ts'
import { unreachable } from './service-client.ts'
import { readSsoAnswer, type SsoAnswer } from './sso-answer.ts'

export interface SsoStartOptions {
  /**
   * Where the provider's answer comes back to: a page of this origin, listed in the app's `allowed_redirect_urls`
   * (default: this page, without query and fragment).
   */
  readonly redirectUrl?: string
  /** Where the user wanted to go; `finish` hands it back. A path or URL of this origin. */
  readonly returnTo?: string
}

export interface SsoLinkOptions extends SsoStartOptions {
  /** Needed when the last login is more than ten minutes ago: the service then refuses with `fresh_login_required`. */
  readonly password?: string
  /** The same, where a second factor is active. */
  readonly twoFactorCode?: string
}

/** The account at the provider is now one more way to log in. */
export interface Linked {
  readonly status: 'linked'
  readonly provider: string
}

/** What `finish` made of the page's address. */
export type SsoResult = (LoginResult | Linked) & {
  /** What `start` or `link` was given: a URL of this origin. */
  readonly returnTo: string | undefined
}

export interface BrowserSso {
  /** Leaves the page for the provider's. */
  start(provider: string, options?: SsoStartOptions): Promise<void>
  /**
   * Leaves the page for the provider's, to link the account there with that of the user who is signed in: after `link_required`, or
   * from a page of settings. Throws `fresh_login_required`, `signed_out`, and what else the service refuses with.
   */
  link(provider: string, options?: SsoLinkOptions): Promise<void>
  /**
   * Ends what `start` or `link` began in this tab; `url` is the page's address unless told. Undefined when that is no answer of a
   * provider, so it may be called on every load. Called again for the same answer, it gives the same result. The answer is
   * taken out of the address bar. Throws `sso_state_mismatch`, `sso_denied`, `sso_failed`, and what the service refuses with.
   */
  finish(url?: string): Promise<SsoResult | undefined>
}

/** What a tab keeps while the user is at the provider's. */
interface Begun {
  readonly state: string
  readonly verifier: string
  readonly returnTo: string | undefined
  readonly isLink?: boolean
}

interface Calls {
  openSession(path: string, body: object): Promise<LoginResult>
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
    if (typeof location !== 'string') throw unreachable()
    this.#leave(location, { ...begun, isLink: true })
  }

  /** What this tab keeps, and what the service is told of it. */
  async #begin({ redirectUrl, returnTo }: SsoStartOptions): Promise<{ begun: Begun; request: Record<string, string> }> {
    const { location } = this.#platform
    if (!location) throw new BrowserAuthError('config_invalid', 'Third-party login needs a page')
    const begun: Begun = {
      state: randomWord(),
      verifier: randomWord(),
      returnTo: returnTo === undefined ? undefined : this.#ownUrl('returnTo', returnTo),
    }
    const request = {
      redirect_url: redirectUrl === undefined ? location.href.split(/[?#]/)[0]! : this.#ownUrl('redirectUrl', redirectUrl),
      code_challenge: await challengeOf(begun.verifier),
      state: begun.state,
    }
    return { begun, request }
  }

  #leave(url: string, begun: Begun): void {
    this.#tabStorage().setItem(this.#key, JSON.stringify(begun))
    this.#platform.location!.assign(url)
  }

  async finish(url = this.#platform.location?.href ?? ''): Promise<SsoResult | undefined> {
    const answer = readSsoAnswer(url)
    if (!answer) return undefined
    // Pages call this twice, from effects that run twice; the code is good for one exchange.
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
        // Nothing is known of the code then, so the same answer may be brought again.
        if (!isOver) this.#putBack(begun)
        throw error
      })
      return { ...result, returnTo: begun.returnTo }
    } finally {
      if (isOver) this.#clearAddress(url)
    }
  }

  async #redeem({ verifier, isLink }: Begun, code: string): Promise<LoginResult | Linked> {
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

  /** What this tab began under that state; it is forgotten, so an answer that comes twice finds nothing. */
  #takeBegun(state: string): Begun {
    const storage = this.#tabStorage()
    const begun: Partial<Begun> | null = JSON.parse(storage.getItem(this.#key) ?? 'null')
    if (begun?.state !== state || begun.verifier === undefined)
      throw new BrowserAuthError('sso_state_mismatch', 'This login was not begun in this tab, or has been ended already')
    storage.removeItem(this.#key)
    return begun as Begun
  }

  #tabStorage(): TokenStorage {
    const { sessionStorage } = this.#platform
    if (!sessionStorage) throw new BrowserAuthError('config_invalid', 'Third-party login needs sessionStorage')
    return sessionStorage
  }

  /** Anywhere else the answer would be of no use to this page, and a link could send the user there. */
  #ownUrl(name: string, value: string): string {
    const { href, origin } = this.#platform.location!
    if (URL.canParse(value, href)) {
      const url = new URL(value, href)
      if (url.origin === origin) return url.href
    }
    throw new BrowserAuthError('config_invalid', `${name} must be a URL of ${origin}`)
  }

  /** A code in the address bar would be bookmarked, shared, and sent along as the referrer. */
  #clearAddress(url: string): void {
    const { location, history } = this.#platform
    if (!history || location?.href !== url) return
    const cleared = new URL(url)
    for (const name of ['code', 'state', 'error', 'error_description']) cleared.searchParams.delete(name)
    history.replaceState(history.state, '', cleared.href)
  }
}

function endedBy(error: string | undefined): BrowserAuthError {
  if (error === 'access_denied') return new BrowserAuthError('sso_denied', 'The provider did not log the user in')
  return new BrowserAuthError('sso_failed', 'The login at the provider failed')
}
