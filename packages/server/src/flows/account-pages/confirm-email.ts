import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { verifyEmail } from '../email/verify-email.ts'
import type { MailLink } from './describe-mail-link.ts'
import type { ConfirmForm } from './schema.ts'

/**
 * Verifies the address of a link, with the password where the page asks for it. Throws `invalid_token`, and, which leaves the token as it
 * was, what a wrong password at a login throws.
 */
export async function confirmEmail(
  deps: Deps<Pool>,
  { asksPassword }: MailLink,
  { token, password }: ConfirmForm,
  actor: Actor,
): Promise<void> {
  if (asksPassword && password === '') throw fieldError('password', 'required', 'is required')
  await verifyEmail(deps, { token, password: asksPassword ? password : undefined }, actor)
}
