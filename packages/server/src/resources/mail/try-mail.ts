import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Language } from '../../lib/locale.ts'
import { logoId, MailError } from '../../lib/mail.ts'
import { newId } from '../../lib/uuid.ts'
import { type Sender, sampleMails, writeSample } from '../../mail/samples.ts'
import { getApp } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { takeAttempt } from '../rate-limits/take-attempt.ts'
import { senderOf } from './prepare-mail.ts'

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
