import { loadOnce } from '../load-once.ts'
import { BrowserAuthError } from './errors.ts'
import { LaterSso } from './later-sso.ts'
import { type BrowserAuthOptions, type BrowserConfig, readOptions } from './options.ts'
import type { OwnAccount } from './own-account.ts'
import { browserPlatform, type Channel, type Fetch, type Platform } from './platform.ts'
import {
  type AuthState,
  type EmailCodeInput,
  type EmailCodeRequest,
  type EmailCodeRequestInput,
  type LoginInput,
  type LoginResult,
  type Outcome,
  outcomeOf,
  type Registered,
  type RegisterInput,
  type RegisterResult,
  type SignedIn,
  type TwoFactorRequired,
} from './results.ts'
import { readJson, refusalOf, ServiceClient, unreachable } from './service-client.ts'
import { type BrowserUser, deviceTokenOf, isFresh, isUnexpired, readTokens, rightsOf, type Session } from './session.ts'
import type { Returned, SignInOptions, SignOutOptions, StepUpOptions } from './sign-in-page.ts'
import type { BrowserSso } from './sso.ts'
import { withTabLock } from './tab-lock.ts'

/**
 * The login of one page. All functions except those of `sso` may be called without the object: `subscribe` and `state` fit
 * `useSyncExternalStore`, `fetch` fits any API client.
 */
export interface BrowserAuth {
  /**
   * Leaves this page for the sign-in page of the service, from where the user comes back to `redirectUrl`. Who is signed in there
   * already may come back at once. Throws `service_unreachable`, `sign_in_unavailable`, `config_invalid`.
   */
  signIn(options?: SignInOptions): Promise<void>
  /**
   * Ends what `signIn` or `signOut` began, from the answer in `url` (default the page's address): signs the user in, and returns
   * the path that they wanted to go to. Returns undefined if `url` has no such answer, so you may call it on every load; for the
   * same answer, it gives the same result. Removes the answer from the address bar, and never navigates. Throws `sign_in_mismatch`,
   * the error that the service sent (`access_denied`, `login_required`, …), and its refusals of the code (`invalid_grant`, …).
   */
  handleRedirect(url?: string): Promise<Returned | undefined>
  /**
   * Leaves this page for a fresh proof if an API has asked for one: if `response` has the challenge of RFC 9470, as the guards with
   * `maxAgeSec` or `amr` send it. Resolves to whether it has. The user comes back as from `signIn`, and the new session replaces
   * the one before it; if it is another user who comes back, `handleRedirect` throws `user_mismatch`, and nothing changes. Throws
   * `config_invalid` if the API of another origin does not show the challenge to the page, and what `signIn` throws.
   *
   * @example
   * const response = await auth.fetch('/api/transfers', { method: 'POST', body })
   * if (await auth.stepUp(response)) return
   */
  stepUp(response: Response, options?: StepUpOptions): Promise<boolean>
  /**
   * Signs the user out here, as `logout` does. With `browser`, then leaves the page to sign the user out at the service too.
   * Throws `service_unreachable`: signed out here, but not there.
   */
  signOut(options?: SignOutOptions): Promise<void>
  /**
   * Signs a user in with a form of your own. Resolves to the session, to `two_factor_required`, or to an error with the service's
   * code: `invalid_credentials`, `account_locked`, …
   */
  login(input: LoginInput): Promise<LoginResult>
  /**
   * Mails a code of six digits, and a link, to an address. The outcome does not say whether a user has the address. At most
   * three mails are sent in 15 minutes.
   */
  requestEmailCode(input: EmailCodeRequestInput): Promise<Outcome<EmailCodeRequest>>
  /**
   * Signs a user in with the code of a mail, within ten minutes. Resolves as `login` does. The error is `invalid_mail_code`,
   * `account_locked` after five wrong codes, `invalid_token` if the mail is used, replaced or too old, …
   */
  loginWithEmailCode(input: EmailCodeInput): Promise<LoginResult>
  /**
   * Registers a user. Resolves to the session, to what is still missing for one, or to an error with the service's code:
   * `user_exists`, `validation_failed` with `fields`, …
   */
  register(input: RegisterInput): Promise<RegisterResult>
  /**
   * Signs this browser out in every tab, whatever the service answers; with `everywhere`, the user's other devices too. Throws
   * `service_unreachable` if the service did not answer: the sessions there then live on.
   */
  logout(options?: { readonly everywhere?: boolean }): Promise<void>
  /**
   * Returns an access token that is valid for some time yet, and refreshes it if needed. Throws `signed_out`, or
   * `service_unreachable` if the refresh failed; the user is then still signed in.
   */
  getAccessToken(): Promise<string>
  /**
   * Renews the token now, such as after the roles of the user have changed; with `organizationId`, for that organization. Throws
   * `signed_out`, `service_unreachable`, and what the service refuses: `organization_membership_required`, …
   */
  refresh(options?: { readonly organizationId?: string }): Promise<void>
  /**
   * Calls the platform's `fetch` with the token. If the answer is 401, it refreshes the token once and sends the request again.
   * Works only for this page's origin, the service's and `apiOrigins`: throws `origin_not_allowed` for any other. Also throws
   * what `getAccessToken` throws.
   *
   * Under `/api/v1/auth/` of the service, it also works while nobody is signed in, without a token, and it adopts what the answer
   * says of the session: new tokens (`password/change`, `refresh`, `magic-link/consume`, …) and a changed user (`PATCH /auth/me`).
   * Another user's tokens are adopted only from `magic-link/consume` and `email-code/consume`.
   */
  readonly fetch: Fetch
  /**
   * Loads the calls of account pages: profile, password, e-mail address, second factor, sessions, organizations, access requests,
   * links of mails, and the end of the account.
   */
  account(): Promise<OwnAccount>
  /** Third-party login. */
  readonly sso: BrowserSso
  /** Who is signed in. It stays the same object until something changes. */
  readonly state: AuthState
  /** Calls `listener` after each change of `state`, in this tab or another. Returns a function that ends that. */
  subscribe(listener: (state: AuthState) => void): () => void
  /** Stops listening to the other tabs and the network, and drops all listeners. The session stays. */
  dispose(): void
}

/**
 * Creates the login of this page. Throws `config_invalid` at once, naming the option that is missing or wrong.
 *
 * @example
 * ```ts
 * import { createBrowserAuth } from '@gatehouse/sdk/browser'
 *
 * const auth = createBrowserAuth({ authUrl: 'https://login.example.com', appCode: 'shop' })
 * await auth.signIn({ returnTo: '/orders' })
 * ```
 */
export function createBrowserAuth(options: BrowserAuthOptions): BrowserAuth {
  const platform = browserPlatform()
  return new TabAuth(readOptions(options, platform), platform)
}

/** How often a refresh is tried when no answer comes. The last try begins before the leeway of the service ends. */
const REFRESH_TRIES = 3
const REFRESH_PAUSE_MS = 250
const FUTILE_PAUSE_MS = 10_000
/** The service knows the session and will give it nothing more. Other statuses are temporary. */
const endingStatuses = [400, 401, 403]

/** By the contract of the service. What opens a session is checked when it is read. */
type RegistrationAnswer = { readonly user: BrowserUser; readonly created: boolean } & (
  | { readonly access: 'granted' | 'pending' | 'unverified' }
  | { readonly access: 'unenrolled'; readonly enrollment_url: string }
)

interface CodeRequired<Result extends object> extends Omit<TwoFactorRequired, 'submitCode'> {
  submitCode(code: string): Promise<Outcome<Result | CodeRequired<Result>>>
}

const signedOut = () => new BrowserAuthError('signed_out', 'No user is signed in')

type Reason = (AuthState & { status: 'signed_out' })['reason']

export class TabAuth implements BrowserAuth {
  readonly sso: BrowserSso
  readonly #signInPage = loadOnce(async () => {
    const { SignInPage } = await import('./sign-in-page.ts')
    const adopt = async (...given: [unknown, number, string?]) => void (await this.#begin(...given))
    return new SignInPage(this.#platform, this.#config, { adopt, logout: this.logout })
  })
  readonly #config: BrowserConfig
  readonly #platform: Platform
  readonly #service: ServiceClient
  readonly #listeners = new Set<(state: AuthState) => void>()
  readonly #stops: (() => void)[] = []
  #channel: Channel | undefined
  #state: AuthState = { status: 'signed_out', reason: null }
  #rights: ({ accessToken: string } & ReturnType<typeof rightsOf>) | undefined
  #offline = false
  /**
   * Why there is no session, as far as this tab or another has reported. The other tab's report may arrive before its change is
   * visible here, or after.
   */
  #reason: Reason = null
  #renewing: Promise<Session> | undefined
  #futileAt = Number.NEGATIVE_INFINITY

  constructor(config: BrowserConfig, platform: Platform) {
    this.#config = config
    this.#platform = platform
    this.#service = new ServiceClient(platform.fetch, config.baseUrl)
    const asUser = new ServiceClient(this.#fetchAsUser, config.baseUrl)
    this.sso = new LaterSso(platform, config, {
      openSession: (path, body) => this.#open(path, body),
      callAsUser: (path, body) => asUser.post(path, body),
    })
    this.#listen()
    this.#sync()
  }

  get state(): AuthState {
    return this.#state
  }

  readonly subscribe = (listener: (state: AuthState) => void): (() => void) => {
    // Wrapped, so that a function that subscribes twice is called twice and can unsubscribe once.
    const entry = (state: AuthState) => listener(state)
    this.#listeners.add(entry)
    return () => void this.#listeners.delete(entry)
  }

  readonly dispose = (): void => {
    for (const stop of this.#stops.splice(0)) stop()
    this.#listeners.clear()
  }

  readonly signIn = async (options?: SignInOptions): Promise<void> => (await this.#signInPage()).signIn(options)

  readonly stepUp = async (response: Response, options?: StepUpOptions): Promise<boolean> =>
    response.status === 401 && (await this.#signInPage()).stepUp(response, this.#sync(), options)

  readonly handleRedirect = async (url = this.#platform.location?.href ?? ''): Promise<Returned | undefined> => {
    if (!URL.canParse(url) || !new URL(url).searchParams.has('state')) return undefined
    const returned = await (await this.#signInPage()).handleRedirect(url)
    // Another tab may have ended this sign-in.
    this.#sync()
    return returned
  }

  readonly signOut = async ({ browser, returnTo }: SignOutOptions = {}): Promise<void> =>
    browser ? (await this.#signInPage()).signOut(returnTo) : this.logout()

  readonly login = (input: LoginInput): Promise<LoginResult> => {
    const { email, password, twoFactorCode, organizationId, extra } = input
    const body = { ...extra, email, password, app_code: this.#config.appCode, organization_id: organizationId }
    return outcomeOf(() => this.#open('/auth/login', body, twoFactorCode))
  }

  readonly requestEmailCode = ({ email, redirectUrl, requestId }: EmailCodeRequestInput): Promise<Outcome<EmailCodeRequest>> =>
    outcomeOf(async () => {
      const body = { email, app_code: this.#config.appCode, redirect_url: redirectUrl, request_id: requestId }
      return { requestId: (Object(await this.#service.post('/auth/email-code', body)) as { request_id: string }).request_id }
    })

  readonly loginWithEmailCode = (input: EmailCodeInput): Promise<LoginResult> => {
    const { requestId, code, password, twoFactorCode } = input
    return outcomeOf(() => this.#open('/auth/email-code/consume', { request_id: requestId, code, password }, twoFactorCode))
  }

  readonly register = (input: RegisterInput): Promise<RegisterResult> => {
    const { email, password, firstName, lastName, organizationName, inviteToken, mode, twoFactorCode, extra } = input
    const names = { first_name: firstName, last_name: lastName, organization_name: organizationName }
    const body = { ...extra, email, password, ...names, invite_token: inviteToken, mode, app_code: this.#config.appCode }
    return outcomeOf(() => this.#withCode(twoFactorCode, body, (sent, sentAt) => this.#register(sent, sentAt)))
  }

  readonly logout = async ({ everywhere = false }: { readonly everywhere?: boolean } = {}): Promise<void> => {
    const session = this.#config.store.read()
    try {
      if (everywhere) await this.#endAllSessions()
    } finally {
      this.#end('logout')
    }
    if (session && !everywhere) await this.#endSession(session)
  }

  readonly getAccessToken = async (): Promise<string> => {
    const session = this.#current()
    if (isFresh(session, this.#platform.now())) return session.accessToken
    try {
      return (await this.#renew(session)).accessToken
    } catch (error) {
      // The refresh was ahead of time. A token that is valid for some seconds yet is better than none.
      if (isRetryable(error) && isUnexpired(session, this.#platform.now())) return session.accessToken
      throw error
    }
  }

  readonly refresh = async ({ organizationId }: { readonly organizationId?: string | undefined } = {}): Promise<void> => {
    const stale = this.#current()
    await this.#inTurn(() => this.#refresh(stale, organizationId))
  }

  readonly fetch: Fetch = async (input, init) => {
    const request = new Request(input, init)
    const sentAt = this.#platform.now()
    const before = this.#config.store.read()
    const response = await this.#call(request, this.#isOfSession(request.url))
    const hasSignedOut = before && !this.#config.store.read()
    // A redirect may have led elsewhere.
    if (response.ok && !hasSignedOut && this.#isOfSession(response.url))
      await this.#adopt(await readJson(response), sentAt, new URL(response.url).pathname)
    return response
  }

  readonly #fetchAsUser: Fetch = async (input, init) => this.#call(new Request(input, init), false)

  async #call(request: Request, isOpenToAll: boolean): Promise<Response> {
    const { origin } = new URL(request.url)
    if (!this.#config.tokenOrigins.has(origin))
      throw new BrowserAuthError('origin_not_allowed', `The token does not go to ${origin}: if it may, add that to apiOrigins`)
    // A body can be read only once.
    const second = request.clone()
    const token = isOpenToAll && !this.#sync() ? undefined : await this.getAccessToken()
    const response = await this.#send(request, token)
    if (response.status !== 401 || token === undefined || this.#isRenewalFutile()) return response
    // A wrong password is a 401 of the service too. It must not be sent twice: tries are few.
    // Another token of the same session would not help.
    if (/insufficient_user_auth/.test(response.headers.get('www-authenticate') ?? '')) return response
    const isOfToken = !this.#isOfSession(request.url) || /^token_/.test(Object(await readJson(response)).code)
    if (!isOfToken) return response
    const renewed = await this.#renewRefused(token)
    if (renewed === undefined) return response
    await response.body?.cancel()
    const last = await this.#send(second, renewed)
    if (last.status === 401) this.#futileAt = this.#platform.now()
    return last
  }

  readonly account = async (): Promise<OwnAccount> => {
    const { OwnAccount } = await import('./own-account.ts')
    const { refresh, getAccessToken } = this
    const state = () => this.#state
    const tab = {
      get state() {
        return state()
      },
      appCode: this.#config.appCode,
      refresh: (organizationId?: string) => refresh({ organizationId }),
      getAccessToken,
    }
    return new OwnAccount(tab, this.#service, {
      end: () => this.#end('logout'),
      updateUser: (answer) => this.#updateUser(answer),
      adopt: (answer, sentAt, path) => this.#adopt(answer, sentAt, path),
      now: this.#platform.now,
    })
  }

  /** Whether a URL is one of the service's that are about sessions and the user's own account. */
  #isOfSession(url: string): boolean {
    return url.startsWith(`${this.#config.baseUrl}/auth/`)
  }

  /** Takes over the tokens, or the changed user, of an answer to a call of the service, made by the page or by `account()`. */
  async #adopt(answer: unknown, sentAt: number, pathname: string): Promise<void> {
    const renewed = readTokens(answer, sentAt)
    if (!renewed) return this.#updateUser(answer)
    const { store } = this.#config
    const session = store.read()
    const isOfUser = session?.user.id === renewed.user.id
    // A page that registers others, or checks the password of another person, must not become that person.
    if (session && !isOfUser && !/\/auth\/(magic-link|email-code)\/consume$/.test(pathname)) return
    store.device(deviceTokenOf(answer))
    if (!isOfUser || !/\/auth\/(password\/change|refresh)$/.test(pathname)) await this.#begin(answer, sentAt)
    // The same session goes on. If it was ended in the meantime, it stays ended, and another user stays signed in.
    else await this.#inTurn(async () => void (store.read()?.user.id === renewed.user.id && this.#write(renewed)))
  }

  /** Takes over what an answer says of the user who is signed in. */
  async #updateUser(answer: unknown): Promise<void> {
    const { user }: { readonly user?: unknown } = Object(answer)
    const { id }: { id?: unknown } = Object(user)
    const changed = () => {
      const session = this.#config.store.read()
      if (!session || session.user.id !== id) return undefined
      const updated: Session = { ...session, user: { ...session.user, ...Object(user) } }
      return JSON.stringify(updated) === JSON.stringify(session) ? undefined : updated
    }
    if (!changed()) return
    await this.#inTurn(async () => {
      const session = changed()
      if (session) this.#write(session)
    })
  }

  /**
   * An API that has just refused a new token refuses every token. More refreshes would only use up the rate limit of the user's
   * address.
   */
  #isRenewalFutile(): boolean {
    const elapsed = this.#platform.now() - this.#futileAt
    return elapsed >= 0 && elapsed < FUTILE_PAUSE_MS
  }

  #send(request: Request, token: string | undefined): Promise<Response> {
    if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
    return this.#platform.fetch(request)
  }

  /** Returns another token than the one that was refused, or undefined if the session has ended. */
  async #renewRefused(token: string): Promise<string | undefined> {
    try {
      const session = this.#current()
      return session.accessToken === token ? (await this.#renew(session)).accessToken : await this.getAccessToken()
    } catch (error) {
      if (BrowserAuthError.is(error, 'signed_out')) return undefined
      throw error
    }
  }

  /** Opens a session through any call that can, but for a registration. */
  #open(path: string, body: object, code?: string): Promise<SignedIn | TwoFactorRequired> {
    return this.#withCode(code, body, async (sent, sentAt) => this.#begin(await this.#service.post(path, sent), sentAt))
  }

  async #register(body: object, sentAt: number): Promise<Exclude<Registered, { status: 'two_factor_required' }>> {
    const answer = (await this.#service.post('/auth/register', body)) as RegistrationAnswer
    const { user, created } = answer
    if (answer.access === 'pending') return { status: 'access_pending', user, created }
    if (answer.access === 'unverified') return { status: 'email_unverified', user, created }
    if (answer.access === 'unenrolled')
      return { status: 'two_factor_enrollment_required', user, created, enrollmentUrl: answer.enrollment_url }
    return { ...(await this.#begin(answer, sentAt)), created }
  }

  /** If the service asks for a code, it resolves to `two_factor_required`, which sends the same again with one. */
  async #withCode<Result extends object>(
    code: string | undefined,
    body: object,
    send: (body: object, sentAt: number) => Promise<Result>,
  ): Promise<Result | CodeRequired<Result>> {
    const sentAt = this.#platform.now()
    try {
      return await send({ ...body, two_factor_code: code, device_token: this.#config.store.device() }, sentAt)
    } catch (error) {
      if (!BrowserAuthError.is(error, 'two_factor_required')) throw error
      return { status: 'two_factor_required', submitCode: (code) => outcomeOf(() => this.#withCode(code, body, send)) }
    }
  }

  /**
   * Stores the session of an answer for all tabs, and ends the previous one. With `userId`, nobody else may be or become signed in.
   */
  async #begin(answer: unknown, sentAt: number, userId?: string): Promise<SignedIn> {
    const session = readTokens(answer, sentAt)
    if (!session) throw unreachable()
    const { store } = this.#config
    // Takes turns with refreshes: a refresh of the previous session could still overwrite this one.
    const over = await this.#inTurn(async () => {
      const previous = store.read()
      if (userId && [session, previous ?? session].some(({ user }) => user.id !== userId)) return session
      this.#write(session)
      return previous
    })
    if (over) this.#endSession(over).catch(() => {})
    if (over === session) throw new BrowserAuthError('user_mismatch', 'Another user has signed in')
    store.device(deviceTokenOf(answer))
    return { status: 'signed_in', user: session.user, organization: session.organization }
  }

  /** One refresh at a time, in this tab and across tabs. */
  #renew(stale: Session): Promise<Session> {
    this.#renewing ??= this.#inTurn(() => this.#refresh(stale)).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  /** With an organization, the session goes on for it, whether or not another tab was first. */
  async #refresh(stale: Session, organizationId?: string): Promise<Session> {
    for (let tries = 1; ; tries += 1) {
      const session = this.#current()
      // Another tab was first.
      const isRenewed = session.accessToken !== stale.accessToken && isFresh(session, this.#platform.now())
      if (isRenewed && organizationId === undefined) return session
      const sentAt = this.#platform.now()
      try {
        const body = { refresh_token: session.refreshToken, organization_id: organizationId }
        const answer = await this.#service.post('/auth/refresh', body, { isUrgent: true })
        return this.#replace(session, readTokens(answer, sentAt))
      } catch (error) {
        const isLast = tries === REFRESH_TRIES
        // Another tab or a login has replaced the session, so this answer says nothing about the new one.
        const isOvertaken = this.#config.store.read()?.refreshToken !== session.refreshToken
        if (isOvertaken && !isLast) continue
        // The session goes on for the organization of before.
        if (organizationId !== undefined && BrowserAuthError.is(error) && !error.retryable && error.status !== 401) throw error
        if (!isOvertaken && this.#endsSession(error)) throw signedOut()
        if (!BrowserAuthError.is(error, 'service_unreachable')) throw error
        // Only the answer may have been lost. Then the same token gets the same successor, but not for long.
        if (isLast || !this.#platform.isOnline()) {
          this.#setOffline(true)
          throw error
        }
        await new Promise((resolve) => setTimeout(resolve, REFRESH_PAUSE_MS * tries))
      }
    }
  }

  /** Returns the session after a refresh, unless it has been ended or replaced by another in the meantime. */
  #replace(session: Session, renewed: Session | undefined): Session {
    if (!renewed) throw unreachable()
    const current = this.#current()
    const isOurs = [session.refreshToken, renewed.refreshToken].includes(current.refreshToken)
    if (!isOurs) return current
    this.#write(renewed)
    return renewed
  }

  #endsSession(error: unknown): boolean {
    const ends = BrowserAuthError.is(error) && endingStatuses.includes(error.status ?? 0) && error.code !== 'service_unreachable'
    if (ends) this.#end('session_ended')
    return ends
  }

  async #endSession({ refreshToken }: Session): Promise<void> {
    await this.#service.post('/auth/logout', { refresh_token: refreshToken }, { keepalive: true })
  }

  async #endAllSessions(): Promise<void> {
    const response = await this.#fetchAsUser(`${this.#config.baseUrl}/auth/logout-all`, { method: 'POST' }).catch(
      (error: unknown) => {
        throw BrowserAuthError.is(error) ? error : unreachable()
      },
    )
    if (!response.ok) throw await refusalOf(response)
  }

  #write(session: Session): void {
    this.#config.store.write(session)
    this.#offline = false
    this.#tell(null)
    this.#sync()
  }

  #end(reason: Reason): void {
    if (!this.#config.store.read()) return
    this.#config.store.clear()
    this.#tell(reason)
    this.#sync()
  }

  /** Returns the current session, from whichever tab it came. Throws `signed_out` if there is none. */
  #current(): Session {
    const session = this.#sync()
    if (!session) throw signedOut()
    return session
  }

  /** Updates `state` from the store, and returns the session. */
  #sync(): Session | undefined {
    const session = this.#config.store.read()
    const known = this.#state.status === 'signed_out' ? this.#state.reason : null
    this.#show(session ? this.#stateOf(session) : { status: 'signed_out', reason: known ?? this.#reason })
    return session
  }

  #stateOf({ accessToken, user, organization }: Session): AuthState {
    // A token is read once.
    if (this.#rights?.accessToken !== accessToken) this.#rights = { accessToken, ...rightsOf(accessToken) }
    const { roles, permissions } = this.#rights
    const has = (...all: string[]) => all.every((permission) => permissions.includes(permission))
    return { status: 'signed_in', user, organization, roles, permissions, has, offline: this.#offline }
  }

  #show(state: AuthState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return
    this.#state = state
    for (const listener of [...this.#listeners]) {
      try {
        listener(state)
      } catch (error) {
        // The error is the page's, and must not turn a login that succeeded into a failed one.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }

  #setOffline(offline: boolean): void {
    this.#offline = offline
    this.#sync()
  }

  /** Tabs that each have their own session need not take turns. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const { crossTab, store, name } = this.#config
    const version = () => store.read()?.obtainedAt ?? 0
    return crossTab && store.isShared ? withTabLock(this.#platform, name, work, version) : work()
  }

  #listen(): void {
    const { listen, openChannel } = this.#platform
    this.#stops.push(
      listen('online', () => this.#goOnline()),
      listen('offline', () => this.#setOffline(true)),
      // A page that was put to sleep has received nothing.
      listen('pageshow', () => void this.#sync()),
    )
    if (!this.#config.crossTab) return
    // This event comes when a write of another tab is visible here, which may be after its message.
    this.#stops.push(listen('storage', () => void this.#sync()))
    if (!openChannel) return
    this.#channel = openChannel(this.#config.name)
    this.#channel.onmessage = ({ data }) => this.#hear(Object(data).reason)
    this.#stops.push(() => {
      this.#channel?.close()
      this.#channel = undefined
    })
  }

  /** Refreshes when the network is back: for some seconds, the service repeats an answer that was lost. */
  #goOnline(): void {
    const wasLost = this.#offline
    this.#setOffline(false)
    const session = this.#config.store.read()
    if (wasLost && session && !isFresh(session, this.#platform.now())) this.#renew(session).catch(() => {})
  }

  /**
   * Tells the other tabs why a session ended, or `null` for another change. Sends no part of the session: it stays in the chosen
   * storage.
   */
  #tell(reason: Reason): void {
    this.#reason = reason
    this.#channel?.postMessage({ reason })
  }

  #hear(reason: Reason): void {
    const { store } = this.#config
    // That tab has reached the service.
    if (reason === null) this.#offline = false
    // A session that only this tab has.
    const own = !store.isShared && reason === 'logout' ? store.read() : undefined
    if (own) {
      store.clear()
      this.#endSession(own).catch(() => {})
    }
    if (own || store.isShared) this.#reason = reason
    this.#sync()
  }
}

function isRetryable(error: unknown): boolean {
  return BrowserAuthError.is(error) && error.retryable
}
