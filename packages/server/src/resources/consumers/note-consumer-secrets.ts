import type { Deps } from '../../deps.ts'
import type { Keyring } from '../../lib/keyrings.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'

/** An app and set of secrets is written at most this often, however many consumers call. */
const resolutionMs = 60_000
/** How many sets with the same ones of our keys are kept per app. They differ in key ids that only their consumers know. */
const mostAlike = 4

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
  { appId, kids, lastSeenAt, keyring }: { appId: string; kids: readonly string[]; lastSeenAt?: number | null; keyring: Keyring },
): Promise<void> {
  const now = deps.clock()
  const latest = now - resolutionMs
  if (lastSeenAt && lastSeenAt > latest) return
  await ConsumerSecret.note(deps.db, { app_id: appId, kids: joinKids(kids) }, { now, latest })
  if (lastSeenAt !== null) return
  const sets = await ConsumerSecret.listOfApp(deps.db, appId)
  const kept = new Set(fewAlike(sets, keyring, (set) => set.split(',')))
  if (kept.size < sets.length)
    await ConsumerSecret.forget(
      deps.db,
      appId,
      sets.filter((set) => !kept.has(set)),
    )
}

/**
 * Leaves out sets that hold the same ones of our keys as several before them. Which of our keys the consumers of an app accept, or
 * lack, can be read from the rest as well. Consumers can make up any number of key ids, but these push out only one another.
 */
export function fewAlike<S>(sets: readonly S[], keyring: Keyring, kidsOf: (set: S) => readonly string[]): S[] {
  const counts = new Map<string, number>()
  return sets.filter((set) => {
    const ours = joinKids(kidsOf(set).filter((kid) => keyring.some(({ id }) => id === kid)))
    const count = (counts.get(ours) ?? 0) + 1
    counts.set(ours, count)
    return count <= mostAlike
  })
}
