import type { Pool, Tx } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { isUnproven } from '../lib/account-record.ts'
import { MailError } from '../lib/mail.ts'
import { noticePurposes } from '../mail/texts/mail-texts.ts'
import { OutboxMessage, type OutboxRow } from '../models/outbox-message.ts'
import { User } from '../models/user.ts'
import { recordEvent, systemActor } from '../resources/audit/record-event.ts'
import { prepareMail } from '../resources/mail/compose-mail.ts'
import { isTokenPurpose } from '../resources/mail/mail-tokens.ts'
import { takeInvitationSlot, takeMailSlot } from '../resources/mail/request-mail.ts'
import type { AttemptOutcome, FailedAttempt } from '../resources/outbox/outbox.ts'
import { type Attempt, giveBackAttempt } from '../resources/rate-limits/rate-limits.ts'
import { getUser } from '../resources/users/users.ts'
import type { Channel } from './outbox.ts'
import { mailWaitsMs } from './retries.ts'

/**
 * Account mail (docs/sign-users-in/account-mail.md). A message that was sent, or was not to be, loses its payload and its address,
 * which may be a stranger's. One that was given up keeps both, so that it can be sent again.
 */
export const mailChannel: Channel = {
  atOnce: 5,
  // One at a time: only the newest link works, so it should arrive last.
  atOncePerDestination: 1,
  waitsMs: mailWaitsMs,
  remains: { payload: '{}', destination: '' },
  attempt: sendMail,
  onGivenUp: recordGivenUp,
}

async function sendMail(deps: Deps<Pool>, message: OutboxRow): Promise<AttemptOutcome> {
  const prepared = await prepareMail(deps, message)
  const { userId } = prepared
  if ('unsent' in prepared) return { result: 'unsent', reason: prepared.unsent, userId }
  const takeSlot = await limitOf(deps, message)
  const slot = await takeSlot?.()
  if (takeSlot && !slot) {
    if (message.name !== 'invitation') return { result: 'unsent', reason: 'limit_reached', userId }
    return { result: 'failed', isFinal: true, error: 'three invitations were sent to this address in 24 hours' }
  }
  try {
    const mail = await prepared.write(deps)
    if ('unsent' in mail) {
      await giveBackAttempt(deps, slot)
      return { result: 'unsent', reason: mail.unsent, userId }
    }
    await deps.mailer.send({ id: message.id, to: message.destination, at: deps.clock(), ...mail })
    return { result: 'delivered', userId }
  } catch (error) {
    await giveBackAttempt(deps, slot)
    if (!(error instanceof MailError)) throw error
    const { message, status, isFinal } = error
    return { result: 'failed', userId, error: message, isFinal, ...(status === undefined ? {} : { status }) }
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

/** Records a mail that was given up, so that an operator finds it in the audit. What was for a deleted user is not kept. */
async function recordGivenUp(deps: Deps<Tx>, message: OutboxRow, outcome: FailedAttempt): Promise<void> {
  const userId = message.user_id ?? outcome.userId ?? null
  const user = userId === null ? undefined : await User.findById(deps.db, userId)
  if (user?.status === 'deleted') await OutboxMessage.dropGivenUp(deps.db, user)
  const { status = null, error, isFinal } = outcome
  await recordEvent(deps, {
    event: 'mail.failed',
    actor: systemActor,
    userId,
    appId: message.app_id,
    reason: isFinal ? 'refused' : 'not_delivered',
    details: {
      ...{ purpose: message.name, email: message.destination, attempts: message.attempts + 1, status, error },
      mail: message.id,
    },
  })
}
