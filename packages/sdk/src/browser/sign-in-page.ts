import { BrowserAuthError } from './errors.ts'
import type { BrowserConfig } from './options.ts'
import { clearAnswer, ownUrl } from './own-address.ts'
import { challengeOf, randomWord } from './pkce.ts'
import type { BrowserStorage, Platform } from './platform.ts'
import { readJson, ServiceClient, unreachable } from './service-client.ts'
import type { Session as StoredSession } from './session.ts'
import { withTabLock } from './tab-lock.ts'

export interface SignInOptions {
  /**
   * Where the user wanted to go: a path of this origin, such as `/notes?page=2` (default this page, or `/` on the page of
   * `redirectUrl`). `handleRedirect` returns it.
   */
  readonly returnTo?: string
  /**
   * `login` asks the user to sign in even if they are signed in already, `create` offers to create an account first. `none` shows
   * nothing: if the user cannot enter at once, `handleRedirect` throws `login_required` or `interaction_required`.
   */
  readonly prompt?: 'none' | 'login' | 'create'
  /** The code of a third-party provider to go to at once. */
  readonly provider?: string
  /** The way of signing in to show first. The code of a provider leads there at once. */
  readonly method?: 'password' | 'email_code' | 'magic_link' | 'passkey' | (string & {})
  /** The organization whose roles the session uses. */
  readonly organizationId?: string
  /** The user has to sign in again if they last did so longer ago, in seconds. */
  readonly maxAgeSec?: number
  /** `mfa`: the user has to show two factors, or a passkey; with `maxAgeSec`, both within that time. */
  readonly amr?: 'mfa'
}

export interface StepUpOptions {
  /** Where the user wanted to go (default this page): a path of this origin, which `handleRedirect` returns. */
  readonly returnTo?: string
}

export interface SignOutOptions {
  /**
   * Also signs the user out at the service in this browser, so that no app lets them in without signing in. This leaves the page;
   * the user comes back to `redirectUrl`.
   */
  readonly browser?: boolean
  /** With `browser`, the path that `handleRedirect` then returns (default this page, or `/` on the page of `redirectUrl`). */
  readonly returnTo?: string
}

/** The result of `handleRedirect`. */
export interface Returned {
  /** A path of this origin: the `returnTo` of `signIn` or `signOut`. */
  readonly returnTo: string
}

/** What this browser keeps for each `state` while the user is away. */
interface Begun {
  readonly beganAt: number
  readonly returnTo: string
  /** What the answer to a sign-in needs. Unset once the user is signed in, and for a sign-out. */
  readonly asked?: Asked
}

interface Asked {
  readonly verifier: string
  readonly issuer: string
  readonly redirectUrl: string
  /** The user who has to come back, for a step-up. */
  readonly userId?: string | undefined
}

interface Session {
  /** Makes the tokens of an answer the session of this browser, if they are the user's that is expected. */
  adopt(answer: unknown, sentAt: number, userId?: string): Promise<void>
  logout(): Promise<void>
}

type Query = Record<string, string | number | undefined>

const STALE_MS = 24 * 3_600_000
/** Longer than an exchange can take. */
const LONGEST_WAIT_MS = 20_000

/** Sign-in at the page of the service: authorization code with PKCE, S256. */
export class SignInPage {
  readonly #platform: Platform
  readonly #config: BrowserConfig
  readonly #session: Session
  readonly #service: ServiceClient
  readonly #storages: BrowserStorage[]
  readonly #prefix: string
  #finishing: { state: string; result: Promise<Returned | undefined> } | undefined
  #isSigningOut = false

  constructor(platform: Platform, config: BrowserConfig, session: Session) {
    this.#platform = platform
    this.#config = config
    this.#session = session
    this.#service = new ServiceClient(platform.fetch, config.baseUrl.slice(0, -'/api/v1'.length))
    // A mail that the user opens on the way, to verify the address, may go on in another tab. So tabs that share a session share
    // this too. The second is for a full storage.
    const storages = [config.isLocal ? platform.localStorage : undefined, platform.sessionStorage]
    this.#storages = storages.filter((storage) => storage !== undefined)
    this.#prefix = `${config.name}:sign-in:`
  }

  /** Leaves the page if the response has the challenge of RFC 9470. Resolves to whether it has. */
  async stepUp(response: Response, session: StoredSession | undefined, options: StepUpOptions = {}): Promise<boolean> {
    const needed = await readChallenge(response)
    if (!needed) return false
    const { user, organization } = session ?? {}
    await this.#signIn(options, { ...needed, login_hint: user?.email, organization_id: organization?.id }, user?.id)
    return true
  }

  async signIn({ prompt, provider, method, organizationId, maxAgeSec, amr, ...where }: SignInOptions = {}): Promise<void> {
    const asked = { prompt, provider, method, organization_id: organizationId, max_age: maxAgeSec, acr_values: amr }
    await this.#signIn(where, asked)
  }

  async #signIn({ returnTo }: StepUpOptions, asked: Query, userId?: string): Promise<void> {
    // A page that signs in as soon as nobody is signed in must not get in the way of a sign-out.
    if (this.#isSigningOut) return
    const redirectUrl = this.#redirectUrl()
    const path = this.#pathOf(returnTo, redirectUrl)
    const { issuer, authorization_endpoint } = await this.#metadata()
    const verifier = randomWord()
    const challenge = await challengeOf(verifier)
    const state = this.#begin({ returnTo: path, asked: { verifier, issuer: String(issuer), redirectUrl, userId } })
    this.#leave(authorization_endpoint, {
      client_id: this.#config.appCode,
      redirect_uri: redirectUrl,
      response_type: 'code',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state,
      ...asked,
    })
  }

  async signOut(returnTo?: string): Promise<void> {
    const redirectUrl = this.#redirectUrl()
    const path = this.#pathOf(returnTo, redirectUrl)
    this.#isSigningOut = true
    try {
      await this.#session.logout()
      const { end_session_endpoint } = await this.#metadata()
      const state = this.#begin({ returnTo: path })
      const client = { client_id: this.#config.appCode, post_logout_redirect_uri: redirectUrl, state }
      this.#leave(end_session_endpoint, client)
      // The browser may show this page again as it was, when the user goes back.
      const stop = this.#platform.listen('pageshow', () => {
        this.#isSigningOut = false
        stop()
      })
    } catch (error) {
      this.#isSigningOut = false
      throw error
    }
  }

  handleRedirect(url: string): Promise<Returned | undefined> {
    const { state = '' } = Object.fromEntries(new URL(url).searchParams)
    // Pages call this twice, from effects that run twice. The code is good for only one exchange.
    if (this.#finishing?.state !== state) this.#finishing = { state, result: this.#finish(state, url) }
    return this.#finishing.result
  }

  async #finish(state: string, url: string): Promise<Returned | undefined> {
    const { iss, code, error, error_description } = Object.fromEntries(new URL(url).searchParams)
    const begun = this.#find(state)
    // The `state` of the page itself, or of a third-party login.
    if (!begun && iss === undefined) return undefined
    let isOver = true
    try {
      if (!begun || (begun.asked && begun.asked.issuer !== iss))
        throw new BrowserAuthError('sign_in_mismatch', 'This sign-in was not begun in this browser, or too long ago')
      // What was kept stays after a refusal: the user may go back to the sign-in page and try again.
      if (begun.asked) {
        if (error || !code) throw new BrowserAuthError(error || 'invalid_request', error_description || 'No code came')
        await this.#exchange(state, code)
      }
      return { returnTo: begun.returnTo }
    } catch (error) {
      isOver = !(BrowserAuthError.is(error) && error.retryable)
      // The same answer can be tried again.
      if (!isOver) this.#finishing = undefined
      throw error
    } finally {
      if (isOver) clearAnswer(this.#platform, url)
    }
  }

  /** Exchanges the code, unless another tab with the same address has done so: a code that comes twice ends the session. */
  #exchange(state: string, code: string): Promise<void> {
    const isDone = () => this.#find(state)?.asked === undefined
    const exchange = async () => {
      const begun = this.#find(state)
      if (!begun?.asked) return
      const { verifier, redirectUrl, userId } = begun.asked
      const sentAt = this.#platform.now()
      const grant = { grant_type: 'authorization_code', client_id: this.#config.appCode, code }
      const body = new URLSearchParams({ ...grant, redirect_uri: redirectUrl, code_verifier: verifier })
      await this.#session.adopt(await this.#service.post('/oauth/token', body), sentAt, userId)
      this.#keep(state, { beganAt: begun.beganAt, returnTo: begun.returnTo })
    }
    return withTabLock(this.#platform, this.#prefix + state, exchange, () => Number(isDone()), LONGEST_WAIT_MS)
  }

  async #metadata(): Promise<Record<string, unknown>> {
    try {
      return Object(await this.#service.get('/.well-known/oauth-authorization-server'))
    } catch (error) {
      if (!BrowserAuthError.is(error) || error.status !== 404) throw error
      throw new BrowserAuthError('sign_in_unavailable', 'This service has no sign-in page', { status: 404 })
    }
  }

  #leave(endpoint: unknown, query: Query): void {
    // `javascript:` would run in this page.
    if (typeof endpoint !== 'string' || !/^https?:/i.test(endpoint)) throw unreachable()
    const url = new URL(endpoint)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
    this.#platform.location?.assign(url.href)
  }

  #redirectUrl(): string {
    return ownUrl(this.#platform, 'redirectUrl', this.#config.redirectUrl)
  }

  /** Returns a path that leads nowhere but to this origin. Throws `config_invalid`. */
  #pathOf(returnTo: string | undefined, redirectUrl: string): string {
    if (returnTo !== undefined) {
      // Browsers take `\` for `/`, and drop tabs and line breaks before they read a URL.
      if (/^\/(?!\/)[^\\\p{Cc}]*$/u.test(returnTo)) return returnTo
      throw new BrowserAuthError('config_invalid', 'returnTo must be a path that begins with one /')
    }
    const { pathname, search, hash } = new URL(this.#platform.location?.href ?? redirectUrl)
    return pathname === new URL(redirectUrl).pathname || pathname.startsWith('//') ? '/' : pathname + search + hash
  }

  /** Keeps what the answer will need, and returns its `state`. Forgets what was begun too long ago. */
  #begin(begun: Omit<Begun, 'beganAt'>): string {
    const state = randomWord()
    for (const storage of this.#storages) {
      const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '')
      for (const key of keys) if (key.startsWith(this.#prefix) && !this.#read(storage, key)) storage.removeItem(key)
    }
    this.#keep(state, { ...begun, beganAt: this.#platform.now() })
    return state
  }

  #keep(state: string, begun: Begun): void {
    for (const storage of this.#storages) {
      try {
        storage.setItem(this.#prefix + state, JSON.stringify(begun))
        return
      } catch {
        // A full storage.
      }
    }
    throw new BrowserAuthError('config_invalid', 'Signing in needs sessionStorage')
  }

  #find(state: string): Begun | undefined {
    for (const storage of this.#storages) {
      const begun = this.#read(storage, this.#prefix + state)
      if (begun) return begun
    }
    return undefined
  }

  #read(storage: BrowserStorage, key: string): Begun | undefined {
    try {
      const begun: Begun | null = JSON.parse(storage.getItem(key) ?? 'null')
      const age = this.#platform.now() - Number(begun?.beganAt)
      return Math.abs(age) < STALE_MS ? (begun ?? undefined) : undefined
    } catch {
      return undefined
    }
  }
}

/** Reads what the challenge of RFC 9470 asks for. Returns undefined without one. */
async function readChallenge(response: Response): Promise<Query | undefined> {
  const header = response.headers.get('www-authenticate') ?? ''
  // What is in quotes is one value, whatever it looks like.
  const pairs = [...header.matchAll(/\b([\w-]{1,30})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)]
  const { error, max_age, acr_values } = Object.fromEntries(pairs.map(([, name, quoted, plain]) => [name, quoted ?? plain]))
  if (error === 'insufficient_user_authentication') return { max_age, acr_values }
  // An API of another origin shows a page only the headers that it names.
  const { code } = header || response.bodyUsed ? {} : Object(await readJson(response))
  if (code === 'insufficient_user_authentication')
    throw new BrowserAuthError('config_invalid', 'The API must send Access-Control-Expose-Headers: WWW-Authenticate')
  return undefined
}
