import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, refuseChanged } from '../../errors.ts'
import { unverified } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseAccessFloor, raiseTokenVersion } from '../revocations/end-tokens.ts'
import { assertEmailFree } from './assert-email-free.ts'
import { describeUser } from './describe-user.ts'
import { getUser, lockUserRow } from './get-user.ts'
import { assertAdministrableWithout } from './last-system-admin.ts'
import type { PooledUser, ShownUser } from './present.ts'
import type { UpdateUserInput, userDetail } from './schema.ts'

/**
 * Runs `change` in a transaction that locks a user's e-mail, `newEmail` if there is one, and then the user's row. No other
 * request registers, moves or tags a user of these addresses meanwhile. The address must be read before it can be locked, so this
 * starts over if the address changed in between. Throws `not_found`, also for a deleted user.
 */
export async function changeUser<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  return changeAccount(deps, userId, newEmail, (deps, user) => {
    if (user.status === 'deleted') throw new ApiError('not_found', { detail: 'No user has this id' })
    return change(deps, user)
  })
}

/** Like `changeUser`, for the holder of a link: a deleted user is changed too, so `change` must look at the status. */
export async function changeAccount<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  const { email } = await getUser(deps, userId)
  const emails = [...new Set([email, newEmail ?? email])].sort()
  const outcome = await transaction(deps, async (deps) => {
    for (const each of emails) await lockUntilCommit(deps.db, 'email', each)
    await lockUserRow(deps, userId)
    const user = await getUser(deps, userId)
    return user.email === email ? { result: await change(deps, user) } : undefined
  })
  return outcome ? outcome.result : changeAccount(deps, userId, newEmail, change)
}

type Changes = Partial<
  Pick<PooledUser, 'first_name' | 'last_name' | 'locale' | 'email' | 'email_verified_at' | 'mailbox_proven_at' | 'status'>
>

/**
 * Changes a user's names, locale, e-mail or state. A new address is unverified, and access tokens that name the old one die. Suspending
 * kills every token and session; activating brings none of them back. Throws `not_found`, `email_exists_in_pool`,
 * `last_system_admin`.
 */
export async function updateUser(
  deps: Deps<Pool>,
  userId: string,
  input: UpdateUserInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<z.output<typeof userDetail>> {
  return changeUser(deps, userId, input.email, async (deps, user) => {
    if (Object.keys(sentBack).length > 0) refuseChanged(changedMembers(sentBack, await describeUser(deps, userId)))
    const changes = await applyChanges(deps, user, input, actor)
    // An app may require a verified address. Users who change their own address verify it in the same transaction.
    if (changes.email !== undefined) await assertAdministrableWithout(deps, userId)
    const detail = await describeUser(deps, userId)
    if (changes.status === 'suspended') await raiseTokenVersion(deps, { userId, appId: null, reason: 'user.suspended' })
    else if (changes.email !== undefined) await raiseAccessFloor(deps, userId)
    return detail
  })
}

/**
 * Writes, audits and returns what the input changes. Needs a transaction that holds the lock on the user's row, and on a new
 * e-mail. Throws `email_exists_in_pool`, `last_system_admin`.
 */
export async function applyChanges(deps: Deps<Tx>, user: ShownUser, input: UpdateUserInput, actor: Actor): Promise<Changes> {
  const changes = changesOf(user, input)
  if (Object.keys(changes).length > 0) await apply(deps, user, changes, actor)
  return changes
}

/** The columns that the input changes. */
function changesOf(user: ShownUser, { first_name, last_name, locale, email, status }: UpdateUserInput): Changes {
  return {
    ...(first_name !== undefined && first_name !== user.first_name ? { first_name } : {}),
    ...(last_name !== undefined && last_name !== user.last_name ? { last_name } : {}),
    ...(locale !== undefined && locale !== user.locale ? { locale } : {}),
    ...(email !== undefined && email !== user.email ? { email, ...unverified } : {}),
    ...(status !== undefined && status !== user.status ? { status } : {}),
  }
}

async function apply(deps: Deps<Tx>, user: ShownUser, changes: Changes, actor: Actor): Promise<void> {
  if (changes.email !== undefined)
    await assertEmailFree(deps, { email: changes.email, pools: [user.namespace, ...user.tags], exceptUserId: user.id })
  await User.update(deps.db, user.id, { ...changes, updated_at: deps.clock() })
  if (changes.status === 'suspended') await assertAdministrableWithout(deps, user.id)
  const { status, ...profile } = changes
  if (Object.keys(profile).length > 0) {
    const details = { before: shown(user, profile), after: shown({ ...user, ...profile }, profile) }
    await recordEvent(deps, { event: 'user.updated', actor, userId: user.id, details })
  }
  if (status !== undefined) {
    const event = status === 'suspended' ? 'user.suspended' : 'user.activated'
    const details = { before: { status: user.status }, after: { status } }
    await recordEvent(deps, { event, actor, userId: user.id, details })
  }
}

/** The changed fields of a user as answers show them. */
function shown(user: ShownUser, changes: Changes): Record<string, unknown> {
  const record = {
    first_name: user.first_name,
    last_name: user.last_name,
    locale: user.locale,
    email: user.email,
    email_verified: user.email_verified_at !== null,
  }
  const isChanged = (field: string) => (field === 'email_verified' ? 'email_verified_at' : field) in changes
  return Object.fromEntries(Object.entries(record).filter(([field]) => isChanged(field)))
}
