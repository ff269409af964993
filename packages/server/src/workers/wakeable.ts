export interface Wakeable {
  /** Asks for a pass. If one is running, another one follows it. */
  wake(): void
  /** Whether the last pass failed. The next wake tries again. */
  readonly isFailing: boolean
  /** Starts no further pass, and waits for the running one. */
  stop(): Promise<void>
}

/** Runs `pass` when woken, never twice at once. Calls `report` for the first of several failures in a row. */
export function wakeable(pass: () => Promise<void>, report: (error: unknown) => void): Wakeable {
  let isWanted = false
  let isFailing = false
  let isStopping = false
  let running: Promise<void> | undefined

  const run = async () => {
    while (isWanted && !isStopping) {
      isWanted = false
      await pass()
    }
    isFailing = false
  }
  const wake = () => {
    isWanted = true
    running ??= run()
      .catch((error: unknown) => {
        if (!isFailing) report(error)
        isFailing = true
      })
      .finally(() => {
        running = undefined
        if (isWanted && !isFailing && !isStopping) wake()
      })
  }
  return {
    wake,
    get isFailing() {
      return isFailing
    },
    async stop() {
      isStopping = true
      await running
    },
  }
}
