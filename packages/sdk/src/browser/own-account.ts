import type { AuthState, ChangeEmailInput, IdentityProof, MailLinkInput } from './results.ts'
import type { ServiceClient } from './service-client.ts'

/** The part of a tab's session that is needed here. */
interface TabSession {
  readonly state: AuthState
  getAccessToken(): Promise<string>
}

/** What the session of the tab learns of. */
interface Changes {
  end(): void
  updateUser(answer: unknown): Promise<void>
}

/** What users do with their own account. Each call throws `BrowserAuthError` with the service's code. */
export class OwnAccount {
  readonly #auth: TabSession
  readonly #service: ServiceClient
  readonly #changes: Changes

  constructor(auth: TabSession, service: ServiceClient, changes: Changes) {
    this.#auth = auth
    this.#service = service
    this.#changes = changes
  }

  /** Verifies the e-mail address with the link that was mailed to it. Throws `invalid_token`, `invalid_credentials`, … */
  readonly verifyEmail = (link: MailLinkInput): Promise<void> => this.#confirm('/auth/email/verify', link)

  /**
   * Changes the e-mail address with the link that was mailed to the new one, or allows the change with the one that was mailed to
   * the present address. Needs `password` unless the user is signed in here. Throws `invalid_token`, `email_exists_in_pool`, …
   */
  readonly confirmEmailChange = (link: MailLinkInput): Promise<void> => this.#confirm('/auth/email/change/confirm', link)

  /**
   * Asks for another e-mail address. The service mails a link to it; for an account without a password, first one to the present
   * address. An account with a password always needs `password`. Throws `signed_out`, `fresh_login_required`,
   * `invalid_credentials`, …
   */
  readonly changeEmail = async ({ email, ...proof }: ChangeEmailInput): Promise<void> => {
    await this.#service.post('/auth/email/change', { email, ...proofOf(proof) }, { token: await this.#auth.getAccessToken() })
  }

  /**
   * Deletes the account, and signs out in every tab: `'deleted'`. An account with a password always needs `password`. For an
   * account without one, the service mails a link that deletes it, and this tab stays signed in: `'mailed'`. Throws `signed_out`,
   * `fresh_login_required`, `invalid_credentials`, …
   */
  readonly delete = async (proof: IdentityProof = {}): Promise<'deleted' | 'mailed'> => {
    const token = await this.#auth.getAccessToken()
    const isMailed = (await this.#service.post('/auth/me', proofOf(proof), { method: 'DELETE', token })) !== undefined
    if (!isMailed) this.#changes.end()
    return isMailed ? 'mailed' : 'deleted'
  }

  /** Uses the session of this browser if there is one and no password was given. `state.user` changes with it. */
  async #confirm(path: string, { token, password }: MailLinkInput): Promise<void> {
    const isOfSession = password === undefined && this.#auth.state.status === 'signed_in'
    const bearer = isOfSession ? await this.#auth.getAccessToken() : undefined
    await this.#changes.updateUser(await this.#service.post(path, { token, password }, { token: bearer }))
  }
}

function proofOf({ password, twoFactorCode }: IdentityProof) {
  return { password, two_factor_code: twoFactorCode }
}
