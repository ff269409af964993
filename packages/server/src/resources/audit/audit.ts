import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { ArchiveSigner } from '../../lib/archive-signature.ts'
import { endOf, type StoredEvent } from '../../lib/audit-proof.ts'
import type { Page } from '../../lib/keyset.ts'
import { iso } from '../../lib/timestamps.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AuditBatch, type Batch } from '../../models/audit-batch.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { Service } from '../../models/service.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { User } from '../../models/user.ts'
import { unknownApp } from '../names/unknown-name.ts'
import { keysOfChain, readBeginning } from './chain.ts'
import { faultOfHead, kindOf } from './faults.ts'
import type { AuditFault, NamesById } from './present.ts'
import type { ArchiveAuditRequest, auditArchivePart, ListAuditRequest } from './schema.ts'
import { compareBatch, faultOfOrder, previousOf } from './verify-batches.ts'

/** Audit events, newest first, by any of the filters together. Throws `not_found` for an app that the log does not know. */
export async function listAuditEvents(deps: Deps, request: ListAuditRequest): Promise<Page<AuditEvent>> {
  const { app_id, user_id, actor_id, event: kinds, ip, request_id, email } = request
  const app = app_id === undefined ? undefined : await App.findByRef(deps.db, app_id)
  if (app_id !== undefined && !app && !isUuid(app_id)) throw await unknownApp(deps, app_id)
  const about = email === undefined ? undefined : { email, userIds: await User.listIdsByEmail(deps.db, [email]) }
  const filters = { user_id, actor_id, ip, request_id, app_id: app?.id ?? app_id, kinds, about }
  const page = await AuditEvent.listPage(deps.db, filters, request)
  // A deleted app is found by the id that its events keep. No index knows it, so it is unknown once everything was looked through.
  const isUnknown = app_id !== undefined && !app && page.items.length === 0 && page.nextCursor === null
  if (isUnknown && request.cursor === undefined && (await DeletedApp.listIds(deps.db, [app_id], 0)).length === 0)
    throw await unknownApp(deps, app_id)
  return page
}

/** Throws `not_found`. */
export async function getAuditEvent(deps: Deps, id: string): Promise<AuditEvent> {
  const event = await AuditEvent.find(deps.db, { id })
  if (!event) throw new ApiError('not_found', { detail: 'No audit event has this id' })
  return event
}

/** Finds the current names of what the events refer to, in three statements however many events there are. */
export async function findNames(deps: Deps, events: readonly AuditEvent[]): Promise<NamesById> {
  const actors = (type: AuditEvent['actor_type']) =>
    events.filter((event) => event.actor_type === type).map((event) => event.actor_id)
  const [users, apps, accounts] = await Promise.all([
    User.listNames(deps.db, distinct([...events.map(({ user_id }) => user_id), ...actors('user')])),
    App.listCodes(deps.db, distinct(events.map(({ app_id }) => app_id))),
    ServiceAccount.query(deps.db)
      .whereIn('id', distinct(actors('service_account')))
      .select('id', 'name'),
  ])
  return {
    users: new Map(users.map(({ id, email, namespace }) => [id, `${email}@@${namespace}`])),
    apps: new Map(apps.map(({ id, code }) => [id, code])),
    serviceAccounts: new Map(accounts.map(({ id, name }) => [id, name])),
  }
}

function distinct(ids: readonly (string | null)[]): string[] {
  return [...new Set(ids.filter((id) => id !== null))]
}

/** Events per part, more or less. Batches are not divided. */
const partSize = 1_000

type ArchivePart = Omit<z.output<typeof auditArchivePart>, 'fault'> & { fault: AuditFault | null }

/**
 * A part of the archive of the batches that were sealed before a time: a line for each batch and each event, and one that signs
 * them. Every event is compared with its proof first; an archive ends at the first fault.
 */
export async function archiveAudit(deps: Deps, { before, cursor }: ArchiveAuditRequest): Promise<ArchivePart> {
  const { db, auditProofs } = deps
  const chain = await AuditChain.findOnly(db)
  if (chain) keysOfChain(deps, chain)
  const signer = new ArchiveSigner(auditProofs.current.bytes)
  const part = { lines: [], key: signer.publicKey, events: 0, fault: null, next_cursor: null }
  const beginning = await readBeginning(deps)
  const kind = kindOf(beginning.state)
  const { position, batch: begin } = beginning
  if (kind) return { ...part, fault: { kind, subject: 'checkpoint', position, batch: begin, event: null } }
  const fault = faultOfHead(deps, chain)
  if (!chain || fault) return { ...part, fault }
  const after = cursor === undefined ? (begin ?? 0) : Number(cursor.slice('batch.'.length))
  const previous = await previousOf(deps, chain, beginning, after)
  if (!previous) return { ...part, fault: { kind: 'removed', subject: 'batch', position: null, batch: after, event: null } }
  const found = await AuditBatch.listAfter(db, previous.number, partSize)
  const batches = found.filter(({ sealed_at, number }) => sealed_at < before && number <= chain.batch)
  const disorder = faultOfOrder(previous, batches)
  if (disorder) return { ...part, fault: disorder }
  const lines: string[] = []
  let events = 0
  for (const [index, batch] of batches.entries()) {
    lines.push(batchLine(batch))
    const page: { checked: number; adopted: number; fault: AuditFault | null } = { checked: 0, adopted: 0, fault: null }
    await compareBatch(deps, batches[index - 1] ?? previous, batch, page, (row) => lines.push(eventLine(row)))
    if (page.fault) return { ...part, fault: page.fault }
    events += page.checked
  }
  const { number, seal, position: end } = batches.at(-1) ?? previous
  const isLast = found.length === 0 || batches.length < found.length || number === chain.batch
  const digest = createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('base64url')
  const facts = {
    ...{ service_id: await Service.getId(db), before: iso(before), first: cursor === undefined, last: isLast },
    ...{ after: { batch: previous.number, seal: previous.seal }, to: { batch: number, seal, position: end }, events },
  }
  lines.push(signer.lineOf(facts, digest))
  return { ...part, lines, events, next_cursor: isLast ? null : `batch.${number}` }
}

function batchLine({ number, position, count, seal, sealed_at }: Batch): string {
  return JSON.stringify({ batch: number, position, count, seal, sealed_at: iso(sealed_at) })
}

function eventLine({ id, event, at, count, reason, audit_reason, actor_type, actor_id, ...row }: StoredEvent): string {
  const { user_id, app_id, email, ip, user_agent, request_id, details } = row
  const actor = { type: actor_type, id: actor_id }
  return JSON.stringify({
    ...{ id, event, at: iso(at), count, reason, audit_reason, actor, user_id, app_id, email, ip, user_agent, request_id },
    details: details === null ? null : JSON.parse(details),
  })
}

/** Batches over which the rate is measured: the last half day, or longer if little happens. */
const batchesMeasured = 10_000
const yearMs = 365 * 86_400_000
/** A shorter time says nothing about a year. */
const leastMs = 6 * 3_600_000
/** Of an event with its entries in indexes, where the database does not say how large its table is. */
const usualBytes = 1_000

interface AuditGrowth {
  bytes: number
  /** What a year adds at the rate of the last batches. Undefined while it is too early to say. */
  bytesAYear: number | undefined
}

/** How much the audit takes, and how fast it grows. Reads three rows. */
async function auditGrowth(deps: Deps): Promise<AuditGrowth> {
  const chain = await AuditChain.findOnly(deps.db)
  if (!chain) return { bytes: 0, bytesAYear: undefined }
  const events = Math.max(1, endOf(chain).position - (await readBeginning(deps)).position)
  const bytes = (await AuditEvent.sizeInBytes(deps.db)) ?? usualBytes * events
  const early = await AuditBatch.find(deps.db, { number: Math.max(1, chain.batch - batchesMeasured) })
  const elapsed = deps.clock() - (early?.sealed_at ?? deps.clock())
  if (!early || elapsed < leastMs) return { bytes, bytesAYear: undefined }
  return { bytes, bytesAYear: (((chain.batch_position - early.position) * bytes) / events) * (yearMs / elapsed) }
}

/** Tells the operator of a production without AUTH_AUDIT_RETENTION_DAYS what that leads to. */
export async function warnOfGrowth(deps: Deps): Promise<void> {
  const { production, auditRetentionDays } = deps.config
  if (!production || auditRetentionDays !== undefined) return
  const { bytes, bytesAYear } = await auditGrowth(deps)
  const rate = bytesAYear === undefined ? '' : `, and at the present rate ${sizeOf(bytesAYear)} more in a year`
  deps.logger.warn(
    `AUTH_AUDIT_RETENTION_DAYS is not set, so audit events are kept for ever: they take ${sizeOf(bytes)} now${rate}; set it, or to forever if you mean that`,
  )
}

function sizeOf(bytes: number): string {
  return bytes < 1e9 ? `${Math.max(1, Math.round(bytes / 1e6))} MB` : `${(bytes / 1e9).toPrecision(3)} GB`
}
