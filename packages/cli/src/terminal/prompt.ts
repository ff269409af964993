import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import type { Settings } from '../command-line/settings.ts'
import { escapeControls } from '../text/escape-controls.ts'

/** Questions on the terminal. Except for a list, they have no default answers: an empty line asks again. */
export interface Prompt {
  text(question: string): Promise<string>
  hidden(question: string): Promise<string>
  yesOrNo(question: string): Promise<boolean>
  /** One of a list, by the arrow keys or by typing the beginning of its value. */
  choice<T extends string>(question: string, choices: readonly Choice<T>[]): Promise<T>
}

export interface Choice<T> {
  value: T
  /** Shown below the list while the choice is marked. */
  description?: string
}

async function ask(type: 'input' | 'password' | 'select', message: string, more: object): Promise<string> {
  // Loaded late: most runs ask nothing, and loading it takes longer than everything else.
  const { default: inquirer } = await import('inquirer')
  const prompt = inquirer.createPromptModule({ output: process.stderr })
  // A question may contain a name that a stranger chose.
  const asked = prompt<{ answer: string }>([{ type, name: 'answer', message: escapeControls(message), ...more }] as never)
  const { answer } = await unlessInputEnds(asked)
  return answer
}

/**
 * Rejects if the input ends before an answer, as by Ctrl-D. The question then stays open, and the process has nothing left to do.
 */
function unlessInputEnds<T>(asked: Promise<T>): Promise<T> {
  const failure = new Failure('declined', 'the input ended before an answer; nothing was done', { code: 'declined' })
  return new Promise((resolve, reject) => {
    const end = () => reject(failure)
    process.once('beforeExit', end)
    asked.then(resolve, reject).finally(() => process.off('beforeExit', end))
  })
}

const validateTrimmed = { validate: (answer: string) => answer.trim() !== '' || 'Type an answer, or Ctrl-C' }
const validateTyped = { validate: (answer: string) => answer !== '' || 'Type an answer, or Ctrl-C' }
const validateYesOrNo = { validate: (typed: string) => /^\s*(y|yes|n|no)\s*$/i.test(typed) || 'Type yes or no' }

export const terminalPrompt: Prompt = {
  text: async (question) => (await ask('input', question, validateTrimmed)).trim(),
  hidden: (question) => ask('password', question, validateTyped),
  async yesOrNo(question) {
    return /^\s*y/i.test(await ask('input', `${question} (yes/no)`, validateYesOrNo))
  },
  async choice(question, choices) {
    const answer = await ask('select', question, { choices: choices.map((each) => ({ name: each.value, ...each })), loop: false })
    const chosen = choices.find(({ value }) => value === answer)
    if (!chosen) throw new Error(`${answer} is not in the list`)
    return chosen.value
  },
}

interface Asking {
  settings: Pick<Settings, 'yes' | 'confirm' | 'dryRun'>
  io: { canAsk: boolean }
  prompt: Prompt
  /** Where the action happens, for questions about a service: `in production (https://auth.example.com)`. */
  place?: () => string
}

/** The action as a question names it. A question about this machine has no place. */
function named(action: string, { place }: Asking): string {
  return place ? `${action} ${place()}` : action
}

/** Asks for a required value. Throws `usage` with `name`, its name on the command line, if it cannot ask. */
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
