import type { Outcome } from '../output/output.ts'
import { toCommandLine } from '../text/shell-words.ts'
import type { Tools } from '../tools/create-tools.ts'

interface Step {
  step: string
  outcome: Outcome
}

/** What has been done so far. */
export interface Journal {
  steps: Step[]
  /** What would have done the same. */
  commands: string[]
}

/** Keeps what was done and, where a command does it, shows that. */
export function note(tools: Tools, { steps, commands }: Journal, step: Step, words?: string[], redirection = ''): void {
  steps.push(step)
  if (!words) return
  commands.push(commandLine(tools, words) + redirection)
  tools.io.note(`$ ${commands.at(-1)}`)
}

/** The command as it would have to be typed here, where another service than the current context's was named. */
export function commandLine({ connect, contexts }: Tools, words: string[]): string {
  const { contextName, context, baseUrl } = connect()
  const named = contextName === (contexts.read().current ?? 'default') ? [] : ['--context', contextName]
  const addressed = context?.base_url === baseUrl ? [] : ['--base-url', baseUrl]
  return toCommandLine(['authctl', ...words, ...named, ...addressed])
}
