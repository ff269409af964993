import type { Pool, Tx } from '../../db/handle.ts'
import { forUpdate } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getUser } from '../users/get-user.ts'

/** So many rows are read and written at a time: others get the connection in between. */
const portion = 100

/**
 * Blanks the e-mail and the names of a deleted user wherever they are kept; ids stay. The user's row comes last, since it is what tells
 * the address: cut off half-way, the same call again does the rest. Audit events that name nobody (failed logins of an unknown
 * address) are blanked too when they hold an address of this user.
 */
export async function eraseUser(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  const { email } = await getUser(deps, userId)
  const addresses = await listAddresses(deps, userId, email)
  if (addresses.size > 0) {
    await eraseInvitations(deps, userId, addresses)
    await eraseOutbox(deps, userId, addresses)
    const holding = [...addresses].map((address) => JSON.stringify(address))
    await eraseEvents(deps, { userId: null, holding }, (details) => blank(details, addresses, false))
  }
  await eraseEvents(deps, { userId }, (details) => blank(details, addresses, true))
  await transaction(deps, async (deps) => {
    const blanked = { email: '', email_verified_at: null, first_name: null, last_name: null, updated_at: deps.clock() }
    const erased = await deps.db('users').where({ id: userId }).whereNot({ email: '' }).update(blanked)
    if (erased > 0) await recordEvent(deps, { event: 'user.erased', actor, userId })
  })
}

/** The address and those that the user had before, as the audit tells. */
async function listAddresses(deps: Deps, userId: string, email: string): Promise<Set<string>> {
  const addresses = new Set<string>()
  if (email !== '') addresses.add(email)
  let events: Event[] = []
  do {
    events = await portionOf(deps, { userId }, events.at(-1)?.id)
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

interface Event {
  id: string
  /** JSON. */
  details: string
}

/** About a user, or about nobody; of these, those whose JSON holds one of the texts. */
interface Selection {
  userId: string | null
  holding?: readonly string[]
}

/** The next of the events that have details, in the order of their ids. */
function portionOf(deps: Deps, { userId, holding }: Selection, after: string | undefined) {
  const query = deps.db('audit_events').where({ user_id: userId }).whereNotNull('details').orderBy('id').limit(portion)
  if (holding)
    query.where((any) => {
      for (const text of holding) any.orWhereRaw(`details like ? escape '\\'`, [`%${text.replace(/[\\%_]/g, '\\$&')}%`])
    })
  if (after !== undefined) query.where('id', '>', after)
  return query.select<Event[]>('id', 'details')
}

/**
 * Reads and blanks a portion at a time under its locks: what somebody else has blanked meanwhile stays so. They are taken in the order
 * of the ids, or two callers could wait for each other.
 */
async function eraseEvents(deps: Deps<Pool>, selection: Selection, erase: (details: unknown) => unknown): Promise<void> {
  let events: Event[] = []
  do {
    const after = events.at(-1)?.id
    events = await transaction(deps, async (deps) => {
      const locked: Event[] = await forUpdate(deps.db, portionOf(deps, selection, after))
      await rewriteDetails(deps, locked, erase)
      return locked
    })
  } while (events.length === portion)
}

async function rewriteDetails(deps: Deps<Tx>, events: readonly Event[], erase: (details: unknown) => unknown): Promise<void> {
  const changed = events
    .map(({ id, details }) => ({ id, details, blanked: JSON.stringify(erase(JSON.parse(details))) }))
    .filter(({ details, blanked }) => blanked !== details)
  if (changed.length === 0) return
  const byId = deps.db.raw(
    `case id ${'when ? then ? '.repeat(changed.length)}end`,
    changed.flatMap(({ id, blanked }) => [id, blanked]),
  )
  const ids = changed.map(({ id }) => id)
  await deps.db('audit_events').whereIn('id', ids).update({ details: byId })
}

/** A copy without the addresses; of what is all about the user, without any e-mail and name. */
function blank(value: unknown, addresses: ReadonlySet<string>, isOfUser: boolean): unknown {
  if (typeof value === 'string') return addresses.has(value) ? '' : value
  if (Array.isArray(value)) return value.map((entry) => blank(entry, addresses, isOfUser))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => {
    if (isOfUser && key === 'email') return [key, member === null ? null : '']
    if (isOfUser && (key === 'first_name' || key === 'last_name')) return [key, null]
    return [key, blank(member, addresses, isOfUser)]
  })
  return Object.fromEntries(members)
}

/**
 * Invitations that the user accepted, and those that wait for an address nobody has any more. The latter end with it: without an
 * address, anybody could accept them.
 */
async function eraseInvitations(deps: Deps, userId: string, addresses: ReadonlySet<string>): Promise<void> {
  await deps.db('invitations').where({ accepted_by: userId }).whereNotNull('email').update({ email: null })
  await deps
    .db('invitations')
    .whereIn('email', await withoutHolder(deps, addresses))
    .whereNull('accepted_at')
    .update({ email: null, expires_at: deps.db.ref('created_at') })
}

/** The addresses that no user has now: what still waits for one of the others belongs to its new holder. */
async function withoutHolder(deps: Deps, addresses: ReadonlySet<string>): Promise<string[]> {
  const held: string[] = await deps
    .db('users')
    .whereIn('email', [...addresses])
    .whereRaw("status <> 'deleted'")
    .pluck('email')
  return [...addresses].filter((address) => !held.includes(address))
}

/** What is or was to be sent about the user, or to the addresses. What was not sent yet never is. */
async function eraseOutbox(deps: Deps, userId: string, addresses: ReadonlySet<string>): Promise<void> {
  const outbox = () => deps.db('outbox')
  const blankMail = blanking(deps, { destination: '', payload: '{}' })
  await outbox().where({ kind: 'mail', user_id: userId }).update(blankMail)
  // Asked for by an address alone: what still waits for one that somebody else has now is theirs.
  const free = await withoutHolder(deps, addresses)
  await outbox().where({ kind: 'mail', user_id: null }).whereIn('destination', free).update(blankMail)
  await outbox()
    .where({ kind: 'mail', user_id: null })
    .whereIn('destination', [...addresses])
    .whereNot({ status: 'pending' })
    .update(blankMail)
  const webhooks: { id: string; payload: string }[] = await outbox()
    .where({ kind: 'webhook', user_id: userId })
    .select('id', 'payload')
  for (const { id, payload } of webhooks)
    await outbox()
      .where({ id })
      .update(blanking(deps, { payload: blankWebhook(payload) }))
}

/** The columns of an entry without what is personal, and finished if it was not. */
function blanking({ db, clock }: Deps, blanked: { destination?: string; payload: string }) {
  return {
    ...blanked,
    status: db.raw("case when status = 'pending' then 'failed' else status end"),
    last_error: db.raw("case when status = 'pending' then 'the user was erased' else last_error end"),
    finished_at: db.raw('coalesce(finished_at, ?)', [clock()]),
  }
}

/** The registration as received is all about the user, whatever fields it has. */
function blankWebhook(payload: string): string {
  const body = JSON.parse(payload)
  return JSON.stringify({ ...body, user: blank(body.user, new Set(), true), registration: {} })
}
