import type { Deps } from '../../deps.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'

/** Written at most this often for one app and set of secrets, however many consumers call however often. */
const resolutionMs = 60_000
/** Sets of secrets remembered per app: what consumers make up pushes out what they made up before. */
const mostSets = 16

/** `kids` of a consumer as stored. */
export function joinKids(kids: readonly string[]): string {
  return kids.join(',')
}

/** Remembers that a consumer of the app accepts these secrets and no others. `lastSeenAt` is what is known of it already. */
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
