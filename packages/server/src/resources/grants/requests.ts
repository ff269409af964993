import type { Pool, Tx } from '../../db/handle.ts'
import { forUpdate } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { newId } from '../../lib/uuid.ts'
import { AccessRequest, type FullRequest } from '../../models/access-request.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { autoGrants } from '../apps/app-settings.ts'
import { getApp } from '../apps/apps.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addMail } from '../mail/compose-mail.ts'
import type { RequestPayload } from '../mail/mail-tokens.ts'
import { lockAdministrationOf } from '../users/administration.ts'
import type { PooledUser } from '../users/present.ts'
import { getUser, lockUser, lockUserRow } from '../users/users.ts'
import { closeRequests } from './close-requests.ts'
import { findGrantState, giveGrant } from './grants.ts'
import type { GrantInput } from './schema.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MOST_A_DAY = 5
/** About how many mails an hour an admin gets for an app, however many users ask. The list has all requests. */
const MOST_MAILS = 20
/** How many admins get a mail. No deployment is expected to have more. */
const MOST_TOLD = 50

interface Asking {
  user: PooledUser
  app: App
  message: string | null
}

/**
 * Asks the admins to let an authenticated user into an app. A user has at most one open request per app; asking again returns
 * that one. Throws `email_unverified`, `account_suspended`, `access_granted`, `rate_limited`, and `invalid_credentials` if the user
 * was deleted meanwhile.
 */
export async function openRequest(
  deps: Deps<Pool>,
  { user, app, message }: Asking,
  actor: Actor,
): Promise<{ request: FullRequest; isNew: boolean }> {
  // An admin decides by the address, so it must be the user's.
  if (!hasProvenAddress(user))
    throw new ApiError('email_unverified', {
      detail: 'Verify the address with the link from a mail together with the password, or sign in with a magic link',
    })
  return transaction(deps, async (deps) => {
    // Giving a grant, deciding a request and closing the account take the same lock.
    await lockUserRow(deps, user.id)
    const { status } = await getUser(deps, user.id)
    if (status !== 'active') throw new ApiError(status === 'deleted' ? 'invalid_credentials' : 'account_suspended')
    const grant = await findGrantState(deps, user.id, app.id)
    if (grant.isActive || (!grant.exists && autoGrants(app, { email: user.email, isInvited: false })))
      throw new ApiError('access_granted')
    const known = await AccessRequest.findFull(deps.db, { user_id: user.id, app_id: app.id, status: 'open' })
    if (known) return { request: known, isNew: false }
    await refuseMoreThanDaily(deps, user.id)
    const tellsAdmins = await isMailDue(deps, app.id)
    const request = { id: newId(deps.clock()), user_id: user.id, app_id: app.id, message, created_at: deps.clock() }
    await AccessRequest.insert(deps.db, { ...request, status: 'open' })
    await recordEvent(deps, {
      event: 'grant.requested',
      actor,
      userId: user.id,
      appId: app.id,
      details: { request_id: request.id },
    })
    if (tellsAdmins) await tellAdmins(deps, request, actor)
    return { request: await getRequest(deps, request.id), isNew: true }
  })
}

async function refuseMoreThanDaily(deps: Deps<Tx>, userId: string): Promise<void> {
  const oldest = await findTimeOfNewest(deps, { user_id: userId }, MOST_A_DAY)
  const retryAfter = ((oldest ?? 0) + DAY_MS - deps.clock()) / 1000
  if (retryAfter > 0) throw new ApiError('rate_limited', { retryAfter })
}

async function isMailDue(deps: Deps<Tx>, appId: string): Promise<boolean> {
  const oldest = await findTimeOfNewest(deps, { app_id: appId }, MOST_MAILS)
  return oldest === undefined || oldest <= deps.clock() - HOUR_MS
}

/** When the oldest of the newest `count` requests was made. Undefined if there are fewer. */
async function findTimeOfNewest(
  deps: Deps<Tx>,
  by: { user_id: string } | { app_id: string },
  count: number,
): Promise<number | undefined> {
  const newest = AccessRequest.list(deps.db, by).orderBy('id', 'desc')
  return (
    await newest
      .offset(count - 1)
      .first()
      .select('created_at')
  )?.created_at
}

async function tellAdmins(deps: Deps<Tx>, request: { id: string; app_id: string }, { origin }: Actor): Promise<void> {
  const payload: RequestPayload = { request_id: request.id }
  const admins = await User.listActiveHolders(deps.db, SYSTEM_ADMIN)
  for (const { id, email } of admins.slice(0, MOST_TOLD))
    await addMail(deps, { name: 'access_requested', app_id: request.app_id, user_id: id, destination: email }, payload, origin)
}

/** The access requests, newest first. Throws `not_found` if the app does not exist. */
export async function listRequests(
  deps: Deps,
  {
    status,
    app,
    user_id,
  }: { status?: AccessRequest['status'] | undefined; app?: string | undefined; user_id?: string | undefined },
  request: PageRequest,
): Promise<Page<FullRequest>> {
  const appId = app === undefined ? undefined : (await getApp(deps, app)).id
  const filter = { ...(status && { status }), ...(appId && { app_id: appId }), ...(user_id && { user_id }) }
  return AccessRequest.listPage(deps.db, filter, request)
}

/**
 * Decides an open request. If several admins decide at once, one decision wins. `carryOut` must close the request. Throws
 * `not_found`, `access_request_decided`, and what `carryOut` throws.
 */
async function decideRequest(
  deps: Deps<Pool>,
  id: string,
  carryOut: (deps: Deps<Tx>, request: FullRequest) => Promise<void>,
): Promise<FullRequest> {
  return transaction(deps, async (deps) => {
    const request = await getRequest(deps, id)
    // Lock the user before the request, in the same order as giving a grant.
    await lockUser(deps, request.user_id)
    await lockAdministrationOf(deps, request.user_id)
    const locked = await forUpdate(deps.db, AccessRequest.find(deps.db, { id }).select('id', 'status'))
    if (locked?.status !== 'open') throw new ApiError('access_request_decided')
    await carryOut(deps, request)
    return getRequest(deps, id)
  })
}

/** Throws `not_found`. */
export async function getRequest(deps: Deps, id: string): Promise<FullRequest> {
  const request = await AccessRequest.findFull(deps.db, { id })
  if (!request) throw new ApiError('not_found', { detail: 'No access request has this id' })
  return request
}

/**
 * Grants the user of a request access to the app, by the rules of any other grant. Throws what `decideRequest` throws, and
 * `validation_failed`.
 */
export async function approveRequest(deps: Deps<Pool>, id: string, input: GrantInput, actor: Actor): Promise<FullRequest> {
  return decideRequest(deps, id, async (deps, { user_id, app_id }) => {
    // Giving the grant also closes the open request.
    await giveGrant(deps, { userId: user_id, appRef: app_id, ...input }, actor)
  })
}

/** Denies a request. The user sees the reason. Throws what `decideRequest` throws. */
export async function denyRequest(
  deps: Deps<Pool>,
  id: string,
  { reason = null }: { reason?: string | null | undefined },
  actor: Actor,
): Promise<FullRequest> {
  return decideRequest(deps, id, (deps, { user, app }) =>
    closeRequests(deps, { app, users: [user], status: 'denied', reason }, actor),
  )
}
