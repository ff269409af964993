import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { treeSeconds } from './process-figures.ts'

/** Twice what a test or a hook may take. */
const patienceMs = 10 * 60_000

const nameOf = (module: TestModule) => `${module.relativeModuleId} (${module.project.name})`

/**
 * Ends the run if a test file gives no sign of life. Vitest's own time limits run inside the worker, so they never come if the
 * worker's event loop is blocked, and the run would wait for ever.
 */
export default class StuckFiles implements Reporter {
  readonly #lastSign = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#look(), 15_000).unref()
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer)
  }

  onTestModuleQueued(module: TestModule): void {
    this.#lastSign.set(nameOf(module), performance.now())
  }

  onTestCaseReady({ module }: TestCase): void {
    this.#lastSign.set(nameOf(module), performance.now())
  }

  onTestCaseResult({ module }: TestCase): void {
    this.#lastSign.set(nameOf(module), performance.now())
  }

  onTestModuleEnd(module: TestModule): void {
    this.#lastSign.delete(nameOf(module))
  }

  #look(): void {
    const stuck = [...this.#lastSign].filter(([, sign]) => performance.now() - sign > patienceMs)
    if (stuck.length === 0) return
    process.stderr.write(
      `[gatehouse] no sign of life for ten minutes, so the run ends: ${stuck.map(([name]) => name).join(', ')}\n`,
    )
    // Their event loops are blocked, so nothing gentler reaches them.
    for (const pid of treeSeconds(process.pid).keys()) if (pid !== process.pid) process.kill(pid, 'SIGKILL')
    process.exit(1)
  }
}
