import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import { keyedDigest } from '../../lib/digests.ts'
import { type Language, preferredLocale } from '../../lib/locale.ts'
import { logoId, MailError } from '../../lib/mail.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import { newId } from '../../lib/uuid.ts'
import { type Sender, sampleMails, writeSample } from '../../mail/samples.ts'
import type { App } from '../../models/app.ts'
import { getActiveApp, getApp } from '../apps/apps.ts'
import { recordEvent } from '../audit/record-event.ts'
import { type Attempt, takeAttempt } from '../rate-limits/rate-limits.ts'
import type { NoticePayload, NoticePurpose, PageOfMail, TokenPurpose } from './mail-tokens.ts'
import { addMail, addTokenMail, senderOf } from './messages.ts'
import type { MailRequest } from './schema.ts'

interface NoticeAbout {
  user: { id: string; email: string }
  appId?: string | null
  /** The code of the provider, for a change of identities. */
  provider?: string | null
}

/**
 * Queues a mail to a user about a change to what protects the account. For a change by an administrator, it shows neither IP
 * address nor user agent.
 */
export async function addNotice(
  deps: Deps<Tx>,
  purpose: NoticePurpose,
  { user, appId, provider = null }: NoticeAbout,
  { caller, origin }: Actor,
): Promise<void> {
  const isOwn = caller === undefined || (caller.kind === 'user' && caller.userId === user.id)
  const payload: NoticePayload = {
    at: deps.clock(),
    ip: isOwn ? origin.ip || null : null,
    user_agent: isOwn ? origin.userAgent : null,
    locale: isOwn ? preferredLocale(origin.languages ?? '') : undefined,
    provider,
  }
  const through = isOwn && caller?.kind === 'user' ? caller.appId : null
  await addMail(
    deps,
    { name: purpose, app_id: appId ?? through, user_id: user.id, destination: user.email, priority: 1 },
    payload,
  )
}

/**
 * Queues a mail to an address, for any caller. It does not look up whether a user has the address, the worker does: known and
 * unknown addresses run the same statements and get the same answer, even once the limit of three is reached. Returns the app,
 * and whether the mail was queued. Throws `app_code_required`, `app_not_found`, `app_inactive`, and `validation_failed` for a
 * redirect URL that the app does not allow.
 */
export async function requestMail(
  deps: Deps<Pool>,
  purpose: TokenPurpose,
  request: MailRequest,
  origin: RequestOrigin,
  page?: PageOfMail,
): Promise<{ app: App; isQueued: boolean }> {
  const { email, app_code: code, redirect_url: redirectUrl } = request
  if (code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  const app = await getActiveApp(deps, code)
  if (redirectUrl !== undefined && !matchesRedirectUrl(redirectUrl, app.allowed_redirect_urls))
    throw fieldError('redirect_url', 'invalid_value', 'is not one of the allowed_redirect_urls of the app')
  // Count per app: requests through another app must not use up the user's requests here.
  if (!(await takeMailSlot(deps, 'asked', purpose, email, app.id))) return { app, isQueued: false }
  await transaction(deps, (deps) => addTokenMail(deps, { purpose, email, appId: app.id, redirectUrl, page }, origin))
  return { app, isQueued: true }
}

const slots = 3
const accountMailSeconds = 15 * 60
const invitationSeconds = 24 * 60 * 60

/**
 * Takes one of three slots, each of which is free again after 15 minutes. Any 15 minutes therefore have at most three mails, even
 * across the end of a fixed window, with concurrent requests and several servers. Returns undefined if all slots are taken.
 */
export async function takeMailSlot(
  deps: Deps<Pool>,
  kind: 'sent' | 'asked',
  ...what: readonly string[]
): Promise<Attempt | undefined> {
  return takeSlot(deps, kind, accountMailSeconds, what)
}

/** Takes one of three slots for invitations to an address in any 24 hours, from all senders together. */
export async function takeInvitationSlot(deps: Deps<Pool>, email: string): Promise<Attempt | undefined> {
  return takeSlot(deps, 'sent', invitationSeconds, ['invitation', email])
}

async function takeSlot(
  deps: Deps<Pool>,
  kind: 'sent' | 'asked',
  seconds: number,
  what: readonly string[],
): Promise<Attempt | undefined> {
  const key = `mail-${kind}:${keyedDigest(deps.config.encryptionKeys[0], `mail-${kind}`, ...what)}`
  for (let slot = 0; slot < slots; slot += 1) {
    try {
      return await takeAttempt(deps, `${key}:${slot}`, { count: 1, seconds })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
  }
  return undefined
}

const mostTests = { count: 10, seconds: 60 * 60 }

/** A mail of an app as its readers would get it. Throws `not_found`. */
export async function previewMail(deps: Deps, ref: string, name: string, language: Language | undefined) {
  const mail = sampleMails.find((mail) => mail === name)
  if (!mail) throw new ApiError('not_found', { detail: `No mail is called ${name.slice(0, 100)}` })
  const { fromName, replyTo, subject, text, html, logo } = writeSample(await sampleSender(deps, ref, language), mail)
  const image = logo && `data:${logo.type};base64,${logo.image.toString('base64')}`
  return {
    from: fromName ?? null,
    reply_to: replyTo ?? null,
    subject,
    text,
    html: image ? html.replace(`cid:${logoId}`, image) : html,
  }
}

/**
 * Sends a test mail at once, past the outbox, so that the answer can say what the mail server did. Throws `not_found`,
 * `rate_limited`.
 */
export async function sendTestMail(
  deps: Deps<Pool>,
  ref: string,
  { to, language }: { to: string; language?: Language | undefined },
  actor: Actor,
): Promise<{ accepted: boolean; status: number | null; error: string | null }> {
  const sender = await sampleSender(deps, ref, language)
  const { id: appId } = await getApp(deps, ref)
  await takeAttempt(deps, `mail-test:${actor.caller?.kind === 'user' ? actor.caller.userId : ''}`, mostTests)
  await transaction(deps, (deps) => recordEvent(deps, { event: 'mail.tested', actor, appId, details: { to } }))
  try {
    const at = deps.clock()
    await deps.mailer.send({ id: newId(at), to, at, ...writeSample(sender, 'test') })
    return { accepted: true, status: null, error: null }
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    return { accepted: false, status: error.status ?? null, error: error.message }
  }
}

async function sampleSender(deps: Deps, ref: string, language: Language | undefined): Promise<Sender> {
  const sender = await senderOf(deps, await getApp(deps, ref))
  return { ...sender, language: language ?? sender.language }
}
