export interface OnDemand {
  /** Asks for a pass. One that runs already is followed by one more. */
  wake(): void
  /** The last pass failed; the next wake tries again. */
  readonly isFailing: boolean
  /** No pass begins from now on; waits for the one that runs. */
  stop(): Promise<void>
}

/** Runs `pass` when woken, never twice at once. The first of a row of failures is told to `report`. */
export function onDemand(pass: () => Promise<void>, report: (error: unknown) => void): OnDemand {
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
