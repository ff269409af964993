import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { logout } from '../refresh/logout.ts'
import { register } from '../registration/register.ts'
import type { InvitationOffer } from './describe-invitation.ts'
import type { InvitationAnswers } from './schema.ts'

export interface Entered {
  created: boolean
  /** Whether the app may be entered; a new account may have to wait for that. */
  access: 'granted' | 'pending' | 'unverified'
}

/**
 * Accepts an invitation with an account that is there, or with a new one: `register_or_login` with the invitation, and all its limits.
 * The page has nowhere to keep tokens, so the session is ended again at once.
 * Throws what such a registration throws.
 */
export async function enterByInvitation(
  deps: Deps<Pool>,
  { token, app, answers }: { token: string; app: NonNullable<InvitationOffer['app']>; answers: InvitationAnswers },
  actor: Actor,
): Promise<Entered> {
  const { email, password, first_name, last_name, two_factor_code } = answers
  const named = {
    email,
    password,
    first_name,
    last_name,
    app_code: app.code,
    mode: 'register_or_login',
    invite_token: token,
  } as const
  const unused = {
    device_token: undefined,
    invite_code: undefined,
    organization_name: undefined,
    role_code: undefined,
    linked_app_codes: undefined,
  }
  // What webhooks are told of the body: what the form asked for.
  const answer = await register(deps, { ...named, ...unused, two_factor_code }, named, actor)
  if (answer.refresh_token !== undefined) await logout(deps, answer.refresh_token, actor)
  return { created: answer.created, access: answer.access }
}
