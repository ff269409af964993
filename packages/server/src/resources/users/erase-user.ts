import { type Deps, transaction } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getUser } from './get-user.ts'

/** So many rows are read at a time: other work goes on in between. */
const portion = 500

/**
 * Blanks the e-mail and the names of a deleted user wherever they are kept; ids stay. The user's row comes last, since it is what tells
 * the address: cut off half-way, the same call again does the rest. Audit events that name nobody (failed logins of an unknown
 * address) are blanked too when they hold an address of this user.
 */
export async function eraseUser(deps: Deps, userId: string, actor: Actor): Promise<void> {
  const { email } = await getUser(deps, userId)
  const addresses = await listAddresses(deps, userId, email)
  if (addresses.size > 0) {
    await eraseInvitations(deps, userId, addresses)
    await eraseOutbox(deps, userId, addresses)
    await eraseEvents(deps, null, (details) => blank(details, addresses, false))
  }
  await eraseEvents(deps, userId, (details) => blank(details, addresses, true))
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
  for await (const { details } of readEvents(deps, userId)) collectAddresses(details, addresses)
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
  details: unknown
}

/** The events about a user, or about nobody, that have details. */
async function* readEvents(deps: Deps, userId: string | null): AsyncGenerator<Event> {
  const read = readInPortions<{ id: string; details: string }>((after) =>
    deps
      .db('audit_events')
      .where({ user_id: userId })
      .whereNotNull('details')
      .modify((query) => void (after === undefined ? query : query.where('id', '>', after)))
      .orderBy('id')
      .limit(portion)
      .select('id', 'details'),
  )
  for await (const { id, details } of read) yield { id, details: JSON.parse(details) }
}

async function* readInPortions<R extends { id: string }>(
  read: (after: string | undefined) => PromiseLike<R[]>,
): AsyncGenerator<R> {
  let rows: R[] = []
  do {
    rows = await read(rows.at(-1)?.id)
    yield* rows
  } while (rows.length === portion)
}

async function eraseEvents(deps: Deps, userId: string | null, erase: (details: unknown) => unknown): Promise<void> {
  for await (const { id, details } of readEvents(deps, userId)) {
    const before = JSON.stringify(details)
    const after = JSON.stringify(erase(details))
    if (after !== before) await deps.db('audit_events').where({ id }).update({ details: after })
  }
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

/** Webhooks that tell of the user, and mails to the addresses. What was not sent yet never is. */
async function eraseOutbox(deps: Deps, userId: string, addresses: ReadonlySet<string>): Promise<void> {
  const free = await withoutHolder(deps, addresses)
  const rows = readInPortions<OutboxRow>((after) =>
    deps
      .db('outbox')
      .modify((query) => void (after === undefined ? query : query.where('id', '>', after)))
      .orderBy('id')
      .limit(portion)
      .select('id', 'kind', 'destination', 'payload', 'status'),
  )
  for await (const row of rows) {
    const blanked = row.kind === 'webhook' ? blankWebhook(row, userId) : blankMail(row, addresses, free)
    if (!blanked) continue
    const now = deps.clock()
    const unsent = { status: 'failed', last_error: 'the user was erased', finished_at: now }
    await deps.db('outbox').where({ id: row.id }).update(blanked)
    await deps.db('outbox').where({ id: row.id, status: 'pending' }).update(unsent)
  }
}

interface OutboxRow {
  id: string
  kind: 'webhook' | 'mail'
  destination: string
  payload: string
  status: string
}

/** The registration as received is all about the user, whatever fields it has. */
function blankWebhook({ payload }: OutboxRow, userId: string): { payload: string } | undefined {
  if (!payload.includes(userId)) return undefined
  const body = JSON.parse(payload)
  if (body.user?.id !== userId) return undefined
  return { payload: JSON.stringify({ ...body, user: blank(body.user, new Set(), true), registration: {} }) }
}

function blankMail(row: OutboxRow, addresses: ReadonlySet<string>, free: readonly string[]) {
  const isErased = row.status === 'pending' ? free.includes(row.destination) : addresses.has(row.destination)
  return isErased ? { payload: '{}', destination: '' } : undefined
}
