import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { id, moment, timestamp } from '../../lib/fields.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import { AuditEvent, type LoginTally } from '../../models/audit-event.ts'
import { Lockout } from '../../models/lockout.ts'
import { OutboxMessage } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { readCatalog } from '../catalog/catalog.ts'
import { behindIn, listConsumerSecrets } from '../consumers/consumers.ts'
import { describeLockouts } from '../lockouts/lockouts.ts'
import { measureBacklog } from '../outbox/outbox.ts'

export const statsQuery = z.strictObject({
  since: moment.optional().meta({
    description: 'Count logins from this time on, at most 7 days ago. Default: an hour ago. ISO 8601',
  }),
})

const locked = z.object({
  key: z.string(),
  email: z.string().nullable(),
  pool: z.string().nullable(),
  locked_until: timestamp.nullable(),
  failures: z.int(),
})

const failures = { failures: z.int(), last_failed_at: timestamp }

export const statsRecord = z
  .object({
    at: timestamp.meta({ description: 'Time on the clock of this server' }),
    logins: z.object({
      since: timestamp.meta({ description: 'As requested' }),
      counted_since: timestamp.meta({
        description:
          'Time from which all logins, failing addresses and failing e-mails are counted. Later than `since` if more than 2,000 ' +
          'logins succeeded, or more than 2,000 failed, since then',
      }),
      outcomes: z
        .array(z.object({ outcome: z.string(), count: z.int() }))
        .meta({ description: '`success`, and the reasons of `login.failed` in the audit log, most frequent first' }),
      steps: z
        .array(z.object({ at: timestamp, succeeded: z.int(), failed: z.int() }))
        .meta({ description: 'The same over time: equal intervals from `counted_since` on, at most 60, oldest first' }),
    }),
    failing_addresses: z
      .array(z.object({ ip: z.string(), ...failures }))
      .meta({ description: 'The 20 addresses with the most refused logins' }),
    failing_emails: z
      .array(
        z.object({
          email: z.string().nullable().meta({ description: 'Null if its user was deleted' }),
          user_id: id.nullable().meta({ description: 'Null if no user of the app has it' }),
          pool: z.string().nullable(),
          ...failures,
        }),
      )
      .meta({ description: 'The 20 users and e-mails with the most refused logins' }),
    locked: z.object({
      count: z.int().meta({ description: 'Of the 5,000 counters that failed last, the number that lock now' }),
      items: z.array(locked).meta({ description: 'The 20 newest of them, as in `GET /admin/lockouts`' }),
    }),
    outbox: z
      .array(
        z.object({
          kind: z.enum(['webhook', 'mail']),
          pending: z.int().meta({ description: 'Waiting to be sent, counted up to 10,000' }),
          oldest_pending_seconds: z.int().meta({ description: 'How long the oldest one has waited, retries included' }),
          oldest_due_seconds: z.int().meta({ description: 'How long the oldest one that is due has waited' }),
        }),
      )
      .meta({ description: 'Messages that are waiting to be sent' }),
    failed_webhooks: z
      .array(z.object({ app_code: z.string(), webhook: z.string(), failed: z.int(), last_failed_at: timestamp }))
      .meta({
        description:
          'The 20 webhooks with the most failed deliveries, of those first sent since then. Counts up to 1,000 deliveries in all. ' +
          'Leaves out samples and deliveries about erased users',
      }),
    consumers: z
      .object({
        app_count: z.int().meta({ description: 'Number of apps whose consumers were seen' }),
        behind_count: z.int(),
        behind: z
          .array(
            z.object({
              app_code: z.string(),
              current_last_seen_at: timestamp.nullable().meta({
                description: 'When a consumer that accepts the current secret was last seen. Null if never',
              }),
              behind_last_seen_at: timestamp.meta({ description: 'When a consumer that does not accept it was last seen' }),
            }),
          )
          .meta({ description: 'At most 200' }),
      })
      .meta({ description: 'Apps with consumers that do not accept the current signing secret' }),
  })
  .meta({ id: 'Stats' })

const hourMs = 60 * 60 * 1_000
const longestMs = 7 * 24 * hourMs
/** The clock of the caller may be behind. */
const slackMs = hourMs
/** The number of equal parts of the time in which logins are counted. */
const stepCount = 60
const mostListed = 20
/** Given-up deliveries are counted up to this number. */
const mostGivenUp = 1_000

/** How the service is doing. Reads a bounded number of rows from indexes, however large the tables are. */
export async function collectStats(deps: Deps, asked: number | undefined) {
  const now = deps.clock()
  const since = asked ?? now - hourMs
  if (since >= now) throw fieldError('since', 'invalid_value', 'must be in the past')
  if (since < now - longestMs - slackMs) throw fieldError('since', 'invalid_value', 'must be at most 7 days ago')
  const { since: countedSince, stepMs, tallies } = await AuditEvent.countLogins(deps.db, { since, now, steps: stepCount })
  const userIds = tallies.flatMap(({ user_id }) => user_id ?? [])
  const users = await User.listNames(deps.db, userIds)
  const locked = await Lockout.listLocked(deps.db, { now, limit: mostListed })
  return {
    at: now,
    since,
    /** From then on, all logins are counted. */
    countedSince,
    stepMs,
    tallies,
    users: new Map(users.map((user) => [user.id, user])),
    locked: { count: locked[0]?.total ?? 0, items: await describeLockouts(deps, locked) },
    outbox: await measureBacklog(deps),
    givenUp: await OutboxMessage.countGivenUp(deps.db, { since, most: mostGivenUp, limit: mostListed }),
    consumers: await consumersBehind(deps),
  }
}

async function consumersBehind(deps: Deps) {
  const { seen } = await listConsumerSecrets(deps)
  const keyrings = await (await readCatalog(deps)).getKeyrings()
  const appCodes = [...new Set(seen.map(({ app_code }) => app_code))]
  const behind = appCodes.flatMap((code) => {
    const sets = seen.filter(({ app_code }) => app_code === code)
    return behindIn(code, sets, keyrings.ofCode(() => code)[0].id) ?? []
  })
  return { apps: appCodes.length, behind }
}

type Stats = Awaited<ReturnType<typeof collectStats>>
type StatsRecord = z.output<typeof statsRecord>

const mostApps = 200

export function presentStats(stats: Stats): StatsRecord {
  const { at, since, countedSince, tallies, users, locked, outbox, givenUp, consumers } = stats
  const of = (part: LoginTally['part']) => tallies.filter((tally) => tally.part === part)
  return {
    at: iso(at),
    logins: {
      since: iso(since),
      counted_since: iso(countedSince),
      outcomes: of('outcome')
        .map(({ name, count }) => ({ outcome: name ?? '', count }))
        .sort((a, b) => b.count - a.count || (a.outcome < b.outcome ? -1 : 1)),
      steps: presentSteps(stats),
    },
    failing_addresses: of('address').map(({ name, count, last_at }) => {
      return { ip: name ?? '', failures: count, last_failed_at: iso(last_at) }
    }),
    failing_emails: of('email').map(({ name, user_id, count, last_at }) => {
      const user = user_id === null ? undefined : users.get(user_id)
      return {
        email: user?.email ?? name,
        user_id,
        pool: user?.namespace ?? null,
        failures: count,
        last_failed_at: iso(last_at),
      }
    }),
    locked,
    outbox: outbox.map(({ kind, pending, oldestPendingMs, oldestDueMs }) => ({
      kind,
      pending,
      oldest_pending_seconds: Math.floor(oldestPendingMs / 1_000),
      oldest_due_seconds: Math.floor(oldestDueMs / 1_000),
    })),
    failed_webhooks: givenUp.map(({ app_code, webhook, count, last_at }) => ({
      app_code,
      webhook,
      failed: count,
      last_failed_at: iso(last_at),
    })),
    consumers: {
      app_count: consumers.apps,
      behind_count: consumers.behind.length,
      behind: consumers.behind.slice(0, mostApps).map(({ appCode, currentSeenAt, behindSeenAt }) => ({
        app_code: appCode,
        current_last_seen_at: isoOrNull(currentSeenAt),
        behind_last_seen_at: iso(behindSeenAt),
      })),
    },
  }
}

/** The parts of the time that were counted, oldest first, including those without a login. */
function presentSteps({ at, countedSince, stepMs, tallies }: Stats): StatsRecord['logins']['steps'] {
  const count = Math.floor((at - countedSince) / stepMs) + 1
  const steps = Array.from({ length: count }, (_, step) => ({ at: iso(countedSince + step * stepMs), succeeded: 0, failed: 0 }))
  for (const { part, name, count: logins } of tallies) {
    if (part !== 'succeeded' && part !== 'failed') continue
    // Another server, whose clock is ahead, may have dated a login after now.
    const step = steps[Math.min(Number(name), count - 1)]
    if (step) step[part] += logins
  }
  return steps
}
