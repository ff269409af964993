import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { id, list, text } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { Invitation } from '../../models/invitation.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { denyRequestsOf } from '../../resources/grants/close-requests.ts'
import { auditRevokedGrants } from '../../resources/grants/grants.ts'
import { removeInvitationsTo, removeSentInvitations } from '../../resources/invitations/invitations.ts'
import { lockOrganizationsOf, removeMemberships } from '../../resources/organizations/members.ts'
import { endAllTokens } from '../../resources/revocations/end-tokens.ts'
import { listKnownTo, removeServiceAccount } from '../../resources/service-accounts/service-accounts.ts'
import { listGlobalRoles, lockAdministrationOf } from '../../resources/users/administration.ts'
import { findAccountsByRef, listMemberships } from '../../resources/users/find-users.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { applyChanges, changeUser } from '../../resources/users/users.ts'

export const offboardUserBody = z
  .strictObject({
    keep_service_accounts: z.boolean().optional().meta({
      description: 'List the service accounts whose token was last shown to the user without deleting them. Default: false',
    }),
  })
  .meta({ id: 'OffboardUser' })
type OffboardUserInput = z.output<typeof offboardUserBody>

/** Each is a transaction of its own, and the answer must not take longer than callers wait. */
const mostPeople = 100

export const offboardUsersBody = offboardUserBody
  .extend({
    users: list(text.min(1), mostPeople, 1).meta({
      description: 'Each as a UUID, as `email@@pool`, or as an e-mail, which means the accounts in all pools',
    }),
  })
  .meta({ id: 'OffboardUsers' })

/** What one call did. A repeated call finds nothing left to do. */
export const offboarding = z
  .object({
    user: userRecord,
    suspended: z.boolean().meta({ description: 'False if the user was already suspended' }),
    sessions: z.int().meta({ description: 'Number of sessions ended' }),
    grants: z.array(z.string()).meta({ description: 'Codes of the apps whose grants were revoked' }),
    organizations: z.array(z.string()).meta({ description: 'Slugs of the organizations that the user was a member of' }),
    access_requests: z.int().meta({ description: 'Number of open requests for access that were denied' }),
    invitations: z
      .int()
      .meta({ description: 'Number of invitations withdrawn: those that the user sent, and those to the address' }),
    service_accounts: z.array(z.object({ id, name: z.string(), service: z.string(), deleted: z.boolean() })).meta({
      description:
        'Service accounts whose current token was shown to the user when it was created, as far back as the audit log goes',
    }),
    roles: z
      .array(z.string())
      .meta({ description: 'Global roles that the account keeps. They have no effect while it is suspended' }),
  })
  .meta({ id: 'Offboarding' })

export const offboardings = z
  .object({
    items: z
      .array(
        z.object({
          user: z.string().meta({ description: 'As given in the request' }),
          outcome: z.enum(['offboarded', 'unchanged', 'failed']),
          accounts: z.array(offboarding).meta({
            description: 'The accounts that are closed now. If it failed, those that were closed before it failed',
          }),
          code: z.enum(['invalid_user', 'user_not_found', 'last_system_admin']).optional().meta({ description: 'Why it failed' }),
          message: z.string().optional(),
        }),
      )
      .meta({ description: 'In the order of `users`' }),
  })
  .meta({ id: 'Offboardings' })

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
      await endAllTokens(deps, { userId, reason: 'user.offboarded' })
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
  // A rehearsal is one transaction for all of them, so it takes their locks one kind after the other before it changes anything.
  if (deps.isRehearsal) {
    const accounts = [...found.values()].flatMap((accounts) => ('code' in accounts ? [] : accounts))
    await transaction(deps, (deps) => lockAccounts(deps, accounts))
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

/** Takes the locks of many offboardings, in the order of every other transaction. */
async function lockAccounts(deps: Deps<Tx>, accounts: readonly PooledUser[]): Promise<void> {
  const ids = accounts.map(({ id }) => id)
  await User.lockAll(deps.db, ids)
  await lockAdministrationOf(deps, ...ids)
  await lockOrganizations(deps, accounts)
  // The deletion of an app takes the app, and then the grants of all its users.
  const grants = await UserApp.listOfUsers(deps.db, ids)
  await App.listKeptByRefs(deps.db, { ids: grants.map(({ app_id }) => app_id), codes: [] })
}

/** Of all memberships, and of the invitations from and to the accounts. */
async function lockOrganizations(deps: Deps<Tx>, accounts: readonly PooledUser[]): Promise<void> {
  const ids = accounts.map(({ id }) => id)
  const emails = accounts.map(({ email }) => email)
  const open = () => Invitation.list(deps.db, { accepted_at: null }).distinct('organization_id')
  const invitations = [...(await open().whereIn('invited_by', ids)), ...(await open().whereIn('email', emails))]
  await lockOrganizationsOf(
    deps,
    ids,
    invitations.map(({ organization_id }) => organization_id),
  )
}

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
  await lockOrganizations(deps, [user])
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
  const grants = await UserApp.revoke(deps.db, { userIds: [userId] }, deps.clock())
  const apps = await App.listCodes(
    deps.db,
    grants.map(({ app_id }) => app_id),
  )
  const revoked = apps.flatMap(({ id, code }) =>
    grants.filter(({ app_id }) => app_id === id).map((grant) => ({ grant, appCode: code })),
  )
  await auditRevokedGrants(deps, revoked, actor)
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
