import type { Outcome } from '../output/render.ts'
import { toCommandLine } from '../text/shell-words.ts'
import type { Tools } from '../tools/create-tools.ts'

interface Step {
  step: string
  outcome: Outcome
}

/** What has been done so far. */
export interface Journal {
  steps: Step[]
  /** The commands that would have done the same. */
  commands: string[]
}

/** Records a step. If a command does the same, shows that command. */
export function note(tools: Tools, { steps, commands }: Journal, step: Step, words?: string[], redirection = ''): void {
  steps.push(step)
  if (!words) return
  commands.push(commandLine(tools, words) + redirection)
  tools.io.note(`$ ${commands.at(-1)}`)
}

/** The command as the user would type it, with --context and --base-url if they differ from the context in use. */
export function commandLine({ connect, contexts }: Tools, words: string[]): string {
  const { contextName, context, baseUrl } = connect()
  const named = contextName === (contexts.read().current ?? 'default') ? [] : ['--context', contextName]
  const addressed = context?.base_url === baseUrl ? [] : ['--base-url', baseUrl]
  return toCommandLine(['authctl', ...words, ...named, ...addressed])
}
