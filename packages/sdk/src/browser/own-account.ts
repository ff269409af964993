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
   * Changes the e-mail address with the link that was mailed to the new one. Throws `invalid_token`, `email_exists_in_pool`, …
   */
  readonly confirmEmailChange = (link: MailLinkInput): Promise<void> => this.#confirm('/auth/email/change/confirm', link)

  /**
   * Asks for another e-mail address. The service mails a link to it. Throws `signed_out`, `fresh_login_required`,
   * `invalid_credentials`, …
   */
  readonly changeEmail = async ({ email, ...proof }: ChangeEmailInput): Promise<void> => {
    await this.#service.post('/auth/email/change', { email, ...proofOf(proof) }, { token: await this.#auth.getAccessToken() })
  }

  /** Deletes the account, and signs out in every tab. Throws `signed_out`, `fresh_login_required`, `invalid_credentials`, … */
  readonly delete = async (proof: IdentityProof = {}): Promise<void> => {
    await this.#service.post('/auth/me', proofOf(proof), { method: 'DELETE', token: await this.#auth.getAccessToken() })
    this.#changes.end()
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
