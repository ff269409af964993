import { escapeControls } from './show.ts'

/** Receives the warnings of this package: `console`, or the logger of the app. */
export interface Logger {
  warn(line: string): void
}

/**
 * Writes `line`, unless a line with the same cause was written before. Repeats are counted, and the count is written each minute.
 * A line without a cause is always written.
 */
export type Warn = (cause: string, line: string) => void

const COUNT_MS = 60_000
/** Causes come from short lists, except for the names that a proxy or a `fetch` of the app gives its errors. */
const MOST_CAUSES = 100

/** Uses no timer, which would keep a program alive: the first repeat after a minute writes the count. */
export function createWarn(logger: Logger | false, now: () => number): Warn {
  const causes = new Map<string, { count: number; toldAt: number }>()
  return (cause, line) => {
    const known = causes.get(cause)
    const toldAt = now()
    let words = line
    if (known) {
      known.count += 1
      const passedMs = toldAt - known.toldAt
      if (!(passedMs >= COUNT_MS)) return
      words = `${cause}: ${known.count} more in ${Math.round(passedMs / 1000)} s`
    } else if (causes.size === MOST_CAUSES && cause) return
    if (cause) causes.set(cause, { count: 0, toldAt })
    try {
      if (logger) logger.warn(escapeControls(`gatehouse: ${words}`))
    } catch {
      // An error of the logger must not refuse a request.
    }
  }
}
