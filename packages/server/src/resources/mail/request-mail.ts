import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { addressKey } from '../../lib/client-address.ts'
import { keyedDigest } from '../../lib/digests.ts'
import { cutCode } from '../../lib/fields.ts'
import { type Language, preferredLocale } from '../../lib/locale.ts'
import { logoId, MailError } from '../../lib/mail.ts'
import type { AttemptLimit } from '../../lib/rate-limit.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import { newId } from '../../lib/uuid.ts'
import { type Sender, sampleMails, writeSample } from '../../mail/samples.ts'
import type { App } from '../../models/app.ts'
import { getActiveApp, getApp } from '../apps/apps.ts'
import { countEvent, recordEvent } from '../audit/record-event.ts'
import { type Attempt, takeAttempt } from '../rate-limits/rate-limits.ts'
import { addMail, addTokenMail, senderOf } from './compose-mail.ts'
import type { NoticePayload, NoticePurpose, PageOfMail, TokenPurpose } from './mail-tokens.ts'
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
    origin,
  )
}

/**
 * Queues a mail to an address, for any caller, as `queueMail` does. Returns the app, and whether the mail was queued. Throws
 * `app_code_required`, `app_not_found`, `app_inactive`, and `validation_failed` for a redirect URL that the app does not allow; the
 * audit counts these.
 */
export async function requestMail(
  deps: Deps<Pool>,
  purpose: TokenPurpose,
  request: MailRequest,
  actor: Actor,
  page?: PageOfMail,
): Promise<{ app: App; isQueued: boolean }> {
  const { email, redirect_url: redirectUrl } = request
  const app = await getMailingApp(deps, request).catch(async (error: unknown) => {
    if (error instanceof ApiError) {
      const code = request.app_code === undefined ? undefined : cutCode(request.app_code)
      const details = { purpose, email, ...(code !== undefined && { app_code: code }) }
      // Callers can make up as many codes as they like.
      const key = [addressKey(actor.origin.ip), purpose, error.code, ...(error.code === 'app_not_found' ? [] : [code ?? ''])]
      await countEvent(deps, { event: 'mail.requested', actor, reason: error.code, email, details }, key)
    }
    throw error
  })
  return { app, isQueued: await queueMail(deps, { purpose, email, app, redirectUrl, page }, actor) }
}

async function getMailingApp(deps: Deps, { app_code: code, redirect_url: redirectUrl }: MailRequest): Promise<App> {
  if (code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  const app = await getActiveApp(deps, code)
  if (redirectUrl !== undefined && !matchesRedirectUrl(redirectUrl, app.allowed_redirect_urls))
    throw fieldError('redirect_url', 'invalid_value', 'is not one of the allowed_redirect_urls of the app')
  return app
}

interface AskedMail {
  purpose: TokenPurpose
  email: string
  app: App
  redirectUrl?: string | undefined
  page?: PageOfMail | undefined
}

/** Requests from one address for one app in a minute that have an event of their own. */
const ownEvents = { count: 20, seconds: 60 }

/**
 * Queues a mail to an address. It does not look up whether a user has the address, the worker does: known and unknown addresses run
 * the same statements, even once the limit of three is reached. The audit has an event for each of the first 20 requests that an IP
 * address sends for an app within a minute. All further ones cost the caller nothing, so they share events. Returns whether the
 * mail was queued.
 */
export async function queueMail(
  deps: Deps<Pool>,
  { purpose, email, app, redirectUrl, page }: AskedMail,
  actor: Actor,
): Promise<boolean> {
  const address = addressKey(actor.origin.ip)
  const details = { purpose, email, ...(page && { code: true }) }
  const about = { event: 'mail.requested', actor, appId: app.id, email } as const
  const hasOwn = (await takeIfFree(deps, `mail-audit:${app.id}:${address}`, ownEvents)) !== undefined
  // Count per app: requests through another app must not use up the user's requests here.
  if (!(await takeMailSlot(deps, 'asked', purpose, email, app.id))) {
    const key = [address, app.id, purpose, 'limit_reached', ...(hasOwn ? [email] : [])]
    await countEvent(deps, { ...about, reason: 'limit_reached', details }, key)
    return false
  }
  const mail = await transaction(deps, async (deps) => {
    const id = await addTokenMail(deps, { purpose, email, appId: app.id, redirectUrl, page }, actor.origin)
    if (hasOwn) await recordEvent(deps, { ...about, details: { ...details, mail: id } })
    return id
  })
  if (!hasOwn) await countEvent(deps, { ...about, details: { ...details, mail } }, [address, app.id, purpose])
  return true
}

async function takeIfFree(deps: Deps<Pool>, key: string, limit: AttemptLimit): Promise<Attempt | undefined> {
  try {
    return await takeAttempt(deps, key, limit)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
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
    const attempt = await takeIfFree(deps, `${key}:${slot}`, { count: 1, seconds })
    if (attempt) return attempt
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
