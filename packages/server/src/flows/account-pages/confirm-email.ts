import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { requestMail } from '../../resources/mail/request-mail.ts'
import { confirmEmailChange } from '../email/change-email.ts'
import { verifyEmail } from '../email/verify-email.ts'
import type { MailLink } from './describe-mail-link.ts'
import type { ConfirmForm } from './schema.ts'

interface Confirmation {
  link: MailLink
  form: ConfirmForm
}

/**
 * Verifies the address of a link, with the password if the account has one. A reader who does not know it gets a mail to set
 * another instead, and the link stays good. Throws `invalid_token`. A missing or wrong password throws what it throws at a login,
 * and leaves the token unspent.
 */
export async function confirmEmail(
  deps: Deps<Pool>,
  { link, form }: Confirmation,
  actor: Actor,
): Promise<'confirmed' | 'reset_mailed'> {
  const { email, app, redirectUrl } = link
  if (form.forgot !== '') {
    const mail = { email, app_code: app.code, redirect_url: redirectUrl ?? undefined }
    await requestMail(deps, 'reset_password', mail, actor.origin)
    return 'reset_mailed'
  }
  const code = form.two_factor_code.trim() || undefined
  await verifyEmail(deps, { token: form.token, password: passwordOf(link, form), two_factor_code: code }, actor)
  return 'confirmed'
}

/**
 * Confirms the new address of a link with the password, or allows a change at the present address. Throws what
 * `confirmEmailChange` throws.
 */
export async function confirmChange(deps: Deps<Pool>, { link, form }: Confirmation, actor: Actor): Promise<void> {
  const password = link.newEmail === null ? passwordOf(link, form) : undefined
  await confirmEmailChange(deps, { token: form.token, password }, actor)
}

/** The password that a link asks for. Undefined for an account that has none. */
function passwordOf({ asksPassword }: MailLink, { password }: ConfirmForm): string | undefined {
  if (asksPassword && password === '') throw fieldError('password', 'required', 'is required')
  return asksPassword ? password : undefined
}
