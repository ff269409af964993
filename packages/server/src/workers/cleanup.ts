import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pool } from '../db/handle.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { inFlight } from '../lib/in-flight.ts'
import { AccessRequest } from '../models/access-request.ts'
import { AuditEvent } from '../models/audit-event.ts'
import { AuthorizationCode } from '../models/authorization-code.ts'
import { type BaseModel, deleteUntil, type Expired, type ModelOf, type Where } from '../models/base-model.ts'
import { BrowserSession } from '../models/browser-session.ts'
import { ConsumerSecret } from '../models/consumer-secret.ts'
import { DailyTask } from '../models/daily-task.ts'
import { DeletedApp } from '../models/deleted-app.ts'
import { DeviceCode } from '../models/device-code.ts'
import { forgetUntil } from '../models/feed.ts'
import { Lockout } from '../models/lockout.ts'
import { MailToken } from '../models/mail-token.ts'
import { OutboxMessage } from '../models/outbox-message.ts'
import { PoolSize } from '../models/pool-size.ts'
import { RateLimit } from '../models/rate-limit.ts'
import { RefreshToken } from '../models/refresh-token.ts'
import { Revocation } from '../models/revocation.ts'
import { Server, serverAliveMs } from '../models/server.ts'
import { Session } from '../models/session.ts'
import { SharedEmail } from '../models/shared-email.ts'
import { SigningKey } from '../models/signing-key.ts'
import { SpentField } from '../models/spent-field.ts'
import { SsoLogin } from '../models/sso-login.ts'
import { TrustedBrowser } from '../models/trusted-browser.ts'
import { UserApp } from '../models/user-app.ts'
import { UserChange, userChangeFeed } from '../models/user-change.ts'
import { expireEvents, expireMonths } from '../resources/audit/remove-events.ts'
import { revocationKeepMs } from '../resources/revocations/revocations.ts'
import { keepAuditMonths } from './keep-audit-months.ts'

const intervalMs = 10 * 60 * 1_000
/** Rows that one transaction deletes. A large backlog must not hold locks, or SQLite's one connection, for long. */
const batchSize = 1_000
/** Sessions whose refresh tokens are deleted together. Few, because each batch reads all the tokens that they have left. */
const sessionsAtOnce = 20
const dayMs = 86_400_000
const userChangeKeepMs = 30 * dayMs
/** Far longer than a reader takes from its cursor to its rows. */
const forgetMs = 3_600_000

interface Batch {
  removed: number
  isLast: boolean
}

interface Rule {
  /** Names the rule in the log and in the metrics. */
  name: string
  /** Deletes a batch of rows that had expired by `now`. */
  deleteBatch: (deps: Deps<Pool>, now: number) => Promise<Batch>
}

function rulesOf(deps: Deps): Rule[] {
  const { retentionDays, auditRetentionDays = Number.POSITIVE_INFINITY, lockoutSeconds, sessionMaxSeconds } = deps.config
  const kept = retentionDays * dayMs
  const rules = [
    expired(RateLimit, 'resets_at', 0),
    expiredOf(Lockout, lockoutSeconds * 1_000),
    expired(Revocation, 'at', revocationKeepMs),
    userChanges,
    expiredGrants,
    poolChanges,
    auditMonths,
    expired(ConsumerSecret, 'last_seen_at', kept),
    expired(DeletedApp, 'deleted_at', revocationKeepMs),
    expired(OutboxMessage, 'finished_at', kept),
    expired(MailToken, 'expires_at', kept),
    expired(SsoLogin, 'expires_at', 0),
    expired(AuthorizationCode, 'expires_at', dayMs),
    expired(DeviceCode, 'expires_at', dayMs),
    expired(SpentField, 'expires_at', dayMs),
    expiredOf(BrowserSession, kept),
    expired(TrustedBrowser, 'expires_at', 0),
    // Until then, an app may send a hint that it has signed.
    expired(SigningKey, 'stage_since', sessionMaxSeconds * 1_000, { stage: 'retired' }),
    expiredOf(AccessRequest, kept),
    expired(Server, 'seen_at', serverAliveMs),
    expired(RefreshToken, 'expires_at', kept),
    sessionsWithTokens('expired_sessions', 'expires_at', kept),
    sessionsWithTokens('ended_sessions', 'ended_at', kept),
  ]
  return auditRetentionDays === Number.POSITIVE_INFINITY ? rules : [...rules, auditEvents(auditRetentionDays * dayMs)]
}

/** Readers that are far behind start over before the rows that they have not read are gone. */
const userChanges: Rule = {
  name: UserChange.tableName,
  async deleteBatch(deps, now) {
    await forgetUntil(deps.db, userChangeFeed, now - userChangeKeepMs)
    return expired(UserChange, 'at', userChangeKeepMs + forgetMs).deleteBatch(deps, now)
  },
}

/** Nothing else happens when a grant expires, so this tells its app. */
const expiredGrants: Rule = {
  name: 'expired_grants',
  async deleteBatch(deps, now) {
    const batch = { since: now - userChangeKeepMs, now, limit: batchSize }
    const removed = await transaction(deps, (deps) => UserApp.tellExpired(deps.db, batch))
    return { removed, isLast: removed < batchSize }
  },
}

/** Adds the changes to the sizes. Once a day this also corrects what servers of an earlier version did not note. */
const poolChanges: Rule = {
  name: 'pool_changes',
  async deleteBatch(deps, now) {
    const removed = await transaction(deps, (deps) => PoolSize.fold(deps.db, batchSize))
    const isLast = removed < batchSize
    if (isLast)
      await transaction(deps, async (deps) => {
        if (!(await DailyTask.claim(deps.db, 'recount_pools', now))) return
        await PoolSize.correct(deps.db)
        await SharedEmail.correct(deps.db)
      })
    return { removed, isLast }
  },
}

/** Also what is neither expired nor a row: the months of the audit, made before they begin. */
const auditMonths: Rule = {
  name: 'audit_months',
  async deleteBatch(deps) {
    await keepAuditMonths(deps)
    return { removed: 0, isLast: true }
  },
}

/** A rule for audit events. It deletes from the beginning of the chain of seals. */
function auditEvents(keptMs: number): Rule {
  return {
    name: AuditEvent.tableName,
    async deleteBatch(deps, now) {
      const expired = { now, until: now - keptMs, limit: batchSize }
      const removed = await transaction(deps, (deps) => expireEvents(deps, expired))
      if (removed === batchSize) return { removed, isLast: false }
      const dropped = await expireMonths(deps, expired.until)
      return { removed: removed + dropped, isLast: dropped === 0 }
    },
  }
}

/** A rule for a table that no other table refers to. Rows are kept for `keptMs` after the time in `column`. */
function expired<M extends BaseModel>(model: ModelOf<M>, column: keyof M & string, keptMs: number, where?: Where<M>): Rule {
  const deleteExpired: Expiring['deleteExpired'] = (db, some) => deleteUntil(model, db, { column, where }, some)
  return expiredOf({ tableName: model.tableName, deleteExpired }, keptMs)
}

interface Expiring {
  tableName: string
  /** Returns the number of deleted rows. */
  deleteExpired(db: Pool, expired: Expired): Promise<number>
}

/** Like `expired`, for a model that knows which of its rows have expired. */
function expiredOf(model: Expiring, keptMs: number): Rule {
  return {
    name: model.tableName,
    async deleteBatch({ db }, now) {
      const removed = await model.deleteExpired(db, { now, until: now - keptMs, limit: batchSize })
      return { removed, isLast: removed < batchSize }
    },
  }
}

/**
 * A rule for sessions. A session may have thousands of refresh tokens, and the foreign key would delete them all in one
 * statement, so the tokens are deleted first, in batches. Each batch locks its sessions, so another server takes other sessions.
 */
function sessionsWithTokens(name: string, since: 'expires_at' | 'ended_at', keptMs: number): Rule {
  return {
    name,
    deleteBatch: (deps, now) =>
      transaction(deps, async (deps) => {
        const ids = await Session.listOver(deps.db, { since, until: now - keptMs, limit: sessionsAtOnce })
        if (ids.length === 0) return { removed: 0, isLast: true }
        const some = RefreshToken.query(deps.db).whereIn('session_id', ids).limit(batchSize).select('token_hash')
        const tokens = await RefreshToken.query(deps.db).whereIn('token_hash', some).delete()
        if (tokens === batchSize) return { removed: tokens, isLast: false }
        await Session.query(deps.db).whereIn('id', ids).delete()
        return { removed: tokens + ids.length, isLast: false }
      }),
  }
}

/**
 * Deletes rows that have expired or outlived AUTH_RETENTION_DAYS. Several servers may run it at once. `isStopping` ends it
 * between batches. If a rule fails, that is logged and the other rules still run.
 */
export async function removeExpired(deps: Deps<Pool>, isStopping: () => boolean = () => false): Promise<void> {
  const now = deps.clock()
  for (const rule of rulesOf(deps)) {
    try {
      await apply(rule, deps, now, isStopping)
    } catch (error) {
      deps.logger.warn({ err: error, rule: rule.name }, 'cleanup failed; the next run tries again')
    }
  }
}

async function apply({ name: rule, deleteBatch }: Rule, deps: Deps<Pool>, now: number, isStopping: () => boolean): Promise<void> {
  const { cleanupRemoved, cleanupSucceeded } = deps.metrics
  while (!isStopping()) {
    const { removed, isLast } = await deleteBatch(deps, now)
    cleanupRemoved.inc({ rule }, removed)
    if (isLast) return cleanupSucceeded.set({ rule }, Math.floor(deps.clock() / 1_000))
    await nextTurn()
  }
}

/** Cleans up at intervals, one run at a time. `stop` waits for the running batch. */
export function startCleanup(deps: Deps<Pool>, everyMs: number = intervalMs): { stop(): Promise<void> } {
  // A rule that fails from the start on has a time too, from which its alarm counts.
  for (const { name: rule } of rulesOf(deps)) deps.metrics.cleanupSucceeded.set({ rule }, Math.floor(deps.clock() / 1_000))
  let isStopping = false
  let running = Promise.resolve()
  const run = inFlight(() => removeExpired(deps, () => isStopping))
  const timer = setInterval(() => {
    running = run()
  }, everyMs)
  return {
    async stop() {
      isStopping = true
      clearInterval(timer)
      await running
    },
  }
}
