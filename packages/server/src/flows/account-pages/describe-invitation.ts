import type { Deps } from '../../deps.ts'
import { App } from '../../models/app.ts'
import { opensSignUp } from '../../resources/invitations/accept-invitation.ts'
import { getOpenInvitation } from '../../resources/invitations/get-open-invitation.ts'

/** What a page shows to the holder of an invitation link. */
export interface InvitationOffer {
  organization: { name: string; code: string }
  /** The only address that may accept it. Null if anybody may. */
  email: string | null
  /** The app through which the reader can register with a password. Null if no app allows that. */
  app: { name: string; code: string } | null
}

/** Reads an invitation without accepting it. Throws `invalid_invitation`. */
export async function describeInvitation(deps: Deps, token: string): Promise<InvitationOffer> {
  const invitation = await getOpenInvitation(deps, token)
  const { organization, app, email } = invitation
  const through = app ?? (await findDefaultApp(deps))
  const opens = through && takesPasswords(through) && (await opensSignUp(deps, invitation, through))
  return {
    organization: { name: organization.name, code: organization.slug },
    email,
    app: opens ? { name: through.name, code: through.code } : null,
  }
}

async function findDefaultApp(deps: Deps): Promise<App | undefined> {
  const { defaultAppCode: code } = deps.config
  return code === undefined ? undefined : App.find(deps.db, { code })
}

function takesPasswords({ status, sign_up: signUp, allowed_auth_methods: methods }: App): boolean {
  return status === 'active' && signUp !== 'closed' && (methods.length === 0 || methods.includes('password'))
}
