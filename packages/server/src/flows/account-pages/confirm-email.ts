import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
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
