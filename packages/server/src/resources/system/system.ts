import { hash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { connectionsOf, type Pool } from '../../db/handle.ts'
import { SchemaTooNewError } from '../../db/schema-errors.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { timestamp } from '../../lib/fields.ts'
import { version } from '../../lib/version.ts'
import { App } from '../../models/app.ts'
import { AppKey } from '../../models/app-key.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { listViolations } from '../../models/invariants.ts'
import { findsPieces } from '../../models/list-query.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { SigningKey } from '../../models/signing-key.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { boxesOf, sealedBy } from '../audit/chain.ts'
import { type Backlog, measureBacklog } from '../outbox/outbox.ts'
import { countPasskeysElsewhere } from '../passkeys/passkeys.ts'

export const healthRecord = z.object({ status: z.literal('ok'), version: z.string() }).meta({ id: 'Health' })
export type Health = z.output<typeof healthRecord>

const check = z.object({ ok: z.boolean(), detail: z.string().nullable() })

export const readyRecord = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.object({ accepting: check, database: check, writes: check, migrations: check }),
  })
  .meta({ id: 'Ready' })
export type Readiness = z.output<typeof readyRecord>

export const serverRecord = z
  .object({
    id: z.string().meta({ description: 'Names the machine and the process' }),
    version: z.string(),
    started_at: timestamp,
    seen_at: timestamp,
    clock_offset_ms: z.int().meta({ description: "How far its clock is ahead of the database's" }),
    kids: z.array(z.string()).meta({ description: 'The ids of the shared secrets that it accepts. The first one signs' }),
    encryption_key_ok: z.boolean().meta({ description: 'Whether it can decrypt what the other servers encrypt' }),
  })
  .meta({ id: 'Server' })
export const serverList = z.object({ items: z.array(serverRecord) }).meta({ id: 'Servers' })

export const settingsRecord = z
  .object({
    production: z.boolean().meta({ description: 'Production mode' }),
    public_url: z.string().meta({ description: 'PUBLIC_URL' }),
    client_overrides: z.enum(['open', 'declared']).meta({ description: 'AUTH_CLIENT_OVERRIDES' }),
    passkeys_elsewhere: z
      .int()
      .meta({ description: 'How many passkeys belong to another host than that of PUBLIC_URL. They do not work' }),
    finds_inside: z.boolean().meta({
      description: 'Whether a search (`q`) finds a text inside a name. False on a Postgres without the extension `pg_trgm`',
    }),
    admin_app_codes: z.array(z.string()).meta({ description: 'AUTH_ADMIN_APP_CODES; `*` means every app' }),
  })
  .meta({ id: 'Settings' })

/** The invariants that the database violates, one line each, ending with the cure. Reads whole tables. */
export async function checkInvariants(deps: Deps): Promise<string[]> {
  const violations = await listViolations(deps.db, deps.clock())
  return violations.map(
    ({ name, count, example, fault, cure }) => `${name}: ${count}, such as ${example}: ${fault}. Cure: ${cure}`,
  )
}

/** Liveness check. Does not touch the database. */
export function checkHealth(): Health {
  return { status: 'ok', version }
}

const fine = { ok: true, detail: null }

/**
 * Whether a load balancer should send requests here: the server is not shutting down, the database answers and accepts writes,
 * and no migration is pending. Only failures that stop every request count. If a mail server or a webhook receiver is down, mail
 * or webhooks wait and the rest is served.
 */
export async function checkReadiness(deps: Deps): Promise<Readiness> {
  const accepting = deps.lifecycle.isStopping ? { ok: false, detail: 'shutting down' } : fine
  let database: Readiness['checks']['database'] = fine
  let migrations: Readiness['checks']['migrations'] = fine
  try {
    const pending = await deps.lifecycle.pendingMigrations()
    if (pending.length > 0) migrations = { ok: false, detail: `pending: ${pending.join(', ')}` }
  } catch (error) {
    deps.logger.warn({ err: error }, 'readiness')
    const isTooNew = error instanceof SchemaTooNewError
    // Only the log gets the reason, since it may name hosts.
    if (!isTooNew) database = { ok: false, detail: 'not reachable' }
    // A running server goes on: during a rolling upgrade most servers are older than the schema for a while.
    migrations = isTooNew ? { ok: true, detail: 'migrated by a newer server' } : { ok: false, detail: 'unknown' }
  }
  const writes = deps.lifecycle.isWritable ? fine : { ok: false, detail: 'failed' }
  const checks = { accepting, database, writes, migrations }
  return { status: Object.values(checks).every((check) => check.ok) ? 'ready' : 'not_ready', checks }
}

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
    oldestUnsealedAt: await AuditEvent.oldestUnsealedAt(deps.db, sealedBy(await AuditChain.findOnly(deps.db))),
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
  metrics.outboxOldestPendingSeconds.reset()
  metrics.auditOldestUnsealedSeconds.reset()
  for (const { kind, pending, oldestPendingMs, oldestDueMs } of figures?.backlogs ?? []) {
    metrics.outboxPending.set({ kind }, pending)
    metrics.outboxOldestPendingSeconds.set({ kind }, oldestPendingMs / 1_000)
    metrics.outboxOldestDueSeconds.set({ kind }, oldestDueMs / 1_000)
  }
  if (figures) metrics.auditOldestUnsealedSeconds.set(Math.max(0, clock() - (figures.oldestUnsealedAt ?? clock())) / 1_000)
}

interface Unopenable {
  what: string
  count: number
}

/**
 * Counts what is sealed under a key that is no longer configured: seeds of second factors, secrets of webhooks, apps and
 * providers, and keys of the audit and of ID tokens.
 */
export async function countUnopenable(deps: Deps): Promise<Unopenable[]> {
  const { db, secretBox } = deps
  const seeds = await SecondFactor.countByKey(db)
  const apps = await App.query(db).select('webhooks')
  const providers = await SsoProvider.query(db).select('client_secret_box')
  const appKeys = await AppKey.query(db).select('secret_box')
  const signingKeys = await SigningKey.query(db).select('private_box')
  const chain = await AuditChain.findOnly(db)
  const isLost = (box: string | null) => box !== null && !secretBox.hasKeyOf(box)
  const found = [
    { what: 'second factors', count: seeds.filter(({ box }) => isLost(box)).reduce((sum, { count }) => sum + count, 0) },
    {
      what: 'webhook secrets',
      count: apps.flatMap(({ webhooks }) => webhooks).filter(({ secret_box }) => isLost(secret_box)).length,
    },
    { what: 'audit keys', count: Object.values(chain ? boxesOf(chain) : {}).filter(isLost).length },
    { what: 'app keys', count: appKeys.filter(({ secret_box }) => isLost(secret_box)).length },
    { what: 'keys of ID tokens', count: signingKeys.filter(({ private_box }) => isLost(private_box)).length },
    { what: 'provider secrets', count: providers.filter(({ client_secret_box }) => isLost(client_secret_box)).length },
  ]
  return found.filter(({ count }) => count > 0)
}

/** The settings that an admin needs to judge apps, and whether data fits them. */
export async function getSettings(deps: Deps): Promise<z.output<typeof settingsRecord>> {
  const { production, publicUrl, clientOverrides, adminAppCodes } = deps.config
  return {
    production,
    public_url: publicUrl,
    client_overrides: clientOverrides,
    passkeys_elsewhere: await countPasskeysElsewhere(deps),
    finds_inside: await findsPieces(deps.db),
    admin_app_codes: adminAppCodes,
  }
}
