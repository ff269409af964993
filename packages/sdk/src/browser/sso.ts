import { BrowserAuthError } from './errors.ts'
import { challengeOf, randomWord } from './pkce.ts'
import type { Platform, TokenStorage } from './platform.ts'
import type { LoginResult } from './results.ts'

export interface SsoStartOptions {
  /**
   * Where the provider's answer comes back to: a page of this origin, listed in the app's `allowed_redirect_urls`
   * (default: this page, without query and fragment).
   */
  readonly redirectUrl?: string
  /** Where the user wanted to go; `finish` hands it back. A path or URL of this origin. */
  readonly returnTo?: string
}

/** What `finish` made of the page's address. */
export type SsoResult = LoginResult & {
  /** What `start` was given: a URL of this origin. */
  readonly returnTo: string | undefined
}

export interface BrowserSso {
  /** Leaves the page for the provider's. */
  start(provider: string, options?: SsoStartOptions): Promise<void>
  /**
   * Ends a login that `start` began in this tab; `url` is the page's address unless told. Undefined when that is no answer of a
   * provider, so it may be called on every load. Called again for the same answer, it gives the same promise. The answer is
   * taken out of the address bar. Throws `sso_state_mismatch`, `sso_denied`, `sso_failed`, and what the service refuses with.
   */
  finish(url?: string): Promise<SsoResult | undefined>
}

/** What a tab keeps while the user is at the provider's. */
interface Begun {
  readonly state: string
  readonly verifier: string
  readonly returnTo: string | undefined
}

type OpenSession = (path: string, body: object) => Promise<LoginResult>

/** Third-party login: authorization code with PKCE, S256. */
export class Sso implements BrowserSso {
  readonly #platform: Platform
  readonly #baseUrl: string
  readonly #appCode: string
  readonly #key: string
  readonly #openSession: OpenSession
  #finishing: { state: string; result: Promise<SsoResult> } | undefined

  constructor(platform: Platform, { baseUrl, appCode }: { baseUrl: string; appCode: string }, openSession: OpenSession) {
    this.#platform = platform
    this.#baseUrl = baseUrl
    this.#appCode = appCode
    this.#key = `gatehouse:sso:${appCode}`
    this.#openSession = openSession
  }

  async start(provider: string, { redirectUrl, returnTo }: SsoStartOptions = {}): Promise<void> {
    const { location } = this.#platform
    if (!location) throw new BrowserAuthError('config_invalid', 'Third-party login needs a page')
    const begun: Begun = {
      state: randomWord(),
      verifier: randomWord(),
      returnTo: returnTo === undefined ? undefined : this.#ownUrl('returnTo', returnTo),
    }
    const query = new URLSearchParams({
      app_code: this.#appCode,
      redirect_url: redirectUrl === undefined ? location.href.split(/[?#]/)[0]! : this.#ownUrl('redirectUrl', redirectUrl),
      code_challenge: await challengeOf(begun.verifier),
      state: begun.state,
    })
    this.#tabStorage().setItem(this.#key, JSON.stringify(begun))
    location.assign(`${this.#baseUrl}/auth/sso/${encodeURIComponent(provider)}/start?${query}`)
  }

  async finish(url = this.#platform.location?.href ?? ''): Promise<SsoResult | undefined> {
    const answer = readAnswer(url)
    if (!answer) return undefined
    // Pages call this twice, from effects that run twice; the code is good for one exchange.
    if (this.#finishing?.state !== answer.state) this.#finishing = { state: answer.state, result: this.#exchange(answer, url) }
    return this.#finishing.result
  }

  async #exchange({ state, code, error }: Answer, url: string): Promise<SsoResult> {
    let isOver = true
    try {
      const begun = this.#takeBegun(state)
      if (!code) throw endedBy(error)
      const exchange = this.#openSession('/auth/sso/token', { code, code_verifier: begun.verifier })
      const result = await exchange.catch((error: unknown) => {
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

/** What a provider, by way of the service, adds to the address that the user comes back to: `code` or `error`. */
interface Answer {
  readonly state: string
  readonly code: string | undefined
  readonly error: string | undefined
}

function readAnswer(url: string): Answer | undefined {
  if (!URL.canParse(url)) return undefined
  const { state, code, error } = Object.fromEntries(new URL(url).searchParams)
  return state && (code || error) ? { state, code: error ? undefined : code, error } : undefined
}
