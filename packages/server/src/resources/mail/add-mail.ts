import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { RequestOrigin } from '../../lib/caller.ts'
import { preferredLocale } from '../../lib/locale.ts'
import { newId } from '../../lib/uuid.ts'
import { addToOutbox, type NewOutboxMessage } from '../outbox/add-to-outbox.ts'
import type { InvitationPayload, PageOfMail, TokenMailPayload, TokenPurpose } from './token-purpose.ts'

// All functions here need the transaction that makes the change which the mail reports.

interface TokenMail {
  purpose: TokenPurpose
  email: string
  appId: string
  /**
   * Set only if the user is already known. A request by address must not look up the user: that would reveal whether the address
   * is known.
   */
  userId?: string
  redirectUrl?: string | undefined
  change?: TokenMailPayload['change']
  tokenVersion?: number
  /** For a mail that carries a code. */
  page?: PageOfMail | undefined
}

/** Queues a mail with a token. The worker finds out whether there is a recipient when it sends. */
export async function addTokenMail(deps: Deps<Tx>, mail: TokenMail, origin: RequestOrigin): Promise<void> {
  const { purpose, email, appId, userId, redirectUrl, change, tokenVersion, page } = mail
  const id = newId(deps.clock())
  const asked = {
    at: deps.clock(),
    ip: origin.ip || null,
    user_agent: origin.userAgent,
    locale: preferredLocale(origin.languages ?? ''),
  }
  const payload: TokenMailPayload = {
    ...{ redirect_url: redirectUrl ?? null, asked },
    ...(change && { change }),
    ...(tokenVersion !== undefined && { token_version: tokenVersion }),
    ...(page && { page_box: deps.secretBox.seal(JSON.stringify(page), messageContext(id)) }),
  }
  await addMail(deps, { id, name: purpose, app_id: appId, user_id: userId ?? null, destination: email }, payload)
}

/** The context that binds the sealed token of a message. */
export function messageContext(id: string): string {
  return `outbox:${id}`
}

/** Queues a mail with the token of an invitation. The outbox holds the token sealed until the mail is sent. */
export async function addInvitationMail(
  deps: Deps<Tx>,
  invitation: { id: string; email: string; appId: string | null; token: string },
  origin: RequestOrigin,
): Promise<void> {
  const id = newId(deps.clock())
  const tokenBox = deps.secretBox.seal(invitation.token, messageContext(id))
  const payload: InvitationPayload = {
    invitation_id: invitation.id,
    token_box: tokenBox,
    locale: preferredLocale(origin.languages ?? ''),
  }
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
