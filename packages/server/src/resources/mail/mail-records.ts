import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { only } from '../../lib/collections.ts'
import { id, page, pageQuery, timestamp } from '../../lib/fields.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { present } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import { App } from '../../models/app.ts'
import { MailToken } from '../../models/mail-token.ts'
import {
  type MailRow,
  type MailStatus,
  OutboxMessage,
  type OutboxRow,
  type UnsentReason,
  unsentReasons,
} from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import { assertMayHelp } from '../users/administration.ts'
import { lockUserRow } from '../users/users.ts'
import { prepareMail } from './compose-mail.ts'
import { isTokenPurpose, signInCodeLifeMs, type TokenMailPayload, type TokenPurpose, tokenLifeMs } from './mail-tokens.ts'

// The mails that the service has sent, or is to send, as admins see them: what became of each, and never what it says.

const mailStatus = z.enum(['pending', 'delivered', 'failed', 'unsent'])

export const listMailsQuery = z.strictObject({
  ...pageQuery,
  user_id: id.optional().meta({
    description:
      'Mails to this user. A mail that was asked for by address gets its user with the first attempt; until then it is listed for ' +
      'each user with the address',
  }),
  status: mailStatus.optional(),
})

export const mailRecord = z
  .object({
    id,
    purpose: z.string().meta({ description: 'Which mail, such as `reset_password`' }),
    user_id: id
      .nullable()
      .meta({ description: 'The recipient. Null for an invitation, and if no user of the app has the address' }),
    user: z.string().nullable().meta({ description: 'The recipient now, as `email@@pool`. Null for a deleted user' }),
    app_id: id.nullable(),
    app_code: z.string().nullable(),
    email: z
      .string()
      .nullable()
      .meta({ description: 'Where it goes. Null once it was sent, if none was due, and if the user was deleted' }),
    status: mailStatus.meta({
      description:
        '`pending`: waits for its first attempt or another one; `delivered`: the mail server has accepted it; `failed`: given up; ' +
        '`unsent`: none was due, `reason` says why',
    }),
    reason: z.enum(unsentReasons).nullable(),
    attempts: z.int().meta({ description: 'Number of finished attempts, since it was last sent again if it was' }),
    last_status: z.int().nullable().meta({ description: 'Reply code of the mail server to the last attempt' }),
    last_error: z.string().nullable(),
    request_id: z.string().nullable().meta({ description: '`X-Request-Id` of the request that led to it' }),
    created_at: timestamp,
    next_attempt_at: timestamp
      .nullable()
      .meta({ description: 'During an attempt, the time when another server would take it over. Null once finished' }),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'Mail' })
type MailRecord = z.output<typeof mailRecord>

export const mailPage = page(mailRecord)

/** Mails, newest first. */
export async function listMails(
  deps: Deps,
  { user_id: userId, status, ...request }: PageRequest & { user_id?: string | undefined; status?: MailStatus | undefined },
): Promise<Page<MailRecord>> {
  const user = userId === undefined ? undefined : await User.findById(deps.db, userId)
  const of = userId === undefined ? undefined : { userId, email: user?.status === 'deleted' ? '' : (user?.email ?? '') }
  const rows = await OutboxMessage.listMails(deps.db, { of, status, before: request.cursor, limit: rowsToRead(request) })
  const { items, nextCursor } = pageOf(rows, request, ({ id }) => id)
  return { items: await presentMails(deps, items), nextCursor }
}

/** Throws `not_found`. */
export async function getMail(deps: Deps, id: string): Promise<MailRecord> {
  return presentMail(deps, await getMessage(deps, id))
}

/**
 * Sends a mail again that was given up, to the same address and with all attempts of a new one. If it has a link, the new mail has
 * a new one. Of concurrent calls one succeeds. Throws `not_found`, `mail_pending`, `mail_not_kept`, and `mail_outdated` if the
 * link or code of the last attempt would be dead, or the mail is no longer due.
 */
export async function resendMail(deps: Deps<Pool>, id: string, actor: Actor): Promise<MailRecord> {
  return transaction(deps, async (deps) => {
    const message = await getMessage(deps, id)
    if (message.status === 'pending') throw new ApiError('mail_pending')
    const { name: purpose, app_id: appId, user_id: recipient } = message
    if (recipient !== null) {
      await lockUserRow(deps, recipient)
      await assertMayHelp(deps, recipient, actor)
    }
    const isKept = message.status === 'failed' && message.unsent === null && message.destination !== ''
    if (!isKept) throw new ApiError('mail_not_kept', { detail: `${whyNotKept(message)}. ${instead(purpose)}` })
    const prepared = await prepareMail(deps, message, { foresees: true })
    const { userId } = prepared
    const why = 'unsent' in prepared ? sayUnsent[prepared.unsent] : await whyOutdated(deps, message, userId)
    if (why !== undefined) throw new ApiError('mail_outdated', { detail: `${why}. ${instead(purpose)}` })
    if (!(await OutboxMessage.requeueMail(deps.db, id, deps.clock()))) throw new ApiError('mail_pending')
    deps.afterCommit?.push(() => deps.outboxBell.ring('mail'))
    await recordEvent(deps, { event: 'mail.resent', actor, userId, appId, details: { purpose, mail: id } })
    return presentMail(deps, await getMessage(deps, id))
  })
}

async function getMessage(deps: Deps, id: string): Promise<OutboxRow> {
  const message = await OutboxMessage.find(deps.db, { id, kind: 'mail' })
  if (!message) throw new ApiError('not_found', { detail: 'No mail has this id' })
  return message
}

function whyNotKept({ status, unsent }: OutboxRow): string {
  if (status === 'delivered') return 'The mail server has accepted this mail, and its content is not kept'
  return unsent === null ? 'The content of this mail is gone, as its user is' : `There was no mail to send: ${sayUnsent[unsent]}`
}

const sayUnsent: Record<UnsentReason, string> = {
  unknown_user: 'no user of the app has the address',
  account_suspended: 'the account is suspended',
  already_verified: 'the address is verified',
  app_inactive: 'the app is inactive or gone',
  limit_reached: 'three mails of this kind were sent to the address in 15 minutes',
  no_longer_needed: 'what the mail is about has changed or ended since',
}

/** Why the link or code of the last attempt would not work now. A mail without one is never outdated. */
async function whyOutdated(deps: Deps, message: OutboxRow, userId: string | null): Promise<string | undefined> {
  const { name: purpose, finished_at: endedAt } = message
  if (!isTokenPurpose(purpose) || userId === null || endedAt === null) return undefined
  const expiresAt = endedAt + lifeOf(purpose, message)
  if (expiresAt <= deps.clock()) return `What this mail leads to ended at ${iso(expiresAt)}`
  const ofKind = MailToken.find(deps.db, { user_id: userId, purpose }).select('token_hash')
  if (await ofKind.where('spent_at', '>=', message.created_at)) return 'A link or code of this kind was used since'
  // Each change of the address is undone separately.
  const isNewest = purpose === 'undo_email_change' || !(await OutboxMessage.hasNewerMail(deps.db, message, userId))
  return isNewest ? undefined : 'A newer mail of this kind was sent, or waits to be'
}

/** A code to sign in with ends before the link beside it. */
function lifeOf(purpose: TokenPurpose, { payload }: OutboxRow): number {
  const { page_box: page }: TokenMailPayload = JSON.parse(payload)
  return purpose === 'magic_link' && page !== undefined ? signInCodeLifeMs : tokenLifeMs[purpose]
}

/** What to do in place of sending a mail again. */
function instead(purpose: string): string {
  if (purpose === 'invitation') return 'Invite again'
  if (purpose === 'undo_email_change') return 'An admin can set the address of an account'
  if (purpose === 'new_sign_in') return 'An admin can end sessions of the user'
  return isTokenPurpose(purpose) ? 'Have the user ask for another one' : 'Tell the user in another way'
}

async function presentMail(deps: Deps, row: MailRow): Promise<MailRecord> {
  return only(await presentMails(deps, [row]))
}

async function presentMails(deps: Deps, rows: readonly MailRow[]): Promise<MailRecord[]> {
  const distinct = (ids: readonly (string | null)[]) => [...new Set(ids.filter((id) => id !== null))]
  const users = await User.listNames(deps.db, distinct(rows.map(({ user_id }) => user_id)))
  const apps = await App.listCodes(deps.db, distinct(rows.map(({ app_id }) => app_id)))
  const userOf = new Map(users.map(({ id, email, namespace }) => [id, `${email}@@${namespace}`]))
  const codeOf = new Map(apps.map(({ id, code }) => [id, code]))
  return rows.map((row) =>
    present(mailRecord, {
      ...row,
      purpose: row.name,
      user: userOf.get(row.user_id ?? '') ?? null,
      app_code: codeOf.get(row.app_id ?? '') ?? null,
      email: row.destination === '' ? null : row.destination,
      status: row.unsent === null ? row.status : 'unsent',
      reason: row.unsent,
      next_attempt_at: row.status === 'pending' ? row.next_attempt_at : null,
    }),
  )
}
