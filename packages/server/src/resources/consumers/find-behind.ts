import type { Deps } from '../../deps.ts'
import { listConsumerSecrets, type SeenSecret } from './list-consumer-secrets.ts'

/** Consumers are noted about once a minute. A consumer that was not seen for this long, while others were, counts as gone. */
const latelyMs = 5 * 60_000

/** An app with consumers that do not accept a key. */
export interface ConsumersBehind {
  appCode: string
  /** When a consumer that accepts the key was last seen; null for never. */
  currentSeenAt: number | null
  /** When a consumer that does not accept it was last seen. */
  behindSeenAt: number
}

/** Returns the app if one of its consumers was recently seen without the key of this id. */
export async function findBehind(deps: Deps, appCode: string, kid: string): Promise<ConsumersBehind | undefined> {
  const { seen } = await listConsumerSecrets(deps)
  return behindIn(
    appCode,
    seen.filter((each) => each.appCode === appCode),
    kid,
  )
}

/** Like `findBehind`, for the sets of secrets of one app that the caller has already read. */
export function behindIn(appCode: string, sets: readonly SeenSecret[], kid: string): ConsumersBehind | undefined {
  if (sets.length === 0) return undefined
  const accepting = sets.find((each) => each.kid === kid)
  if (!accepting) return { appCode, currentSeenAt: null, behindSeenAt: Math.max(...sets.map(({ lastSeenAt }) => lastSeenAt)) }
  const { lastSeenAt, lastMissingAt } = accepting
  if (lastMissingAt === null || lastSeenAt - lastMissingAt >= latelyMs) return undefined
  return { appCode, currentSeenAt: lastSeenAt, behindSeenAt: lastMissingAt }
}
