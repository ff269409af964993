import type { Platform } from './platform.ts'

/** How long a tab waits for the lock: less than the service's leeway, within which two refreshes do no harm. */
const LONGEST_WAIT_MS = 5_000
/** How long a write of one tab may take to reach the others, and how long they wait for it. */
const LONGEST_DELAY_MS = 1_000
const LOOK_EVERY_MS = 10

/**
 * Runs one after another what tabs do under the same name. A tab that holds on too long, or a browser without locks, stops nobody.
 *
 * The storage of a browser takes a way of its own from one process to another, so a tab may get the lock before it sees what was
 * written under it. `version` says how new that is which this tab sees. Each tab leaves its own with the locks for a while, which all
 * tabs ask in the same order, and the next one looks at its storage until that has come.
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
