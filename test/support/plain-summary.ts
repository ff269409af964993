import type { Reporter, TestModule } from 'vitest/node'
import { describeLane } from './lane.ts'
import { describeRun } from './run-figures.ts'

/** Set once this reporter is loaded and will print the closing line. If vitest fails before that, `scripts/test.ts` prints it. */
export const summaryKey = Symbol.for('gatehouse.summary')

/** Prints, after vitest's own summary, what the run took and the closing line that scripts read: `N passed, N failed`. */
export default class PlainSummary implements Reporter {
  #passed = 0
  #failed = 0
  #skipped = 0

  constructor() {
    Object.assign(globalThis, { [summaryKey]: true })
    process.on('exit', (code) => {
      // The databases or vitest itself did not start, or no test saw a declared reply.
      if (code !== 0 && this.#failed === 0) this.#failed = 1
      const skipped = this.#skipped > 0 ? `, ${this.#skipped} skipped` : ''
      process.stdout.write(`${describeLane()}: ${describeRun()}\n`)
      process.stdout.write(`${this.#passed} passed, ${this.#failed} failed${skipped}\n`)
    })
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    this.#passed = 0
    this.#skipped = 0
    this.#failed = unhandledErrors.length
    for (const module of modules) {
      this.#failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') this.#passed += 1
        else if (state === 'failed') this.#failed += 1
        else this.#skipped += 1
      }
    }
  }
}
