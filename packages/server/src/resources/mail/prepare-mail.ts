import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { chooseLanguage } from '../../lib/locale.ts'
import type { WrittenMail } from '../../lib/mail.ts'
import { codeOfMail } from '../../lib/mail-code.ts'
import { poolSet } from '../../lib/pool-set.ts'
import {
  accessDecidedMail,
  accessRequestedMail,
  actionMail,
  invitationMail,
  noticeMail,
  type Sender,
} from '../../mail/templates.ts'
import { noticePurposes } from '../../mail/texts/mail-texts.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { App } from '../../models/app.ts'
import { AppLogo } from '../../models/app-logo.ts'
import { Invitation } from '../../models/invitation.ts'
import type { OutboxRow } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { findUserInPools } from '../users/find-user-in-pools.ts'
import { getUser } from '../users/get-user.ts'
import type { PooledUser } from '../users/present.ts'
import { messageContext } from './add-mail.ts'
import { buildLink, ownPageLink } from './build-link.ts'
import { issueMailToken, mayHaveToken, type TokenOrder } from './issue-mail-token.ts'
import {
  type DecisionPayload,
  type InvitationPayload,
  isTokenPurpose,
  type NoticePayload,
  type PageOfMail,
  type RequestPayload,
  type TokenMailPayload,
  type TokenPurpose,
} from './token-purpose.ts'

/**
 * Writes the mail to send. For a mail with a token it issues the token, which ends earlier links of the same purpose
 * (`issueMailToken`). Returns undefined if there is no longer a recipient.
 */
export type WriteMail = () => Promise<WrittenMail | undefined>

/** Prepares a message of the outbox for sending. Returns undefined if there is no recipient or the mail is no longer needed. */
export async function prepareMail(deps: Deps<Pool>, message: OutboxRow): Promise<WriteMail | undefined> {
  const payload = JSON.parse(message.payload)
  if (isTokenPurpose(message.name)) return prepareTokenMail(deps, message, message.name, payload)
  if (message.name === 'invitation') return prepareInvitation(deps, message, payload)
  if (message.name === 'access_requested') return prepareAccessRequest(deps, message, payload)
  if (message.name === 'access_approved' || message.name === 'access_denied') return prepareDecision(deps, message, payload)
  const { user_agent: userAgent, locale: asked, ...facts }: NoticePayload = payload
  const purpose = noticePurposes.find((purpose) => purpose === message.name)
  if (!purpose) throw new Error(`unknown mail ${message.name}`)
  return async () => {
    const app = await findAppOfNotice(deps, message)
    return noticeMail(await senderOf(deps, app, { reader: message.user_id, asked }), purpose, { ...facts, userAgent })
  }
}

async function prepareTokenMail(
  deps: Deps<Pool>,
  message: OutboxRow,
  purpose: TokenPurpose,
  { redirect_url: redirectUrl, asked, change, page_box: pageBox, token_version: tokenVersion }: TokenMailPayload,
): Promise<WriteMail | undefined> {
  if (message.app_id === null) return undefined
  const isUndo = purpose === 'undo_email_change'
  // An owner who lost an account can take it back even if the app is inactive by now.
  const app = await App.find(deps.db, { id: message.app_id, ...(isUndo ? {} : { status: 'active' as const }) })
  const user = app && (await findRecipient(deps, message, app))
  if (!app || !user) return undefined
  const page: PageOfMail | undefined =
    pageBox === undefined ? undefined : JSON.parse(deps.secretBox.open(pageBox, messageContext(message.id)))
  const order = {
    page,
    ...{ userId: user.id, purpose, email: message.destination, app, redirectUrl, tokenVersion },
    ...(change && { accountEmail: change.account_email, change: changeIn(change, asked.at) }),
  }
  if (!mayHaveToken(user, order)) return undefined
  return async () => {
    const token = await issueMailToken(deps, order)
    if (token === undefined) return undefined
    const link = isOfService(purpose)
      ? ownPageLink(deps, purpose, token)
      : page?.browserHash !== undefined && app.frontend_url === null
        ? ownPageLink(deps, 'sign_in', token)
        : buildLink(deps, app, purpose, { token, redirectUrl })
    const newEmail = change?.new_email ?? null
    const code = page && codeOfMail(deps.config.encryptionKeys[0], page.codeKey)
    const origin = { at: asked.at, ip: asked.ip, userAgent: asked.user_agent ?? null }
    const disownLink = ownPageLink(deps, 'disown_email', token)
    return actionMail(await senderOf(deps, app, { reader: user.id, asked: asked.locale }), purpose, {
      link,
      origin,
      newEmail,
      code,
      disownLink,
    })
  }
}

/** Only our own pages do what these mails lead to. */
function isOfService(purpose: TokenPurpose): purpose is 'undo_email_change' | 'delete_account' | 'new_sign_in' {
  return purpose === 'undo_email_change' || purpose === 'delete_account' || purpose === 'new_sign_in'
}

/** The app through which the change was made, or else the one by which the user is most likely to know the account. */
async function findAppOfNotice(deps: Deps, { app_id: appId, user_id: userId }: OutboxRow): Promise<App | undefined> {
  const app = appId === null ? undefined : await App.findById(deps.db, appId)
  return app ?? (userId === null ? undefined : await UserApp.findFirstApp(deps.db, userId))
}

/** The reader of a mail, if they have an account, and the locale of the request that it answers, if that is theirs. */
interface Reading {
  reader?: string | null
  asked?: string | undefined
}

/** What a mail for an app shows of it, and the language of the mail. */
export async function senderOf(deps: Deps, app: App | undefined, { reader = null, asked }: Reading = {}): Promise<Sender> {
  const user = reader === null ? undefined : await User.findById(deps.db, reader)
  const logo = app?.logo ? await AppLogo.findByDigest(deps.db, app.logo) : undefined
  return {
    app: app && { name: app.name, code: app.code, brand: app.brand, logo },
    service: new URL(deps.config.publicUrl).host,
    language: chooseLanguage([user?.locale, asked, app?.brand.default_language]),
  }
}

function changeIn(change: NonNullable<TokenMailPayload['change']>, askedAt: number): NonNullable<TokenOrder['change']> {
  const { mailbox_proven_at: mailboxProvenAt, new_email: newEmail = null, asked_at: firstAskedAt = askedAt } = change
  return { askedAt: firstAskedAt, newEmail, mailboxProvenAt }
}

/** The recipient of a mail: the user of the message, or else the user of the app who has the address. */
export async function findRecipient(deps: Deps, message: OutboxRow, app: App): Promise<PooledUser | undefined> {
  return message.user_id === null ? findUserInPools(deps, message.destination, poolSet(app)) : getUser(deps, message.user_id)
}

async function prepareInvitation(deps: Deps, message: OutboxRow, payload: InvitationPayload): Promise<WriteMail | undefined> {
  const key = { id: payload.invitation_id, email: message.destination }
  const invitation = await Invitation.findOpen(deps.db, key, deps.clock())
  if (!invitation) return undefined
  const { organization, app = null, expires_at: expiresAt } = invitation
  const token = deps.secretBox.open(payload.token_box, messageContext(message.id))
  const inviting = { name: organization.name, code: organization.slug }
  // The one who invites may read another language than those who use the app.
  const asked = app?.brand.default_language ?? payload.locale
  return async () =>
    invitationMail(
      await senderOf(deps, app ?? undefined, { asked }),
      inviting,
      buildLink(deps, app, 'invitation', { token }),
      expiresAt,
    )
}

/** Returns undefined once the request is decided. */
async function prepareAccessRequest(
  deps: Deps,
  { user_id: reader }: OutboxRow,
  { request_id: id }: RequestPayload,
): Promise<WriteMail | undefined> {
  const request = await AccessRequest.find(deps.db, { id })
  if (request?.status !== 'open') return undefined
  const { app, user } = request
  return async () => accessRequestedMail(await senderOf(deps, app, { reader }), { email: user.email, requestId: id })
}

async function prepareDecision(deps: Deps, message: OutboxRow, { reason }: DecisionPayload): Promise<WriteMail | undefined> {
  const app = message.app_id === null ? undefined : await App.find(deps.db, { id: message.app_id })
  const isApproved = message.name === 'access_approved'
  return app && (async () => accessDecidedMail(await senderOf(deps, app, { reader: message.user_id }), { isApproved, reason }))
}
