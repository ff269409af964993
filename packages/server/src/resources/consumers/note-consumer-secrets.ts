import type { Deps } from '../../deps.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'

/** An app and set of secrets is written at most this often, however many consumers call. */
const resolutionMs = 60_000
/** How many sets of secrets are kept per app. Sets that a consumer makes up push out older ones and cannot fill the table. */
const mostSets = 16

/** `kids` of a consumer as stored. */
export function joinKids(kids: readonly string[]): string {
  return kids.join(',')
}

/**
 * Notes that a consumer of the app accepts these secrets and no others. `lastSeenAt` is when this set was last noted, null for
 * never, if the caller has read it.
 */
export async function noteConsumerSecrets(
  deps: Deps,
  consumer: { appId: string; kids: readonly string[]; lastSeenAt?: number | null },
): Promise<void> {
  const now = deps.clock()
  const latest = now - resolutionMs
  if (consumer.lastSeenAt && consumer.lastSeenAt > latest) return
  const row = { app_id: consumer.appId, kids: joinKids(consumer.kids) }
  await ConsumerSecret.note(deps.db, row, { now, latest })
  if (consumer.lastSeenAt === null) await ConsumerSecret.keepNewest(deps.db, consumer.appId, mostSets)
}
