import type { Deps } from '../../deps.ts'
import { endOf } from '../../lib/audit-proof.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { readBeginning } from './read-beginning.ts'

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
  const chain = await AuditChain.find(deps.db)
  if (!chain) return { bytes: 0, bytesAYear: undefined }
  const events = Math.max(1, endOf(chain).position - (await readBeginning(deps)).position)
  const bytes = (await AuditEvent.sizeInBytes(deps.db)) ?? usualBytes * events
  const early = await AuditBatch.find(deps.db, Math.max(1, chain.batch - batchesMeasured))
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
