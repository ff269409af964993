import type { Platform } from './platform.ts'

/** As long as a tab is waited for that has the lock: below the service's leeway, within which two refreshes do no harm. */
const LONGEST_WAIT_MS = 5_000

/** Runs one after another what tabs do under the same name. A tab that holds on too long, or a browser without locks, stops nobody. */
export async function withTabLock<Result>(
  { locks }: Pick<Platform, 'locks'>,
  name: string,
  work: () => Promise<Result>,
  longestWaitMs = LONGEST_WAIT_MS,
): Promise<Result> {
  if (!locks) return work()
  let isGranted = false
  try {
    return await locks.request(name, { signal: AbortSignal.timeout(longestWaitMs) }, () => {
      isGranted = true
      return work()
    })
  } catch (error) {
    if (isGranted) throw error
    return work()
  }
}
