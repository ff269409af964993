import { type GlobalInput, globalOptions, type Named, type Options } from '../command-line/options.ts'
import type { World } from '../terminal/io.ts'
import { escapeControls } from '../text/escape-controls.ts'
import type { Command } from '../tools/command.ts'
import { createTools } from '../tools/create-tools.ts'
import { askNames } from './ask-names.ts'
import { type Candidate, complete } from './complete.ts'

/** Leaves out names from the service that a shell would read as more than one word. */
const plainWord = /^[\w=.:@/-]+$/

/** How long TAB waits for the service, in seconds. */
const patience = '2'

/** Prints lines for the completion scripts: a word, a tab and its description, or `:files`. Prints nothing on a failure. */
export async function answerShell(
  words: readonly string[],
  world: World,
  { commands, nouns }: { commands: readonly Command[]; nouns: Record<string, string> },
): Promise<void> {
  const print = (line: string) => void world.stdout.write(`${line}\n`)
  const current = words.at(-1) ?? ''
  try {
    const completion = complete(words, commands, nouns)
    if (completion.kind === 'files') return print(':files')
    const candidates = completion.kind === 'words' ? completion.candidates : await ask(completion, words, world)
    for (const { value, about } of candidates)
      if (value.startsWith(current) && plainWord.test(value))
        print(about === undefined ? value : `${value}\t${escapeControls(about)}`)
  } catch {
    // A message would end up in the middle of the command line that is being typed.
  }
}

async function ask(
  { kind, prefix }: { kind: Named; prefix: string },
  words: readonly string[],
  world: World,
): Promise<Candidate[]> {
  const silent = { ...world, stderr: Object.assign(Object.create(world.stderr), { write: () => true }) }
  // Completion offers nothing rather than wait for a retry.
  const impatient = { ...silent, sleep: () => Promise.reject(new Error('no time')) }
  const tools = createTools(impatient, { ...unset(), ...connectionOf(words), quiet: true, timeout: patience } as GlobalInput)
  if (kind === 'contexts') {
    return Object.entries(tools.contexts.read().contexts).map(([name, { base_url }]) => ({
      value: prefix + name,
      about: base_url,
    }))
  }
  const found = await askNames(kind, tools.api, words.at(-1)!.slice(prefix.length))
  return found.map(({ value, ...rest }) => ({ value: prefix + value, ...rest }))
}

function unset(): Record<string, unknown> {
  const entries = Object.entries(globalOptions as Options).map(([key, { kind }]) => [key, kind === 'off' ? true : undefined])
  return Object.fromEntries(entries)
}

/** The connection flags among the words typed so far. */
function connectionOf(words: readonly string[]): Partial<GlobalInput> {
  const given = (flag: string) => {
    const index = words.indexOf(flag)
    return index === -1 ? words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : words[index + 1]
  }
  return { context: given('--context'), baseUrl: given('--base-url'), tokenFile: given('--token-file') }
}
