import { hash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectionsOf, type Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { sealedBy } from '../audit/keys-of-chain.ts'
import { type Backlog, measureBacklog } from '../outbox/measure-backlog.ts'

const databaseLimitMs = 1_000

/** Throws `token_missing` or `token_invalid` unless the bearer is AUTH_METRICS_TOKEN, if that is set. */
export function assertMetricsToken(deps: Deps, bearer: string | undefined): void {
  const { metricsToken } = deps.config
  if (metricsToken === undefined) return
  if (bearer === undefined) throw new ApiError('token_missing')
  // Compares digests, which have equal lengths.
  if (!timingSafeEqual(hash('sha256', bearer, 'buffer'), hash('sha256', metricsToken, 'buffer')))
    throw new ApiError('token_invalid')
}

/** The metrics as text. If the database does not answer within a second, they say so and contain only the other figures. */
export function collectMetrics(deps: Deps<Pool>): Promise<string> {
  const { metrics } = deps
  return metrics.collect(async () => {
    const { used, free, wanted } = connectionsOf(deps.db)
    metrics.connections.set({ state: 'used' }, used)
    metrics.connections.set({ state: 'free' }, free)
    metrics.connectionsWanted.set(wanted)
    metrics.hashesWaiting.set(deps.passwords.queueLength)
    metrics.streams.set(deps.revocationHub.streamCount)
    setBacklogs(deps, await figuresInTime(deps))
  }, deps.clock())
}

interface Figures {
  backlogs: Backlog[]
  oldestUnsealedAt: number | undefined
}

async function measure(deps: Deps): Promise<Figures> {
  return {
    backlogs: await measureBacklog(deps),
    oldestUnsealedAt: await AuditEvent.oldestUnsealedAt(deps.db, sealedBy(await AuditChain.find(deps.db))),
  }
}

async function figuresInTime(deps: Deps): Promise<Figures | undefined> {
  const timer = new AbortController()
  const measured = measure(deps).catch((error) => {
    deps.logger.warn({ err: error }, 'metrics without the database figures')
    return undefined
  })
  const late = sleep(databaseLimitMs, undefined, { signal: timer.signal }).catch(() => undefined)
  return Promise.race([measured, late]).finally(() => timer.abort())
}

/** Leaves out unknown figures: a stale number would look constant. */
function setBacklogs({ metrics, clock }: Deps, figures: Figures | undefined): void {
  metrics.databaseUp.set(figures ? 1 : 0)
  metrics.outboxPending.reset()
  metrics.outboxOldestDueSeconds.reset()
  metrics.auditOldestUnsealedSeconds.reset()
  for (const { kind, pending, oldestDueMs } of figures?.backlogs ?? []) {
    metrics.outboxPending.set({ kind }, pending)
    metrics.outboxOldestDueSeconds.set({ kind }, oldestDueMs / 1_000)
  }
  if (figures) metrics.auditOldestUnsealedSeconds.set(Math.max(0, clock() - (figures.oldestUnsealedAt ?? clock())) / 1_000)
}
