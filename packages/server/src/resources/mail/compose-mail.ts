import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { RequestOrigin } from '../../lib/caller.ts'
import { codeOfMail } from '../../lib/codes.ts'
import { chooseLanguage, preferredLocale } from '../../lib/locale.ts'
import type { WrittenMail } from '../../lib/mail.ts'
import { poolSet } from '../../lib/pool-set.ts'
import { newId } from '../../lib/uuid.ts'
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
import { App, AppLogo } from '../../models/app.ts'
import { Invitation } from '../../models/invitation.ts'
import type { OutboxRow, UnsentReason } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { readCatalog } from '../catalog/catalog.ts'
import { addToOutbox, type NewOutboxMessage } from '../outbox/outbox.ts'
import { findUserInPools } from '../users/find-users.ts'
import type { PooledUser } from '../users/present.ts'
import { getUser } from '../users/users.ts'
import {
  type DecisionPayload,
  type InvitationPayload,
  issueMailToken,
  isTokenPurpose,
  linkPaths,
  type NoticePayload,
  ownPages,
  type PageOfMail,
  type RequestPayload,
  type TokenMailPayload,
  type TokenOrder,
  type TokenPurpose,
  whyNoToken,
} from './mail-tokens.ts'

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

/** Queues a mail with a token. The worker finds out whether there is a recipient when it sends. Returns the id of the message. */
export async function addTokenMail(deps: Deps<Tx>, mail: TokenMail, origin: RequestOrigin): Promise<string> {
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
  await addMail(deps, { id, name: purpose, app_id: appId, user_id: userId ?? null, destination: email }, payload, origin)
  return id
}

/** The context that binds the sealed token of a message. */
function messageContext(id: string): string {
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
  await addMail(deps, { ...message, priority: 1 }, payload, origin)
}

export async function addMail(
  deps: Deps<Tx>,
  message: Omit<NewOutboxMessage, 'kind' | 'payload'>,
  payload: object,
  { requestId }: Pick<RequestOrigin, 'requestId'>,
): Promise<void> {
  await addToOutbox(deps, [{ kind: 'mail', ...message, request_id: requestId, payload: JSON.stringify(payload) }])
}

/**
 * The link in a mail, in ASCII: below the app's `frontend_url`, or else below AUTH_DEFAULT_FRONTEND_URL
 * (docs/sign-users-in/account-mail.md#links). Never built from what a request claims, such as its `Host`.
 */
function buildLink(
  deps: Deps,
  app: { frontend_url: string | null } | null,
  purpose: keyof typeof linkPaths,
  { token, redirectUrl = null }: { token: string; redirectUrl?: string | null },
): string {
  const origin = asciiUrl(app?.frontend_url ?? deps.config.defaultFrontendUrl)
  const redirect = redirectUrl === null ? '' : `&redirect_url=${encodeURIComponent(redirectUrl)}`
  return `${origin}${linkPaths[purpose]}?token=${encodeURIComponent(token)}${redirect}`
}

/** A link to a page of the service itself, for pages that a frontend need not provide. */
function ownPageLink(deps: Deps, page: keyof typeof ownPages, token: string): string {
  return `${asciiUrl(deps.config.publicUrl)}${ownPages[page]}?token=${encodeURIComponent(token)}`
}

function asciiUrl(url: string): string {
  return /^[\x21-\x7e]*$/.test(url) ? url : new URL(url).href.replace(/\/$/, '')
}

/**
 * Writes the mail to send. For a mail with a token it issues the token, which ends earlier links of the same purpose
 * (`issueMailToken`), or says why there is none any more.
 */
type WriteMail = (deps: Deps<Pool>) => Promise<WrittenMail | { unsent: UnsentReason }>

/** How to write a mail, or why there is none to send. The user is the recipient, if they are known. */
export type PreparedMail = { userId: string | null } & ({ write: WriteMail } | { unsent: UnsentReason })

/**
 * Prepares a message of the outbox for sending. It changes nothing until the mail is written. With `foresees`, it says also what
 * writing the mail would find out.
 */
export async function prepareMail(deps: Deps, message: OutboxRow, { foresees = false } = {}): Promise<PreparedMail> {
  if (isTokenPurpose(message.name))
    return prepareTokenMail(deps, message, message.name, JSON.parse(message.payload), { foresees })
  const write = await prepareOther(deps, message)
  return { userId: message.user_id, ...(write ? { write } : { unsent: 'no_longer_needed' }) }
}

async function prepareOther(deps: Deps, message: OutboxRow): Promise<WriteMail | undefined> {
  const payload = JSON.parse(message.payload)
  if (message.name === 'invitation') return prepareInvitation(deps, message, payload)
  if (message.name === 'access_requested') return prepareAccessRequest(deps, message, payload)
  if (message.name === 'access_approved' || message.name === 'access_denied') return prepareDecision(deps, message, payload)
  const { user_agent: userAgent, locale: asked, ...facts }: NoticePayload = payload
  const purpose = noticePurposes.find((purpose) => purpose === message.name)
  if (!purpose) throw new Error(`unknown mail ${message.name}`)
  return async (deps) => {
    const app = await findAppOfNotice(deps, message)
    return noticeMail(await senderOf(deps, app, { reader: message.user_id, asked }), purpose, { ...facts, userAgent })
  }
}

async function prepareTokenMail(
  deps: Deps,
  message: OutboxRow,
  purpose: TokenPurpose,
  { redirect_url: redirectUrl, asked, change, page_box: pageBox, token_version: tokenVersion }: TokenMailPayload,
  { foresees }: { foresees: boolean },
): Promise<PreparedMail> {
  const app =
    message.app_id === null
      ? undefined
      : await (await readCatalog(deps, message.catalog_generation)).findApp({ id: message.app_id })
  // An owner who lost an account can take it back even if the app is inactive by now.
  if (!app || (app.status !== 'active' && purpose !== 'undo_email_change'))
    return { userId: message.user_id, unsent: 'app_inactive' }
  // If the message names the user, issuing the token reads the row anyway.
  const user = message.user_id !== null && !foresees ? undefined : await findRecipient(deps, message, app)
  const userId = message.user_id ?? user?.id
  if (userId === undefined) return { userId: null, unsent: 'unknown_user' }
  const page: PageOfMail | undefined =
    pageBox === undefined ? undefined : JSON.parse(deps.secretBox.open(pageBox, messageContext(message.id)))
  const order = {
    page,
    ...{ userId, purpose, email: message.destination, app, redirectUrl, tokenVersion },
    ...(change && { accountEmail: change.account_email, change: changeIn(change, asked.at) }),
  }
  const unsent = user && whyNoToken(user, order)
  if (unsent) return { userId, unsent }
  const write: WriteMail = async (deps) => {
    const issued = await issueMailToken(deps, order)
    if ('unsent' in issued) return issued
    const { token } = issued
    const link = isOfService(purpose)
      ? ownPageLink(deps, purpose, token)
      : page?.browserHash !== undefined && app.frontend_url === null
        ? ownPageLink(deps, 'sign_in', token)
        : buildLink(deps, app, purpose, { token, redirectUrl })
    const newEmail = change?.new_email ?? null
    const code = page && codeOfMail(deps.config.encryptionKeys[0], page.codeKey)
    const origin = { at: asked.at, ip: asked.ip, userAgent: asked.user_agent ?? null }
    const disownLink = ownPageLink(deps, 'disown_email', token)
    return actionMail(await senderOf(deps, app, { reader: issued, asked: asked.locale }), purpose, {
      link,
      origin,
      newEmail,
      code,
      disownLink,
    })
  }
  return { userId, write }
}

/** Only our own pages do what these mails lead to. */
function isOfService(purpose: TokenPurpose): purpose is 'undo_email_change' | 'delete_account' | 'new_sign_in' {
  return purpose === 'undo_email_change' || purpose === 'delete_account' || purpose === 'new_sign_in'
}

/** The app through which the change was made, or else the one by which the user is most likely to know the account. */
async function findAppOfNotice(deps: Deps, { app_id: appId, user_id: userId }: OutboxRow): Promise<App | undefined> {
  const app = appId === null ? undefined : await App.find(deps.db, { id: appId })
  return app ?? (userId === null ? undefined : await UserApp.findFirstApp(deps.db, userId))
}

/** The reader of a mail, if they have an account, and the locale of the request that it answers, if that is theirs. */
interface Reading {
  reader?: string | { locale: string | null } | null
  asked?: string | undefined
}

/** What a mail for an app shows of it, and the language of the mail. */
export async function senderOf(deps: Deps, app: App | undefined, { reader = null, asked }: Reading = {}): Promise<Sender> {
  const user = typeof reader === 'string' ? await User.findById(deps.db, reader) : reader
  const logo = app?.logo ? await AppLogo.find(deps.db, { digest: app.logo }) : undefined
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
async function findRecipient(deps: Deps, message: OutboxRow, app: App): Promise<PooledUser | undefined> {
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
  const request = await AccessRequest.findFull(deps.db, { id })
  if (request?.status !== 'open') return undefined
  const { app, user } = request
  return async () => accessRequestedMail(await senderOf(deps, app, { reader }), { email: user.email, requestId: id })
}

async function prepareDecision(deps: Deps, message: OutboxRow, { reason }: DecisionPayload): Promise<WriteMail | undefined> {
  const app = message.app_id === null ? undefined : await App.find(deps.db, { id: message.app_id })
  const isApproved = message.name === 'access_approved'
  return app && (async () => accessDecidedMail(await senderOf(deps, app, { reader: message.user_id }), { isApproved, reason }))
}
