import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { verifyEmail } from '../email/verify-email.ts'
import { describeMailLink, type MailLink } from './describe-mail-link.ts'

/** Verifies the address of a link; answers what the link was, for the way onward. Throws `invalid_token`. */
export async function confirmEmail(deps: Deps<Pool>, token: string, actor: Actor): Promise<MailLink> {
  const link = await describeMailLink(deps, token, 'verify_email')
  await verifyEmail(deps, token, actor)
  return link
}
