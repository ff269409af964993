import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { verifyEmail } from '../email/verify-email.ts'
import type { MailLink } from './describe-mail-link.ts'
import type { ConfirmForm } from './schema.ts'

/** What the link of a mail confirms, and how. */
export interface Confirmation {
  purpose: 'verify_email' | 'change_email'
  confirm: typeof verifyEmail
}

/**
 * Confirms the address of a link, with the password where the page asks for it. Throws `invalid_token`, and, which leaves the token as it
 * was, what a wrong password at a login throws.
 */
export async function confirmEmail(
  deps: Deps<Pool>,
  { link, form, confirm }: { link: MailLink; form: ConfirmForm } & Pick<Confirmation, 'confirm'>,
  actor: Actor,
): Promise<void> {
  const { token, password } = form
  if (link.asksPassword && password === '') throw fieldError('password', 'required', 'is required')
  await confirm(deps, { token, password: link.asksPassword ? password : undefined }, actor)
}
