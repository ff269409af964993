import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password-policy.ts'

/** The hash of a password that an admin sets for an address. Throws `validation_failed` naming `password`. */
export async function hashNewPassword(deps: Deps, password: string, email: string, actor: Actor): Promise<string> {
  const fault = passwordFault(password, email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  return deps.passwords.hash(password, hashLineOf(actor))
}
