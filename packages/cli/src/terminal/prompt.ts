import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import type { Settings } from '../command-line/settings.ts'
import { escapeControls } from '../text/escape-controls.ts'

/** Questions on the terminal. They have no default answers: an empty line asks again. */
export interface Prompt {
  text(question: string): Promise<string>
  hidden(question: string): Promise<string>
  yesOrNo(question: string): Promise<boolean>
}

async function ask(type: 'input' | 'password', message: string, validate: (answer: string) => boolean | string): Promise<string> {
  // Loaded late: most runs ask nothing, and loading it takes longer than everything else.
  const { default: inquirer } = await import('inquirer')
  const prompt = inquirer.createPromptModule({ output: process.stderr })
  // A question may name what strangers chose.
  const asked = prompt<{ answer: string }>([{ type, name: 'answer', message: escapeControls(message), validate }] as never)
  const { answer } = await unlessInputEnds(asked)
  return answer
}

/** When the input ends before an answer, as by Ctrl-D, the question stays open and the process has nothing else left to do. */
function unlessInputEnds<T>(asked: Promise<T>): Promise<T> {
  const failure = new Failure('declined', 'the input ended before an answer; nothing was done', { code: 'declined' })
  return new Promise((resolve, reject) => {
    const end = () => reject(failure)
    process.once('beforeExit', end)
    asked.then(resolve, reject).finally(() => process.off('beforeExit', end))
  })
}

const somethingTyped = (answer: string) => answer.trim() !== '' || 'Type an answer, or Ctrl-C'

export const terminalPrompt: Prompt = {
  text: async (question) => (await ask('input', question, somethingTyped)).trim(),
  hidden: (question) => ask('password', question, (answer) => answer !== '' || 'Type an answer, or Ctrl-C'),
  async yesOrNo(question) {
    const answer = await ask('input', `${question} (yes/no)`, (typed) => /^\s*(y|yes|n|no)\s*$/i.test(typed) || 'Type yes or no')
    return /^\s*y/i.test(answer)
  },
}

interface Asking {
  settings: Pick<Settings, 'yes' | 'confirm' | 'dryRun'>
  io: { canAsk: boolean }
  prompt: Prompt
  /** Where the action happens, as every question about a service says: `in production (https://auth.example.com)`. */
  place?: () => string
}

/** What is asked about. A question about this machine has no place. */
function named(action: string, { place }: Asking): string {
  return place ? `${action} ${place()}` : action
}

/** A value that the command cannot do without; `name` is how it is given on the command line. */
export async function askFor({ io, prompt }: Pick<Asking, 'io' | 'prompt'>, name: string, question: string): Promise<string> {
  if (!io.canAsk) throw usageFailure(`${name} is required`)
  return prompt.text(question)
}

export function declined(): Failure {
  return new Failure('declined', 'declined; nothing was done', { code: 'declined' })
}

/** Returns if `--yes` was given or the user types yes. */
export async function confirmYes(asking: Asking, action: string): Promise<void> {
  const { settings, io, prompt } = asking
  if (settings.yes || settings.dryRun) return
  if (!io.canAsk) throw usageFailure(`to ${named(action, asking)}, --yes is required`, 'nothing was done')
  if (!(await prompt.yesOrNo(`Really ${named(action, asking)}?`))) throw declined()
}

/** Returns if `--confirm` has the name or the user types it again. */
export async function confirmName(asking: Asking, name: string, action: string): Promise<void> {
  const { settings, io, prompt } = asking
  if (settings.dryRun) return
  if (settings.confirm === name) return
  if (settings.confirm !== undefined)
    throw usageFailure(`--confirm says "${settings.confirm}", not "${name}"`, 'nothing was done')
  if (!io.canAsk) throw usageFailure(`to ${named(action, asking)}, --confirm ${name} is required`, 'nothing was done')
  if ((await prompt.text(`To ${named(action, asking)}, type ${name}:`)) !== name) throw declined()
}
