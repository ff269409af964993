/** Wraps `run` so that it never runs twice at once. Calls that come while it runs share its answer. */
export function inFlight<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
}
