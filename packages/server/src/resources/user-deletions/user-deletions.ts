import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { PersonalFacts, StoredEvent } from '../../lib/audit-proof.ts'
import type { Actor } from '../../lib/caller.ts'
import { id, queryFlag } from '../../lib/fields.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { AuditEvent, type DetailsRow, type Erasable } from '../../models/audit-event.ts'
import { AuthorizationCode } from '../../models/authorization-code.ts'
import type { BaseModel, ModelOf } from '../../models/base-model.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { Invitation } from '../../models/invitation.ts'
import { MailToken } from '../../models/mail-token.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { OutboxMessage } from '../../models/outbox-message.ts'
import { Passkey } from '../../models/passkey.ts'
import { RecoveryCode, SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { blankEvents } from '../audit/remove-events.ts'
import { denyRequestsOf } from '../grants/close-requests.ts'
import { forgetFailures } from '../lockouts/lockouts.ts'
import { lockOrganization } from '../organizations/organizations.ts'
import { endAllTokens } from '../revocations/end-tokens.ts'
import { assertAdministrable, holdsAdminRole, lockAdministration } from '../users/administration.ts'
import { describeUser, getUser, lockUserRow } from '../users/users.ts'

export const deleteUserQuery = z.strictObject({
  erase: queryFlag
    .optional()
    .meta({ description: 'Also blank e-mail and names everywhere. Accepts a user who is already deleted' }),
})

/** The answer of a dry run instead of erasing. */
export const erasurePlan = z
  .object({
    user_id: id,
    deletes: z.boolean().meta({ description: 'False if the user is already deleted' }),
    addresses: z.int().meta({ description: 'Number of current and earlier e-mails of the user, according to the audit log' }),
    audit_events: z.int().meta({ description: 'Number of events that are searched for e-mails, names and reasons' }),
    invitations: z.int(),
    mails: z.int().meta({ description: 'Number of sent and pending mails. Pending ones are dropped' }),
    webhook_deliveries: z.int(),
  })
  .meta({ id: 'ErasurePlan' })
type ErasurePlan = z.output<typeof erasurePlan>

/**
 * Deletes a user: the row stays as `deleted`, the e-mail is free again, every token and session is dead. `erase` also blanks
 * everything that identifies the user, and accepts a user who is already deleted. Throws `not_found`, `last_system_admin`.
 */
export async function deleteUser(deps: Deps<Pool>, userId: string, { erase }: { erase: boolean }, actor: Actor): Promise<void> {
  const deletes = await closeUnlessDeleted(deps, userId, actor)
  if (erase) await eraseUser(deps, userId, actor)
  else if (!deletes) throw new ApiError('not_found', { detail: 'No user has this id' })
}

/** What goes with a user, besides tags. */
const owned: readonly ModelOf<BaseModel & { user_id: string }>[] = [
  OrganizationMembership,
  UserRole,
  MailToken,
  RecoveryCode,
  SecondFactor,
  Passkey,
  UserIdentity,
]

/** Deletes a user. Returns false if the user was already deleted. Throws `not_found`, `last_system_admin`. */
async function closeUnlessDeleted(deps: Deps<Pool>, userId: string, actor: Actor): Promise<boolean> {
  return transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    const { status } = await getUser(deps, userId)
    if (status !== 'deleted') await closeAccount(deps, userId, actor)
    return status !== 'deleted'
  })
}

/**
 * Deletes a user in the transaction of the caller, who must hold the lock on the user's row and have checked that the user
 * exists. Throws `last_system_admin`.
 */
export async function closeAccount(
  deps: Deps<Tx>,
  userId: string,
  actor: Actor,
  { reason }: { reason?: string } = {},
): Promise<void> {
  const wasAdmin = await holdsAdminRole(deps, userId)
  if (wasAdmin) await lockAdministration(deps)
  const before = await describeUser(deps, userId)
  // Lock the organizations: a change to one of them checks whether an admin is left.
  for (const { id } of before.organizations.toSorted((a, b) => (a.id < b.id ? -1 : 1))) await lockOrganization(deps, id)
  const now = deps.clock()
  await UserNamespace.deleteOfUser(deps.db, userId)
  for (const model of owned) await model.query(deps.db).where({ user_id: userId }).delete()
  await UserApp.revoke(deps.db, { userIds: [userId] }, now)
  await denyRequestsOf(deps, userId, actor)
  await forgetFailures(deps, before, { codes: true })
  await OutboxMessage.dropGivenUp(deps.db, before)
  await User.change(deps.db, userId, { status: 'deleted', password_hash: null, deleted_at: now, updated_at: now })
  if (wasAdmin) await assertAdministrable(deps)
  await recordEvent(deps, {
    event: 'user.deleted',
    actor,
    userId,
    ...(reason === undefined ? {} : { reason }),
    details: { before, after: null },
  })
  await endAllTokens(deps, { userId, reason: 'user.deleted' })
}

/** Rows that are read at a time. Other requests get the connection in between. */
const portion = 100

/**
 * Blanks the e-mail, the names and the locale of a deleted user wherever they are kept, and where their sessions were; ids stay.
 * The user's row comes last, because it holds the address: if the call is interrupted, repeat it to do the rest. Audit events
 * without a user (failed logins with an unknown address) are blanked too if they hold an address of this user.
 */
export async function eraseUser(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  const { email } = await getUser(deps, userId)
  const addresses = await listAddresses(deps, userId, email)
  const erase = (erasable: Erasable, blank: (row: StoredEvent) => Partial<PersonalFacts>) =>
    blankEvents(deps, { userId, actor, erasable, blank })
  if (addresses.size > 0) {
    await eraseInvitations(deps, userId, addresses)
    await eraseOutbox(deps, userId, addresses)
    const holding = [...addresses].map((address) => JSON.stringify(address))
    for (const email of addresses)
      await erase({ email }, ({ details }) => ({ email: null, ...blankDetails(details, addresses, false) }))
    await erase({ userId: null, holding }, ({ details }) => blankDetails(details, addresses, false))
  }
  await erase({ userId }, ({ details }) => blankDetails(details, addresses, true))
  await erase({ reasonsOf: userId, addresses: [...addresses] }, () => ({ audit_reason: null }))
  await UserApp.list(deps.db, { user_id: userId }).whereNotNull('reason').patch({ reason: null })
  await AccessRequest.list(deps.db, { user_id: userId }).delete()
  await AuthorizationCode.list(deps.db, { user_id: userId }).delete()
  await BrowserSession.list(deps.db, { user_id: userId }).patch({ ip: null, user_agent: null })
  await Session.list(deps.db, { user_id: userId }).patch({ ip: null, user_agent: null })
  await transaction(deps, async (deps) => {
    const isErased = await User.erase(deps.db, userId, deps.clock())
    if (isErased) await recordEvent(deps, { event: 'user.erased', actor, userId })
  })
}

/** The address of the user, and the earlier ones that the audit contains. */
async function listAddresses(deps: Deps, userId: string, email: string): Promise<Set<string>> {
  const addresses = new Set<string>()
  if (email !== '') addresses.add(email)
  let events: DetailsRow[] = []
  do {
    events = await AuditEvent.listDetails(deps.db, { userId }, { after: events.at(-1)?.id, limit: portion })
    for (const { details } of events) collectAddresses(JSON.parse(details), addresses)
  } while (events.length === portion)
  addresses.delete('')
  return addresses
}

function collectAddresses(value: unknown, addresses: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    if (key === 'email' && typeof member === 'string') addresses.add(member)
    else collectAddresses(member, addresses)
  }
}

function blankDetails(details: string | null, addresses: ReadonlySet<string>, isOfUser: boolean): { details: string | null } {
  return { details: details === null ? null : JSON.stringify(blank(JSON.parse(details), addresses, isOfUser)) }
}

/** Besides the e-mail. `reason` is that of a grant. */
const ofPerson = new Set(['first_name', 'last_name', 'locale', 'reason'])

/** A copy without the addresses. With `isOfUser`, also without what tells who the user was. */
function blank(value: unknown, addresses: ReadonlySet<string>, isOfUser: boolean): unknown {
  if (typeof value === 'string') return addresses.has(value) ? '' : value
  if (Array.isArray(value)) return value.map((entry) => blank(entry, addresses, isOfUser))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => {
    if (isOfUser && key === 'email') return [key, member === null ? null : '']
    if (isOfUser && ofPerson.has(key)) return [key, null]
    return [key, blank(member, addresses, isOfUser)]
  })
  return Object.fromEntries(members)
}

/**
 * Blanks the invitations that the user accepted, and open ones for an address that no user has any more. Open ones also end:
 * without an address, anyone could accept them.
 */
async function eraseInvitations(deps: Deps<Pool>, userId: string, addresses: ReadonlySet<string>): Promise<void> {
  await Invitation.query(deps.db).where({ accepted_by: userId }).whereNotNull('email').patch({ email: null })
  await Invitation.blankOpen(deps.db, await withoutHolder(deps, addresses))
}

/** How many invitations `eraseInvitations` would blank. */
async function countInvitations(deps: Deps, userId: string, unheld: readonly string[]): Promise<number> {
  return Invitation.query(deps.db)
    .whereNotNull('email')
    .where((either) => {
      either.where({ accepted_by: userId }).orWhere((open) => open.whereIn('email', [...unheld]).whereNull('accepted_at'))
    })
    .resultSize()
}

/** The addresses that no user has now. What is pending for one of the others belongs to its new holder. */
async function withoutHolder(deps: Deps, addresses: ReadonlySet<string>): Promise<string[]> {
  const living = User.query(deps.db)
    .whereIn('email', [...addresses])
    .whereRaw("status <> 'deleted'")
  const held = new Set((await living.select('email')).map(({ email }) => email))
  return [...addresses].filter((address) => !held.has(address))
}

/** Blanks the messages about the user or to the addresses. Pending messages are discarded. */
async function eraseOutbox(deps: Deps<Pool>, userId: string, addresses: ReadonlySet<string>): Promise<void> {
  const now = deps.clock()
  await OutboxMessage.blankMails(deps.db, { userId }, now)
  // Mails that were requested by address only. Pending ones belong to another user if that user has the address now.
  await OutboxMessage.blankMails(deps.db, { destinations: await withoutHolder(deps, addresses) }, now)
  await OutboxMessage.blankMails(deps.db, { finished: [...addresses] }, now)
  for (const { id, payload } of await listWebhooksOf(deps, userId))
    await OutboxMessage.blankWebhook(deps.db, { id, payload: blankWebhook(payload) }, now)
}

function listWebhooksOf(deps: Deps, userId: string) {
  return OutboxMessage.list(deps.db, { kind: 'webhook', user_id: userId }).select('id', 'payload')
}

/** The registration as received is all about the user, whatever fields it has, so it is dropped. */
function blankWebhook(payload: string): string {
  const body = JSON.parse(payload)
  return JSON.stringify({ ...body, user: blank(body.user, new Set(), true), registration: {} })
}

/**
 * Counts what erasing a user would blank. Call it only in a rehearsal: it deletes the user, so that it throws the same errors. It
 * does not blank anything, because that may take long. Throws `not_found`, `last_system_admin`.
 */
export async function planErasure(deps: Deps<Pool>, userId: string, actor: Actor): Promise<ErasurePlan> {
  const deletes = await closeUnlessDeleted(deps, userId, actor)
  const { email } = await getUser(deps, userId)
  const addresses = await listAddresses(deps, userId, email)
  const unheld = await withoutHolder(deps, addresses)
  return {
    user_id: userId,
    deletes,
    addresses: addresses.size,
    audit_events: await AuditEvent.countErasable(deps.db, userId, [...addresses]),
    invitations: await countInvitations(deps, userId, unheld),
    mails: await OutboxMessage.countErasableMails(deps.db, userId, { unheld, addresses: [...addresses] }),
    webhook_deliveries: (await listWebhooksOf(deps, userId)).length,
  }
}
