import { loadOnce } from '../load-once.ts'
import {
  type AuthState,
  type ChangeEmailInput,
  type IdentityProof,
  type MailLinkInput,
  type Outcome,
  outcomeOf,
} from './results.ts'
import type { PostOptions, ServiceClient } from './service-client.ts'
import type { BrowserOrganization, BrowserUser } from './session.ts'

/** Where a mail goes, and the page of the app that its link leads to (default the app's `frontend_url`). */
export interface MailInput {
  readonly email: string
  readonly redirectUrl?: string
}

/** A session of the user, in this app or another. */
export interface OwnSession {
  readonly id: string
  readonly current: boolean
  readonly app: { readonly id: string; readonly code: string } | null
  readonly created_at: string
  readonly last_used_at: string | null
  readonly ip: string | null
  readonly user_agent: string | null
}

/** What the service knows of the user who is signed in. */
export interface Profile {
  readonly user: BrowserUser
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
  readonly organizations: readonly BrowserOrganization[]
  /** The language that the user reads: a BCP 47 tag. Null if it is not known. */
  readonly locale: string | null
}

type Method = NonNullable<PostOptions['method']>

/** What the service answers there by its contract. */
interface Answers {
  readonly '/auth/me': Profile
  readonly '/auth/2fa/setup': { readonly secret: string; readonly otpauth_url: string }
  readonly '/auth/2fa/activate': { readonly recovery_codes: readonly string[] }
  readonly '/auth/sessions?limit=100': { readonly items: readonly OwnSession[] }
}

/** The part of a tab's session that is needed here. */
interface TabSession {
  readonly state: AuthState
  readonly appCode: string
  getAccessToken(): Promise<string>
  refresh(organizationId?: string): Promise<void>
}

/** What the session of the tab learns of. */
interface Changes {
  end(): void
  updateUser(answer: unknown): Promise<void>
  /** Takes over the tokens of an answer from that path. */
  adopt(answer: unknown, sentAt: number, path: string): Promise<void>
  now(): number
}

const loadQr = loadOnce(() => import('./qr-svg.ts'))
const proofOf = ({ password, twoFactorCode }: IdentityProof) => ({ password, two_factor_code: twoFactorCode })

/** What users do with their own account. No call throws what a form has to show: see `Outcome`. */
export class OwnAccount {
  readonly #auth: TabSession
  readonly #service: ServiceClient
  readonly #changes: Changes

  constructor(auth: TabSession, service: ServiceClient, changes: Changes) {
    this.#auth = auth
    this.#service = service
    this.#changes = changes
  }

  /** Returns the user with roles, permissions and organizations, as they are now. */
  readonly profile = (): Promise<Outcome<Profile>> =>
    outcomeOf(async () => {
      const answer = await this.#asUser('GET', '/auth/me')
      await this.#changes.updateUser(answer)
      return answer
    })

  /** Changes the names or the language of the user. `state.user` changes with it. An empty or null value is removed. */
  readonly updateProfile = (changes: {
    readonly firstName?: string | null
    readonly lastName?: string | null
    /** A BCP 47 tag such as `de` or `pt-BR`. Mails are written in it. */
    readonly locale?: string | null
  }): Promise<Outcome<{ readonly user: BrowserUser }>> =>
    outcomeOf(async () => {
      const body = { first_name: changes.firstName, last_name: changes.lastName, locale: changes.locale }
      const answer = await this.#asUser('PATCH', '/auth/me', body)
      await this.#changes.updateUser(answer)
      return { user: answer.user }
    })

  /** Changes the password. Other devices are signed out; this session goes on, in every tab. */
  readonly changePassword = (input: { readonly currentPassword: string; readonly newPassword: string }): Promise<Outcome> =>
    outcomeOf(async () => {
      const path = '/auth/password/change'
      const sentAt = this.#changes.now()
      const body = { current_password: input.currentPassword, new_password: input.newPassword }
      await this.#changes.adopt(await this.#asUser('POST', path, body), sentAt, path)
      return {}
    })

  /** Has a link to a new password mailed, if a user has the address. The outcome does not say whether. */
  readonly forgotPassword = (input: MailInput): Promise<Outcome> => this.#mail('/auth/password/forgot', input)

  /** Sets a new password with the `token` of the mailed link. Signs nobody in. */
  readonly resetPassword = (input: { readonly token: string; readonly password: string }): Promise<Outcome> =>
    outcomeOf(async () => {
      await this.#service.post('/auth/password/reset', { token: input.token, password: input.password })
      return {}
    })

  /** Has the link that verifies an address mailed again, if a user has the address. */
  readonly resendVerification = (input: MailInput): Promise<Outcome> => this.#mail('/auth/email/resend', input)

  /** Verifies the e-mail address with the link that was mailed to it. */
  readonly verifyEmail = (link: MailLinkInput): Promise<Outcome> => this.#confirm('/auth/email/verify', link)

  readonly magicLink = {
    /** Has a link mailed that signs the user in, if a user has the address. */
    send: (input: MailInput): Promise<Outcome> => this.#mail('/auth/magic-link', input),
    /**
     * Signs in with the `token` of the mailed link. The error `two_factor_required` asks for `twoFactorCode`; the link stays good.
     * Replaces the user who was signed in here before.
     */
    consume: (link: MailLinkInput & { readonly twoFactorCode?: string }): Promise<Outcome> =>
      outcomeOf(async () => {
        const path = '/auth/magic-link/consume'
        const sentAt = this.#changes.now()
        const answer = await this.#service.post(path, { token: link.token, ...proofOf(link) })
        await this.#changes.adopt(answer, sentAt, path)
        return {}
      }),
  }

  /**
   * Asks for another e-mail address. The service mails a link to it; for an account without a password, first one to the present
   * address. An account with a password always needs `password`.
   */
  readonly changeEmail = ({ email, ...proof }: ChangeEmailInput): Promise<Outcome> =>
    outcomeOf(async () => {
      await this.#asUser('POST', '/auth/email/change', { email, ...proofOf(proof) })
      return {}
    })

  /**
   * Changes the e-mail address with the link that was mailed to the new one, or allows the change with the one that was mailed to
   * the present address. Needs `password` unless the user is signed in here.
   */
  readonly confirmEmailChange = (link: MailLinkInput): Promise<Outcome> => this.#confirm('/auth/email/change/confirm', link)

  readonly twoFactor = {
    /**
     * Makes the secret of a second factor. Show `qrSvg()`, or the `secret` to type, then call `activate` with a code. The error
     * `fresh_login_required` asks for the password.
     */
    setUp: (
      proof: IdentityProof = {},
    ): Promise<Outcome<{ readonly secret: string; readonly otpauthUrl: string; qrSvg(): Promise<string> }>> =>
      outcomeOf(async () => {
        const { secret, otpauth_url: otpauthUrl } = await this.#asUser('POST', '/auth/2fa/setup', proofOf(proof))
        return { secret, otpauthUrl, qrSvg: async () => (await loadQr()).qrSvg(otpauthUrl) }
      }),
    /** Turns the second factor on with a code of the authenticator. Show the recovery codes: they are given once. */
    activate: ({
      code,
      ...proof
    }: IdentityProof & { readonly code: string }): Promise<Outcome<{ readonly recoveryCodes: readonly string[] }>> =>
      outcomeOf(async () => {
        const answer = await this.#asUser('POST', '/auth/2fa/activate', { code, ...proofOf(proof) })
        return { recoveryCodes: answer.recovery_codes }
      }),
    /** Turns the second factor off. */
    disable: (proof: IdentityProof = {}): Promise<Outcome> =>
      outcomeOf(async () => {
        await this.#asUser('POST', '/auth/2fa/disable', proofOf(proof))
        return {}
      }),
  }

  readonly sessions = {
    /** Lists where the user is signed in, up to 100 sessions. */
    list: (): Promise<Outcome<{ readonly items: readonly OwnSession[] }>> =>
      outcomeOf(() => this.#asUser('GET', '/auth/sessions?limit=100')),
    /** Ends one of them. */
    end: (id: string): Promise<Outcome> =>
      outcomeOf(async () => {
        await this.#asUser('DELETE', `/auth/sessions/${encodeURIComponent(id)}`)
        return {}
      }),
  }

  /** Goes on with the roles that the user has in that organization. */
  readonly switchOrganization = (organizationId: string): Promise<Outcome> =>
    outcomeOf(async () => {
      await this.#auth.refresh(organizationId)
      return {}
    })

  readonly accessRequests = {
    /** Asks for access to this app, for a user whom a login refuses with `app_access_denied`. */
    ask: ({
      email,
      message,
      ...proof
    }: IdentityProof & {
      readonly email: string
      readonly password: string
      readonly message?: string
    }): Promise<Outcome<{ readonly status: string }>> =>
      outcomeOf(async () => {
        const body = { email, message, app_code: this.#auth.appCode, ...proofOf(proof) }
        return (await this.#service.post('/auth/access-requests', body)) as { status: string }
      }),
  }

  /**
   * Deletes the account, and signs out in every tab. An account with a password always needs `password`. For an account without
   * one, the service mails a link that deletes it: then `mailed` is true, and this tab stays signed in.
   */
  readonly delete = (proof: IdentityProof = {}): Promise<Outcome<{ readonly mailed: boolean }>> =>
    outcomeOf(async () => {
      const mailed = (await this.#asUser('DELETE', '/auth/me', proofOf(proof))) !== undefined
      if (!mailed) this.#changes.end()
      return { mailed }
    })

  /** Sends each call once: `fetch` would repeat one with a wrong password, and tries are few. */
  async #asUser<Path extends keyof Answers>(method: Exclude<Method, 'DELETE'>, path: Path, body?: object): Promise<Answers[Path]>
  async #asUser(method: Method, path: string, body?: object): Promise<unknown>
  async #asUser(method: Method, path: string, body: object = {}): Promise<unknown> {
    return this.#service.post(path, body, { method, token: await this.#auth.getAccessToken() })
  }

  #mail(path: string, { email, redirectUrl }: MailInput): Promise<Outcome> {
    return outcomeOf(async () => {
      await this.#service.post(path, { email, app_code: this.#auth.appCode, redirect_url: redirectUrl })
      return {}
    })
  }

  /** Uses the session of this browser if there is one and no password was given. `state.user` changes with it. */
  #confirm(path: string, { token, password, twoFactorCode }: MailLinkInput): Promise<Outcome> {
    return outcomeOf(async () => {
      const isOfSession = password === undefined && this.#auth.state.status === 'signed_in'
      const bearer = isOfSession ? await this.#auth.getAccessToken() : undefined
      const body = { token, password, two_factor_code: twoFactorCode }
      await this.#changes.updateUser(await this.#service.post(path, body, { token: bearer }))
      return {}
    })
  }
}
