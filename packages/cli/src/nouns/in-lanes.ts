/** Requests that are on their way at once. More would wait at the service, which writes one after the other. */
const lanes = 8

/**
 * Runs `act` for each item, several at a time and in their order. The first item goes alone: what fails for it would fail for all. After
 * an exception it begins nothing more, and throws it once what had begun is over.
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
