import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { isUnproven } from '../lib/account-record.ts'
import { MailError } from '../lib/mail.ts'
import { noticePurposes } from '../mail/texts/mail-texts.ts'
import { App } from '../models/app.ts'
import type { OutboxRow } from '../models/outbox-message.ts'
import { recordEvent, systemActor } from '../resources/audit/record-event.ts'
import { takeInvitationSlot, takeMailSlot } from '../resources/mail/mail.ts'
import { isTokenPurpose } from '../resources/mail/mail-tokens.ts'
import { findRecipient, prepareMail } from '../resources/mail/messages.ts'
import type { AttemptOutcome, FailedAttempt } from '../resources/outbox/outbox.ts'
import { type Attempt, giveBackAttempt } from '../resources/rate-limits/rate-limits.ts'
import { getUser } from '../resources/users/users.ts'
import type { Channel } from './outbox.ts'
import { mailWaitsMs } from './retries.ts'

/** Account mail (docs/sign-users-in/account-mail.md). A finished message loses its payload and its address, which may be a stranger's. */
export const mailChannel: Channel = {
  atOnce: 5,
  // One at a time: only the newest link works, so it should arrive last.
  atOncePerDestination: 1,
  waitsMs: mailWaitsMs,
  remains: { payload: '{}', destination: '' },
  attempt: sendMail,
  onGivenUp: recordGivenUp,
}

const nothingToSend: AttemptOutcome = { result: 'delivered' }

async function sendMail(deps: Deps<Pool>, message: OutboxRow): Promise<AttemptOutcome> {
  const write = await prepareMail(deps, message)
  if (!write) return nothingToSend
  const takeSlot = await limitOf(deps, message)
  const slot = await takeSlot?.()
  if (takeSlot && !slot) {
    if (message.name !== 'invitation') return nothingToSend
    return { result: 'failed', isFinal: true, error: 'three invitations were sent to this address in 24 hours' }
  }
  try {
    const mail = await write()
    if (mail) await deps.mailer.send({ id: message.id, to: message.destination, at: deps.clock(), ...mail })
    else await giveBackAttempt(deps, slot)
    return { result: 'delivered' }
  } catch (error) {
    await giveBackAttempt(deps, slot)
    if (!(error instanceof MailError)) throw error
    const { message, status, isFinal } = error
    return { result: 'failed', error: message, isFinal, ...(status === undefined ? {} : { status }) }
  }
}

/**
 * Returns how to take a slot for a mail that a stranger can have sent to an address, or undefined for any other. A stranger who
 * registered an address can change the account, or register it and delete it, again and again, so its notices are limited until
 * the account is proven. What the owner of an account must learn is not.
 */
async function limitOf(
  deps: Deps<Pool>,
  { name, destination, user_id: userId }: OutboxRow,
): Promise<(() => Promise<Attempt | undefined>) | undefined> {
  if (name === 'invitation') return () => takeInvitationSlot(deps, destination)
  const isNotice = noticePurposes.some((purpose) => purpose === name)
  const isLimited = isNotice
    ? userId !== null && isUnproven(await getUser(deps, userId))
    : isTokenPurpose(name) && name !== 'undo_email_change'
  return isLimited ? () => takeMailSlot(deps, 'sent', name, destination) : undefined
}

/** Records a mail that was given up, so that an operator finds it in the audit. */
async function recordGivenUp(deps: Deps, message: OutboxRow, outcome: FailedAttempt): Promise<void> {
  const app = message.app_id === null ? undefined : await App.findById(deps.db, message.app_id)
  const user = app && (await findRecipient(deps, message, app))
  const { status = null, error, isFinal } = outcome
  await recordEvent(deps, {
    event: 'mail.failed',
    actor: systemActor,
    userId: message.user_id ?? user?.id ?? null,
    appId: message.app_id,
    reason: isFinal ? 'refused' : 'not_delivered',
    details: { purpose: message.name, email: message.destination, attempts: message.attempts + 1, status, error },
  })
}
