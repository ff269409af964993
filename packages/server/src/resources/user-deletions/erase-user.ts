import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { PersonalFacts, StoredEvent } from '../../lib/audit-proof.ts'
import type { Actor } from '../../lib/caller.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { AuditEvent, type DetailsRow, type Erasable } from '../../models/audit-event.ts'
import { AuthorizationCode } from '../../models/authorization-code.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { Invitation } from '../../models/invitation.ts'
import { OutboxMessage } from '../../models/outbox-message.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { blankEvents } from '../audit/blank-events.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getUser } from '../users/get-user.ts'

/** Rows that are read at a time. Other requests get the connection in between. */
const portion = 100

/**
 * Blanks the e-mail, the names and the locale of a deleted user wherever they are kept, and where their sessions were; ids stay. The user's row comes last, because it holds
 * the address: if the call is interrupted, repeat it to do the rest. Audit events without a user (failed logins with an unknown
 * address) are blanked too if they hold an address of this user.
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
  await UserApp.blankReasons(deps.db, userId)
  await AccessRequest.deleteOfUser(deps.db, userId)
  await AuthorizationCode.deleteOfUser(deps.db, userId)
  await BrowserSession.blankPlaces(deps.db, userId)
  await Session.blankPlaces(deps.db, userId)
  await transaction(deps, async (deps) => {
    const isErased = await User.erase(deps.db, userId, deps.clock())
    if (isErased) await recordEvent(deps, { event: 'user.erased', actor, userId })
  })
}

/** The address of the user, and the earlier ones that the audit contains. */
export async function listAddresses(deps: Deps, userId: string, email: string): Promise<Set<string>> {
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
  await Invitation.blankAccepted(deps.db, userId)
  await Invitation.blankOpen(deps.db, await withoutHolder(deps, addresses))
}

/** The addresses that no user has now. What is pending for one of the others belongs to its new holder. */
export async function withoutHolder(deps: Deps, addresses: ReadonlySet<string>): Promise<string[]> {
  const held = await User.listHeldEmails(deps.db, [...addresses])
  return [...addresses].filter((address) => !held.includes(address))
}

/** Blanks the messages about the user or to the addresses. Pending messages are discarded. */
async function eraseOutbox(deps: Deps<Pool>, userId: string, addresses: ReadonlySet<string>): Promise<void> {
  const now = deps.clock()
  await OutboxMessage.blankMailsOf(deps.db, userId, now)
  // Mails that were requested by address only. Pending ones belong to another user if that user has the address now.
  await OutboxMessage.blankMailsTo(deps.db, await withoutHolder(deps, addresses), now)
  await OutboxMessage.blankFinishedMailsTo(deps.db, [...addresses], now)
  for (const { id, payload } of await OutboxMessage.listWebhooksOf(deps.db, userId))
    await OutboxMessage.blankWebhook(deps.db, { id, payload: blankWebhook(payload) }, now)
}

/** The registration as received is all about the user, whatever fields it has, so it is dropped. */
function blankWebhook(payload: string): string {
  const body = JSON.parse(payload)
  return JSON.stringify({ ...body, user: blank(body.user, new Set(), true), registration: {} })
}
