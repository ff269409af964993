import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { logout } from '../refresh/refresh.ts'
import { register } from '../registration/register.ts'
import type { InvitationOffer } from './describe-invitation.ts'
import type { InvitationAnswers } from './schema.ts'

export interface InvitationOutcome {
  created: boolean
  /** Whether the user may enter the app. A new account may have to wait. */
  access: 'granted' | 'pending' | 'unverified'
}

/**
 * Accepts an invitation with an existing or a new account. This is `register_or_login` with the invitation, with all its limits.
 * The page cannot keep tokens, so the session is ended at once. Throws what such a registration throws.
 */
export async function enterByInvitation(
  deps: Deps<Pool>,
  { token, app, answers }: { token: string; app: NonNullable<InvitationOffer['app']>; answers: InvitationAnswers },
  actor: Actor,
): Promise<InvitationOutcome> {
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
  // Webhooks receive only the fields that the form asked for.
  const answer = await register(deps, { ...named, ...unused, two_factor_code }, () => named, actor)
  if (answer.refresh_token !== undefined) await logout(deps, answer.refresh_token, actor)
  return { created: answer.created, access: answer.access }
}
