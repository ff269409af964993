import type { Deps } from '../../deps.ts'
import { listConsumerSecrets, type SeenSecret } from './list-consumer-secrets.ts'

/** Consumers are noted about once a minute. One that was not seen for this long, while others were, is gone. */
const latelyMs = 5 * 60_000

/** An app some of whose consumers do not accept a key. */
export interface ConsumersBehind {
  appCode: string
  /** When a consumer was last seen that accepts it; null for never. */
  currentSeenAt: number | null
  /** When one was last seen that does not. */
  behindSeenAt: number
}

/** The app, if a consumer of it was lately seen without the key of this id. */
export async function findBehind(deps: Deps, appCode: string, kid: string): Promise<ConsumersBehind | undefined> {
  const { seen } = await listConsumerSecrets(deps)
  return behindIn(
    appCode,
    seen.filter((each) => each.appCode === appCode),
    kid,
  )
}

/** The same among the sets of secrets that consumers of the app have. */
export function behindIn(appCode: string, sets: readonly SeenSecret[], kid: string): ConsumersBehind | undefined {
  if (sets.length === 0) return undefined
  const accepting = sets.find((each) => each.kid === kid)
  if (!accepting) return { appCode, currentSeenAt: null, behindSeenAt: Math.max(...sets.map(({ lastSeenAt }) => lastSeenAt)) }
  const { lastSeenAt, lastMissingAt } = accepting
  if (lastMissingAt === null || lastSeenAt - lastMissingAt >= latelyMs) return undefined
  return { appCode, currentSeenAt: lastSeenAt, behindSeenAt: lastMissingAt }
}
