import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { denyRequestsOf } from '../../resources/grants/close-requests.ts'
import { recordRevocations } from '../../resources/grants/revoke-grant.ts'
import { removeInvitationsTo, removeSentInvitations } from '../../resources/invitations/remove-sent-invitations.ts'
import { lockOrganizationsOf, removeMemberships } from '../../resources/organizations/remove-member.ts'
import { raiseTokenVersion } from '../../resources/revocations/end-tokens.ts'
import { removeServiceAccount } from '../../resources/service-accounts/delete-service-account.ts'
import { listKnownTo } from '../../resources/service-accounts/list-known-to.ts'
import { findAccountsByRef } from '../../resources/users/find-users-by-ref.ts'
import { listGlobalRoles } from '../../resources/users/global-roles.ts'
import { listMemberships } from '../../resources/users/list-memberships.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { applyChanges, changeUser } from '../../resources/users/update-user.ts'
import type { OffboardUserInput, offboarding, offboardings, offboardUsersBody } from './schema.ts'

type Offboarding = z.output<typeof offboarding>
type Done = Omit<Offboarding, 'user' | 'roles'>

/** Every user holds it. */
const everyonesRole = 'base_user'

/**
 * Closes an account and everything that it can reach, in one transaction. A repeated call closes only what was added since the
 * previous one, and otherwise writes nothing. Throws `not_found`, `last_system_admin`.
 */
export async function offboardUser(
  deps: Deps<Pool>,
  userId: string,
  input: OffboardUserInput,
  actor: Actor,
): Promise<Offboarding> {
  return changeUser(deps, userId, undefined, async (deps, user) => {
    const closed = await closeAll(deps, user, actor)
    const done: Done = { ...closed, service_accounts: await closeServiceAccounts(deps, userId, input, actor) }
    const roles = (await listGlobalRoles(deps, userId)).filter((role) => role !== everyonesRole)
    if (hasDoneAnything(done)) {
      await recordEvent(deps, { event: 'user.offboarded', actor, userId, details: done })
      await raiseTokenVersion(deps, { userId, appId: null, reason: 'user.offboarded' })
    }
    return { user: presentUser({ ...user, status: 'suspended' }), ...done, roles }
  })
}

/**
 * Closes the accounts of many people, each as `offboardUser` does, one after the other. A name that matches nobody and an account
 * that must stay become failed items and do not stop the others.
 */
export async function offboardUsers(
  deps: Deps<Pool>,
  { users: names, ...input }: z.output<typeof offboardUsersBody>,
  actor: Actor,
): Promise<z.output<typeof offboardings>['items']> {
  const found = await findAccountsByRef(deps, names)
  // A rehearsal is one transaction for all of them. Two with the same people in another order would wait for each other.
  if (deps.isRehearsal) {
    const ids = [...found.values()].flatMap((accounts) => ('code' in accounts ? [] : accounts.map(({ id }) => id)))
    await transaction(deps, (deps) => User.lockAll(deps.db, ids))
  }
  const items = []
  for (const user of names) {
    const accounts = found.get(user)!
    items.push({
      user,
      ...('code' in accounts
        ? { outcome: 'failed' as const, accounts: [], ...accounts }
        : await offboardAll(deps, accounts, input, actor)),
    })
  }
  return items
}

type Item = Omit<z.output<typeof offboardings>['items'][number], 'user'>

/** The accounts of one person. */
async function offboardAll(
  deps: Deps<Pool>,
  users: readonly PooledUser[],
  input: OffboardUserInput,
  actor: Actor,
): Promise<Item> {
  const accounts: Offboarding[] = []
  let failure: Pick<Item, 'code' | 'message'> | undefined
  for (const { id, email } of users) {
    try {
      accounts.push(await offboardUser(deps, id, input, actor))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { code, message } = error
      if (code === 'last_system_admin') failure = { code, message }
      // It was deleted in the meantime.
      else if (code === 'not_found') failure = { code: 'user_not_found', message: `no user matches ${email}` }
      else throw error
    }
  }
  if (failure) return { outcome: 'failed', accounts, ...failure }
  return { outcome: accounts.some(hasDoneAnything) ? 'offboarded' : 'unchanged', accounts }
}

async function closeAll(deps: Deps<Tx>, user: PooledUser, actor: Actor): Promise<Omit<Done, 'service_accounts'>> {
  const sessions = await Session.countAlive(deps.db, user.id, deps.clock())
  const changes = await applyChanges(deps, user, { status: 'suspended' }, actor)
  await lockOrganizationsOf(deps, [user.id])
  const organizations = (await listMemberships(deps, user.id)).map(({ slug }) => slug)
  await removeMemberships(deps, user.id, actor)
  return {
    suspended: changes.status !== undefined,
    sessions,
    grants: await revokeGrants(deps, user.id, actor),
    organizations,
    access_requests: await denyRequestsOf(deps, user.id, actor),
    invitations: (await removeSentInvitations(deps, user.id, actor)) + (await removeInvitationsTo(deps, user.email, actor)),
  }
}

/** Revokes all active grants, expired ones too. Returns the codes of their apps. */
async function revokeGrants(deps: Deps<Tx>, userId: string, actor: Actor): Promise<string[]> {
  const grants = await UserApp.revokeAllOf(deps.db, userId, deps.clock())
  const apps = await App.listCodes(
    deps.db,
    grants.map(({ app_id }) => app_id),
  )
  const revoked = apps.flatMap(({ id, code }) =>
    grants.filter(({ app_id }) => app_id === id).map((grant) => ({ grant, appCode: code })),
  )
  await recordRevocations(deps, revoked, actor)
  return revoked.map(({ appCode }) => appCode).sort()
}

async function closeServiceAccounts(
  deps: Deps<Tx>,
  userId: string,
  { keep_service_accounts: keeps = false }: OffboardUserInput,
  actor: Actor,
): Promise<Offboarding['service_accounts']> {
  const accounts = await listKnownTo(deps, userId)
  if (!keeps) for (const account of accounts) await removeServiceAccount(deps, account, actor)
  return accounts.map(({ id, name, service }) => ({ id, name, service, deleted: !keeps }))
}

function hasDoneAnything({ suspended, service_accounts, grants, organizations, ...counts }: Done): boolean {
  const isDeleted = service_accounts.some(({ deleted }) => deleted)
  const { sessions, access_requests, invitations } = counts
  return suspended || isDeleted || grants.length + organizations.length + sessions + access_requests + invitations > 0
}
