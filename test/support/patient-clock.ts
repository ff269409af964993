// A clock for the time limits that tests look at. On a busy machine a process waits for its turn, now and then for long, and what it
// measures by the wall has that in it.
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

const stepMs = 25
let steps = 0
let watchers = 0
let isRunning = false

/**
 * Milliseconds since now, in steps that begin only when the one before has ended: a stretch in which this process did not get to run
 * counts as one step, however long it was. On a machine with nothing else to do it is a few per cent behind the wall, so it is for
 * upper bounds alone.
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
