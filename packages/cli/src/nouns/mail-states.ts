import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import type { AuditEvent } from './audit-events.ts'
import { textIn } from './undo-event.ts'

export type Mail = components['schemas']['Mail']

const notDue: Record<NonNullable<Mail['reason']>, string> = {
  unknown_user: 'no user of the app has the address',
  account_suspended: 'the account is suspended',
  already_verified: 'the address was verified already',
  app_inactive: 'the app is inactive or gone',
  limit_reached: 'the address had three of a kind in 15 minutes',
  no_longer_needed: 'what it was about had changed or ended',
}

/** Why a request led to no mail. */
const notQueued: Record<string, string> = {
  limit_reached: notDue.limit_reached,
  app_code_required: 'the request named no app',
  app_not_found: 'no app has the code',
  app_inactive: 'the app is inactive',
  validation_failed: 'the app does not allow the redirect URL',
}

/** What became of a mail, in a line. */
export function sayMail({ status, reason, attempts, last_error: error, finished_at: at, next_attempt_at: next }: Mail): string {
  const tries = attempts === 1 ? '1 try' : `${attempts} tries`
  if (status === 'delivered') return `sent ${at}`
  if (status === 'unsent') return `no mail: ${reason === null ? 'none was due' : notDue[reason]}`
  if (status === 'failed') return `given up ${at} after ${tries}, last error: ${error}`
  return attempts === 0 ? 'waiting for the first try' : `waiting, ${tries}, next ${next}, last error: ${error}`
}

/** What became of the mail that an event is about. Undefined if it is about none. */
export async function mailOf(api: Api, { event, reason, details }: AuditEvent): Promise<Mail | string | undefined> {
  const mailId = textIn(details, 'mail')
  if (mailId === undefined) {
    if (event !== 'mail.requested') return undefined
    return reason === null ? 'shares this event with others' : `no mail: ${notQueued[reason] ?? reason}`
  }
  try {
    return await bodyOf(api.GET('/api/v1/admin/mails/{mailId}', { params: { path: { mailId } } }))
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.ending === 'notFound') return 'no longer kept'
    throw thrown
  }
}
