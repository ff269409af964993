import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import { requestMail } from '../../resources/mail/request-mail.ts'
import { confirmEmailChange } from '../email/confirm-email-change.ts'
import { verifyEmail } from '../email/verify-email.ts'
import type { MailLink } from './describe-mail-link.ts'
import type { ConfirmForm } from './schema.ts'

const confirmations = { verify_email: verifyEmail, change_email: confirmEmailChange }

/**
 * Confirms the address of a link, with the password if the page asks for it. Throws `invalid_token`. A missing or wrong password
 * throws what it throws at a login, and leaves the token unspent.
 */
export async function confirmEmail(
  deps: Deps<Pool>,
  purpose: keyof typeof confirmations,
  { link, form }: { link: MailLink; form: ConfirmForm },
  actor: Actor,
): Promise<void> {
  const { token, password } = form
  if (link.asksPassword && password === '') throw fieldError('password', 'required', 'is required')
  await confirmations[purpose](deps, { token, password: link.asksPassword ? password : undefined }, actor)
}

/** Mails the reader of a link another one that sets a new password. Throws what `requestMail` throws. */
export async function mailReset(deps: Deps<Pool>, { app, email, redirectUrl }: MailLink, origin: RequestOrigin): Promise<void> {
  await requestMail(deps, 'reset_password', { email, app_code: app.code, redirect_url: redirectUrl ?? undefined }, origin)
}
