import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { disownEmail } from '../email/verify-email.ts'
import { describeMailLink, type MailLink } from './describe-mail-link.ts'

/** Disowns the address of a link, and returns what the link was for. Throws `invalid_token`. */
export async function disownByLink(deps: Deps<Pool>, token: string, actor: Actor): Promise<MailLink> {
  const link = await describeMailLink(deps, token, 'verify_email')
  await disownEmail(deps, token, actor)
  return link
}
