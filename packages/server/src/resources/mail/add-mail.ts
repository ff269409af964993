import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { RequestOrigin } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { addToOutbox, type NewOutboxMessage } from '../outbox/add-to-outbox.ts'
import type { InvitationPayload, TokenMailPayload, TokenPurpose } from './token-purpose.ts'

// All of these need the transaction of what the mail tells about.

interface TokenMail {
  purpose: TokenPurpose
  email: string
  appId: string
  /** Where the user is known without looking; who asks by an address must not be made to look. */
  userId?: string
  redirectUrl?: string | undefined
  change?: TokenMailPayload['change']
}

/** Asks for a mail with a token. Whether anybody gets one is found out when it is sent. */
export async function addTokenMail(deps: Deps<Tx>, mail: TokenMail, origin: RequestOrigin): Promise<void> {
  const { purpose, email, appId, userId, redirectUrl, change } = mail
  const asked = { at: deps.clock(), ip: origin.ip || null }
  const payload: TokenMailPayload = { redirect_url: redirectUrl ?? null, asked, ...(change && { change }) }
  await addMail(deps, { name: purpose, app_id: appId, user_id: userId ?? null, destination: email }, payload)
}

/** What a message's token is sealed for. */
export function messageContext(id: string): string {
  return `outbox:${id}`
}

/** Mails the token of an invitation to the address it is for. Until it is sent the token lies sealed in the outbox. */
export async function addInvitationMail(
  deps: Deps<Tx>,
  invitation: { id: string; email: string; appId: string | null; token: string },
): Promise<void> {
  const id = newId(deps.clock())
  const tokenBox = deps.secretBox.seal(invitation.token, messageContext(id))
  const payload: InvitationPayload = { invitation_id: invitation.id, token_box: tokenBox }
  const message = { id, name: 'invitation', app_id: invitation.appId, user_id: null, destination: invitation.email }
  await addMail(deps, { ...message, priority: 1 }, payload)
}

export async function addMail(
  deps: Deps<Tx>,
  message: Omit<NewOutboxMessage, 'kind' | 'payload'>,
  payload: object,
): Promise<void> {
  await addToOutbox(deps, [{ kind: 'mail', ...message, payload: JSON.stringify(payload) }])
}
