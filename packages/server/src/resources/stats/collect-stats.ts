import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { AuditEvent, type LoginTally } from '../../models/audit-event.ts'
import { Lockout } from '../../models/lockout.ts'
import { type GivenUp, OutboxMessage } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { listConsumerSecrets, type SeenSecret } from '../consumers/list-consumer-secrets.ts'
import { describeLockouts } from '../lockouts/describe-lockouts.ts'
import type { LockoutView } from '../lockouts/present.ts'
import { type Backlog, measureBacklog } from '../outbox/measure-backlog.ts'

const hourMs = 60 * 60 * 1_000
const longestMs = 7 * 24 * hourMs
/** The clock of the caller may be behind. */
const slackMs = hourMs
/** Logins are counted in so many equal parts of the time. */
const stepCount = 60
const mostListed = 20
/** Given up deliveries are counted to here. */
const mostGivenUp = 1_000
/** Consumers are noted about once a minute. One that was not seen for this long, while others were, is gone. */
const latelyMs = 5 * 60_000

export interface Stats {
  at: number
  /** Of the logins. The first is what was asked for; from the second on all of them are counted. */
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

/** An app some of whose consumers do not accept the secret that signs. */
export interface ConsumersBehind {
  appCode: string
  /** When a consumer was last seen that accepts it; null for never. */
  currentSeenAt: number | null
  /** When one was last seen that does not. */
  behindSeenAt: number
}

/** How the service is doing. It reads a bounded number of rows off indexes, whatever there is. */
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
  const [current] = deps.accessTokens.keyIds
  const { seen } = await listConsumerSecrets(deps)
  const appCodes = [...new Set(seen.map(({ appCode }) => appCode))]
  const setsOf = (code: string) => seen.filter(({ appCode }) => appCode === code)
  return { apps: appCodes.length, behind: appCodes.flatMap((code) => behindOf(code, setsOf(code), current) ?? []) }
}

function behindOf(appCode: string, sets: readonly SeenSecret[], current: string): ConsumersBehind | undefined {
  const currentSet = sets.find(({ kid }) => kid === current)
  if (!currentSet) return { appCode, currentSeenAt: null, behindSeenAt: Math.max(...sets.map(({ lastSeenAt }) => lastSeenAt)) }
  const { lastSeenAt, lastMissingAt } = currentSet
  if (lastMissingAt === null || lastSeenAt - lastMissingAt >= latelyMs) return undefined
  return { appCode, currentSeenAt: lastSeenAt, behindSeenAt: lastMissingAt }
}
