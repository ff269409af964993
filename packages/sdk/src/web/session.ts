import type { Auth, LocalAuth } from '../auth.ts'
import { AuthError, invalidSettings, refused } from '../errors.ts'
import { partsOf } from '../hidden-calls.ts'
import { loadOnce } from '../load-once.ts'
import type { UserPrincipal } from '../principal.ts'
import { checkOptions, type Requirements, requirementChecks } from '../requirements.ts'
import { type Answer, FOREIGN, type Incoming, isForeign, pathOf } from './incoming.ts'
import { readOptions, type WebSessionOptions } from './options.ts'
import { readCookies, SESSION, SealedCookies } from './sealed-cookies.ts'
import type { Parts } from './sign-in.ts'
import type { Tokens } from './token-endpoint.ts'

/** Who sent a request, and what its answer has to carry. */
export interface Loaded<Name extends string = string> {
  readonly principal: UserPrincipal<Name> | undefined
  readonly accessToken: string | undefined
  /** `Set-Cookie` headers. Read them when the answer goes out: a session that the user has ended since sets none. */
  readonly cookies: readonly string[]
  /** The `Cookie` header for those who handle the request after the session was renewed or refused. */
  readonly cookieAfter: string | undefined
}

/** Resolves to the principal, or to the answer for a request that may not pass. `origin` is what `onRefused` gets. */
export type Judge<Name extends string, Origin> = (
  incoming: Incoming,
  key: object,
  origin: Origin,
) => Promise<Answer | UserPrincipal<Name>>

/** What both forms of a session are made of. Reads no setting before the first request if `lazy`. */
export class SessionCore<Name extends string> {
  readonly #auth: Auth<Name>
  readonly #options: WebSessionOptions
  /** A request is read once, whichever of the app's handlers ask. */
  readonly #loaded = new WeakMap<object, Promise<Loaded<Name>>>()
  readonly #signIn = loadOnce(async () => (await import('./sign-in.ts')).openSignIn(this.#open()))
  #parts: Parts | undefined

  constructor(auth: Auth<Name>, options: WebSessionOptions) {
    this.#auth = auth
    this.#options = options
    if (!options.lazy) this.#open()
  }

  /** Answers the paths to sign in and out. Resolves to undefined for every other path. */
  async answerSignIn(incoming: Incoming): Promise<Answer | undefined> {
    const { paths } = this.#open().config
    const isOurs = Object.values(paths).includes(pathOf(incoming).pathname)
    return isOurs ? (await this.#signIn()).answer(incoming) : undefined
  }

  /** Loads the session of a request. Without `key`, it is not renewed, because no cookie can be set. */
  load(incoming: Incoming, key?: object): Promise<Loaded<Name>> {
    if (!key) return this.#load(incoming, false)
    const loaded = this.#loaded.get(key) ?? this.#load(incoming, true)
    this.#loaded.set(key, loaded)
    return loaded
  }

  /** Like `load`, for pages that show something to everybody: while the service is down, nobody is signed in. */
  async loadForAll(incoming: Incoming, key: object): Promise<Loaded<Name>> {
    return this.load(incoming, key).catch((error: unknown) => {
      if (!AuthError.is(error) || error.status !== 503) throw error
      return { principal: undefined, accessToken: undefined, cookies: [], cookieAfter: undefined }
    })
  }

  guard<Origin>(requirements: Requirements<Name, Origin, 'user'>): Judge<Name, Origin> {
    checkOptions('requireSession', requirements, requirementChecks)
    return async (incoming, key, origin) => {
      try {
        const { principal } = await this.load(incoming, key)
        if (!principal && this.#isForeign(incoming)) throw refused('PERMISSION_DENIED', FOREIGN)
        if (!principal) throw refused('TOKEN_MISSING', 'no session')
        const { assertAccess } = await this.#signIn()
        return assertAccess(this.#auth, principal, requirements)
      } catch (error) {
        const answer = await this.refuse(incoming, error)
        // An error of the app's function, thrown or rejected, must not change the answer.
        void (async () => requirements.onRefused?.(error as AuthError, origin))().catch(() => {})
        return answer
      }
    }
  }

  /**
   * Returns the answer to a request that failed with `error`. Rethrows errors that are not about the caller, and of those that a
   * handler threw, errors about other tokens.
   */
  async refuse(incoming: Incoming, error: unknown, isOfHandler?: boolean): Promise<Answer> {
    return (await this.#signIn()).refuse(incoming, error, isOfHandler)
  }

  #isForeign(incoming: Incoming): boolean {
    return isForeign(incoming, this.#open().config.origin)
  }

  async #load(incoming: Incoming, mayRenew: boolean): Promise<Loaded<Name>> {
    const { cookies, settings } = this.#open()
    const sent = readCookies(incoming.header('cookie'))
    const nobody = { principal: undefined, accessToken: undefined }
    if (mayRenew && this.#isForeign(incoming)) return { ...nobody, cookies: [], cookieAfter: cookies.after(sent, undefined) }
    const kept = await cookies.open(SESSION, sent)
    const end = () => {
      const cleared = mayRenew ? cookies.clear(SESSION, sent) : []
      return { ...nobody, cookies: cleared, cookieAfter: cleared.length > 0 ? cookies.after(sent, cleared) : undefined }
    }
    if (!kept) return end()
    const verify = async (access: string) => {
      const { ok, principal, error } = await this.#auth.safeVerify(access)
      if (ok && principal.kind === 'user') return { principal, accessToken: access }
      if (error && error.status !== 401) throw error
      return undefined
    }
    const isDue = settings.now() >= kept.renewAt
    const current = isDue && mayRenew ? undefined : await verify(kept.access)
    if (current) return { ...current, cookies: [], cookieAfter: undefined }
    if (!mayRenew) return end()
    const signIn = await this.#signIn()
    let renewed: Tokens
    try {
      renewed = await signIn.renew(kept.refresh)
    } catch (error) {
      if (AuthError.is(error, 'SERVICE_REJECTED')) return end()
      // The renewal was ahead of time. A token that is valid for some seconds yet is better than none.
      const last = isDue ? await verify(kept.access) : undefined
      if (!last) throw error
      return { ...last, cookies: [], cookieAfter: undefined }
    }
    const found = await verify(renewed.access)
    if (!found) return end()
    const changes = await cookies.set(SESSION, renewed, sent)
    const lasting = () => (signIn.hasEnded(kept.refresh) ? [] : changes)
    return {
      ...found,
      get cookies() {
        return lasting()
      },
      cookieAfter: cookies.after(sent, changes),
    }
  }

  #open(): Parts {
    if (this.#parts) return this.#parts
    this.#parts = this.#assemble()
    // In the background, and it says nothing while the service is down: others do.
    if (this.#parts.settings.check !== 'off')
      this.#signIn()
        .then((signIn) => signIn.checkRedirectUrl())
        .catch(() => {})
    return this.#parts
  }

  #assemble(): Parts {
    const config = readOptions(this.#options)
    const auth: Auth<Name> & Partial<Pick<LocalAuth, typeof partsOf>> = this.#auth
    // With `lazy`, it reads its settings with the first call.
    auth?.health?.()
    const settings = auth?.[partsOf]?.().config
    if (!settings?.authUrl) throw invalidSettings('createWebSession needs the result of createAuth, with SERVICE_AUTH_URL')
    const cookies = new SealedCookies(config.secrets, settings.appCode, config.origin.startsWith('https:'))
    return { config, settings, cookies, verify: auth.verify }
  }
}
