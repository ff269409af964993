import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { resetPassword } from '../password/reset-password.ts'
import type { NewPasswordForm } from './schema.ts'

/**
 * Sets the password from the form. The form asks for it twice, since a page without scripts cannot show what was typed. Throws
 * `invalid_token`, and `validation_failed`, which leaves the token unspent.
 */
export async function choosePassword(
  deps: Deps<Pool>,
  { token, password, password_again: again }: NewPasswordForm,
  actor: Actor,
): Promise<void> {
  if (again !== password) throw fieldError('password_again', 'invalid_value', 'does not match the first one')
  await resetPassword(deps, { token, password }, actor)
}
