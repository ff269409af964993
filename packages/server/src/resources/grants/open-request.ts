import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { AttemptLimit } from '../../lib/rate-limit.ts'
import { newId } from '../../lib/uuid.ts'
import { AccessRequest, type FullRequest } from '../../models/access-request.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addMail } from '../mail/add-mail.ts'
import type { RequestPayload } from '../mail/token-purpose.ts'
import { giveBackAttempt, takeAttempt } from '../rate-limits/take-attempt.ts'
import { lockUserRow } from '../users/get-user.ts'
import type { PooledUser } from '../users/present.ts'
import { findGrantState } from './find-grant-state.ts'

const perUser: AttemptLimit = { count: 5, seconds: 86_400 }
/** However many ask, an admin gets so many mails for an app; the list has all of them. */
const mailsPerApp: AttemptLimit = { count: 20, seconds: 3_600 }
/** More admins than anybody has. */
const mostTold = 50

interface Asking {
  user: PooledUser
  app: App
  message: string | null
}

/**
 * Asks the admins to let a user into an app, who has shown that they are this user. A user has one open request for an app at most: asking
 * again gives that one. Throws `email_unverified`, `access_granted`, `rate_limited`.
 */
export async function openRequest(
  deps: Deps<Pool>,
  { user, app, message }: Asking,
  actor: Actor,
): Promise<{ request: FullRequest; isNew: boolean }> {
  if (user.email_verified_at === null) throw new ApiError('email_unverified')
  const grant = await findGrantState(deps, user.id, app.id)
  if (grant.isActive || (!grant.exists && app.auto_grant_on_signup)) throw new ApiError('access_granted')
  const open = { user_id: user.id, app_id: app.id, status: 'open' } as const
  const known = await AccessRequest.find(deps.db, open)
  if (known) return { request: known, isNew: false }
  const attempt = await takeAttempt(deps, `access_request:${user.id}`, perUser)
  const tellsAdmins = await isMailDue(deps, app.id)
  const opened = await transaction(deps, async (deps) => {
    await lockUserRow(deps, user.id)
    const request = { id: newId(deps.clock()), user_id: user.id, app_id: app.id, message, created_at: deps.clock() }
    if (!(await AccessRequest.insertOpen(deps.db, request))) return { request: await findOpen(deps, open), isNew: false }
    await recordEvent(deps, {
      event: 'grant.requested',
      actor,
      userId: user.id,
      appId: app.id,
      details: { request_id: request.id },
    })
    const admins = tellsAdmins ? await User.listActiveHolders(deps.db, 'system_admin') : []
    for (const { id, email } of admins.slice(0, mostTold)) {
      const payload: RequestPayload = { request_id: request.id }
      await addMail(deps, { name: 'access_requested', app_id: app.id, user_id: id, destination: email }, payload)
    }
    return { request: await findOpen(deps, open), isNew: true }
  })
  if (!opened.isNew) await giveBackAttempt(deps, attempt)
  return opened
}

/** Whoever decides about it waits for the user's row, which is locked. */
async function findOpen(deps: Deps<Tx>, open: { user_id: string; app_id: string; status: 'open' }): Promise<FullRequest> {
  const request = await AccessRequest.find(deps.db, open)
  if (!request) throw new Error('the open request is gone')
  return request
}

async function isMailDue(deps: Deps<Pool>, appId: string): Promise<boolean> {
  try {
    await takeAttempt(deps, `access_request_mails:${appId}`, mailsPerApp)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'rate_limited') return false
    throw error
  }
}
