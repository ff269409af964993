import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { AuditEvent, type LoginTally } from '../../models/audit-event.ts'
import { Lockout } from '../../models/lockout.ts'
import { type GivenUp, OutboxMessage } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { readCatalog } from '../catalog/read-catalog.ts'
import { behindIn, type ConsumersBehind } from '../consumers/find-behind.ts'
import { listConsumerSecrets } from '../consumers/list-consumer-secrets.ts'
import { describeLockouts } from '../lockouts/lockouts.ts'
import type { LockoutView } from '../lockouts/present.ts'
import { type Backlog, measureBacklog } from '../outbox/measure-backlog.ts'

const hourMs = 60 * 60 * 1_000
const longestMs = 7 * 24 * hourMs
/** The clock of the caller may be behind. */
const slackMs = hourMs
/** The number of equal parts of the time in which logins are counted. */
const stepCount = 60
const mostListed = 20
/** Given-up deliveries are counted up to this number. */
const mostGivenUp = 1_000

export interface Stats {
  at: number
  /** `since` is the start that was requested for logins. From `countedSince` on, all logins are counted. */
  since: number
  countedSince: number
  stepMs: number
  tallies: LoginTally[]
  users: ReadonlyMap<string, Pick<User, 'email' | 'namespace'>>
  locked: { count: number; items: LockoutView[] }
  outbox: Backlog[]
  givenUp: GivenUp[]
  consumers: { apps: number; behind: ConsumersBehind[] }
}

/** How the service is doing. Reads a bounded number of rows from indexes, however large the tables are. */
export async function collectStats(deps: Deps, asked: number | undefined): Promise<Stats> {
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

async function consumersBehind(deps: Deps): Promise<Stats['consumers']> {
  const { seen } = await listConsumerSecrets(deps)
  const keyrings = await (await readCatalog(deps)).getKeyrings()
  const appCodes = [...new Set(seen.map(({ appCode }) => appCode))]
  const behind = appCodes.flatMap((code) => {
    const sets = seen.filter(({ appCode }) => appCode === code)
    return behindIn(code, sets, keyrings.ofCode(() => code)[0].id) ?? []
  })
  return { apps: appCodes.length, behind }
}
