// A clock for the time limits that tests check. On a busy machine a process sometimes waits long for
// its turn, and wall time includes that wait.
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

const stepMs = 25
let steps = 0
let watchers = 0
let isRunning = false

/**
 * Counts milliseconds from now on, in steps that begin only when the previous one has ended: a period in which this
 * process did not run counts as one step, however long it was. On an idle machine it lags a few per cent behind
 * wall time, so use it only for upper bounds.
 */
export function startPatientClock(): () => number {
  const from = steps
  watchers += 1
  onTestFinished(() => {
    watchers -= 1
  })
  if (!isRunning) void run()
  return () => (steps - from) * stepMs
}

async function run(): Promise<void> {
  isRunning = true
  for (; watchers > 0; steps += 1) await sleep(stepMs, undefined, { ref: false })
  isRunning = false
}
