import type { Platform } from './platform.ts'

/** How long a tab waits for the lock: less than the service's leeway, within which two refreshes do no harm. */
const LONGEST_WAIT_MS = 5_000
/** How long a write of one tab may take to reach the others, and how long they wait for it. */
const LONGEST_DELAY_MS = 1_000
const LOOK_EVERY_MS = 10

/**
 * Runs `work` of one tab at a time under the same name. It runs anyway if another tab holds the lock for too long, or if the
 * browser has no locks.
 *
 * Storage and locks travel separately from one process to another, so a tab may get the lock before it sees what the previous tab
 * wrote. `version` returns how new the storage is that this tab sees. Each tab leaves its version with the locks for a while, in
 * the name of a second lock. All tabs see the locks in the same order, so the next one waits until its storage has that version.
 */
export async function withTabLock<Result>(
  { locks }: Pick<Platform, 'locks'>,
  name: string,
  work: () => Promise<Result>,
  version = () => 0,
  longestWaitMs = LONGEST_WAIT_MS,
): Promise<Result> {
  if (!locks) return work()
  let isGranted = false
  try {
    return await locks.request(name, { signal: AbortSignal.timeout(longestWaitMs) }, async () => {
      const { held = [] } = await locks.query()
      const newest = Math.max(...held.map((lock) => Number(lock.name?.split(`${name}#`)[1] ?? 0)))
      const late = AbortSignal.timeout(LONGEST_DELAY_MS)
      while (version() < newest && !late.aborted) await pause(LOOK_EVERY_MS)
      isGranted = true
      const result = await work()
      await new Promise<void>((resolve) => {
        const leave = () => {
          resolve()
          return pause(LONGEST_DELAY_MS)
        }
        locks.request(`${name}#${version()}`, { mode: 'shared' }, leave).catch(resolve)
      })
      return result
    })
  } catch (error) {
    if (isGranted) throw error
    return work()
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
