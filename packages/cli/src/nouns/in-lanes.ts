/** Concurrent requests. More would only wait at the service, which writes one after the other. */
const lanes = 8

/**
 * Runs `act` for each item, in order and several at a time. The first item runs alone: if it fails, all would. After an exception
 * it starts no further item, and throws the exception once the running ones have finished.
 */
export async function inLanes<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const [first, ...others] = items
  if (first === undefined) return
  await act(first)
  let failure: { thrown: unknown } | undefined
  let next = 0
  const work = async () => {
    while (!failure && next < others.length) {
      const item = others[next]!
      next += 1
      try {
        await act(item)
      } catch (thrown) {
        failure ??= { thrown }
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, work))
  if (failure) throw failure.thrown
}
