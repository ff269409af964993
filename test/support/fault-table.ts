import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import './fault.ts'

/** Prints the fault tests as a Markdown table: the promise, what was measured, whether it held, and how to repeat it. */
export default class FaultTable implements Reporter {
  onInit(): void {
    console.log('| Promise | Figure | Held | Command |\n| --- | --- | --- | --- |')
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result()
    const held = state === 'passed' ? 'yes' : state === 'failed' ? 'NO' : 'not run here'
    const file = relative('test/faults', test.module.relativeModuleId).replace(/\.test\.ts$/, '')
    const figure = test.meta().figure ?? ''
    console.log(`| ${test.fullName.replaceAll(' > ', ': ')} | ${figure} | ${held} | \`npm run faults -- ${file}\` |`)
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly { message: string }[]): void {
    const failed = modules.flatMap((module) => [...module.children.allTests('failed')])
    const faults = [
      ...failed.map((test) => `${test.fullName}\n${test.result().errors?.map(({ stack, message }) => stack ?? message)}`),
      ...modules.flatMap((module) => module.errors().map(({ message }) => `${module.relativeModuleId}\n${message}`)),
      ...unhandledErrors.map(({ message }) => message),
    ]
    for (const fault of faults) console.log(`\n${fault}`)
  }
}
