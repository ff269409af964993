import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { LoginTally } from '../../models/audit-event.ts'
import { type LockoutView, presentLockout } from '../lockouts/present.ts'
import type { statsRecord } from './schema.ts'

type StatsRecord = z.output<typeof statsRecord>

interface Collected {
  at: number
  since: number
  countedSince: number
  stepMs: number
  tallies: readonly LoginTally[]
  users: ReadonlyMap<string, { email: string; namespace: string }>
  locked: { count: number; items: readonly LockoutView[] }
  outbox: readonly { kind: 'webhook' | 'mail'; pending: number; oldestDueMs: number }[]
  givenUp: readonly { app_code: string; webhook: string; count: number; last_at: number }[]
  consumers: {
    apps: number
    behind: readonly { appCode: string; currentSeenAt: number | null; behindSeenAt: number }[]
  }
}

const mostApps = 200

export function presentStats(stats: Collected): StatsRecord {
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
    failing_addresses: of('address').map(({ name, count, last_at }) => ({
      ip: name ?? '',
      failures: count,
      last_failed_at: iso(last_at),
    })),
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
    locked: { count: locked.count, items: locked.items.map(presentLockout) },
    outbox: outbox.map(({ kind, pending, oldestDueMs }) => ({
      kind,
      pending,
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
function presentSteps({ at, countedSince, stepMs, tallies }: Collected): StatsRecord['logins']['steps'] {
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
