import { escapeControls } from './show.ts'

/** Takes the lines that this package writes by itself: `console`, or the logger of the app. */
export interface Logger {
  warn(line: string): void
}

/** Writes `line`, unless something of the same cause was written before: that is counted, and told each minute. */
export type Warn = (cause: string, line: string) => void

const COUNT_MS = 60_000
/** Causes come from short lists, but for what a proxy or a `fetch` of the app calls its faults. */
const MOST_CAUSES = 100

/** There is no timer: a count is told by the first one of its kind after the minute, so that nothing keeps a program alive. */
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
    } else if (causes.size === MOST_CAUSES) return
    causes.set(cause, { count: 0, toldAt })
    try {
      if (logger) logger.warn(escapeControls(`gatehouse: ${words}`))
    } catch {
      // A logger that fails is no reason to refuse anything.
    }
  }
}
