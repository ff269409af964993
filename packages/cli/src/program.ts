import { Command as CommanderCommand, CommanderError, Option as CommanderOption, InvalidArgumentError } from 'commander'
import { PlannedRequest } from './api/api-client.ts'
import { endings } from './command-line/exit-codes.ts'
import {
  flagName,
  flagSyntax,
  type GlobalInput,
  globalOptions,
  type Input,
  type Option,
  type Options,
} from './command-line/options.ts'
import { version } from './command-line/version.ts'
import { commands, nouns } from './commands/index.ts'
import { render, renderPlan } from './output/output.ts'
import type { World } from './terminal/io.ts'
import { askFor } from './terminal/prompt.ts'
import type { Command } from './tools/command.ts'
import { createTools, type Tools } from './tools/create-tools.ts'

export { CommanderError }

const rootExamples = [
  'login --email ada@example.com',
  'app create shop --name Shop --auto-grant',
  'grant add --app shop --user bob@example.com',
]

const exitLines = Object.values(endings).map(({ exit, meaning }) => `  ${String(exit).padEnd(4)} ${meaning}`)

/** The tree of commands; `complain` takes what commander would write to stderr. */
export function buildProgram(world: World, complain: (text: string) => void): CommanderCommand {
  const program = new CommanderCommand('authctl')
    .description('Administers a Gatehouse login service.')
    .version(version, '--version', 'Print the version')
    .helpCommand('help [command]', 'Show the help of a command')
    .helpOption('-h, --help', 'Show this help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => void world.stdout.write(text), writeErr: complain, outputError: () => {} })
    .exitOverride()
    .addHelpText('before', examplesText(rootExamples))
    .addHelpText('after', `\nExit codes:\n${exitLines.join('\n')}`)
  for (const [key, option] of Object.entries(globalOptions)) addOption(program, key, option)

  const groups = new Map<string, CommanderCommand>()
  for (const spec of commands) {
    const [noun = '', verb] = spec.path.split(' ')
    if (verb === undefined) {
      addCommand(program, noun, spec, world)
      continue
    }
    const group = groups.get(noun) ?? addGroup(program, noun)
    groups.set(noun, group)
    addCommand(group, verb, spec, world)
  }
  return program
}

function addGroup(program: CommanderCommand, noun: string): CommanderCommand {
  return program
    .command(noun)
    .helpCommand(false)
    .description(nouns[noun] ?? noun)
    .addHelpText('before', examplesText(groupExamples(noun)))
}

/** The first example of each of its commands; of few commands, more. */
export function groupExamples(noun: string): string[] {
  const specs = commands.filter(({ path }) => path.startsWith(`${noun} `))
  const turns = [0, 1, 2] as const
  return turns.flatMap((turn) => specs.map(({ examples }) => examples[turn])).slice(0, 3)
}

export function examplesText(examples: readonly string[]): string {
  return `Examples:\n${examples.map((example) => `  $ authctl ${example}`).join('\n')}\n`
}

function addCommand(parent: CommanderCommand, name: string, spec: Command, world: World): void {
  const command = parent
    .command(name)
    .summary(spec.summary)
    .description([`${spec.summary}.`, spec.description].filter(Boolean).join(' '))
    .addHelpText('before', examplesText(spec.examples))
  for (const [key, option] of Object.entries(spec.options)) addOption(command, key, option)
  command.action(async () => {
    const tools = createTools(world, globalInput(command), spec.formats)
    await runCommand(spec, tools, await completeInput(spec, command, tools))
  })
}

function addOption(command: CommanderCommand, key: string, option: Option): void {
  const syntax = flagSyntax(key, option)
  switch (option.kind) {
    case 'positional':
      // Never required of commander: what is missing is asked for.
      command.argument(`[${option.value}]`, option.about)
      break
    case 'choice':
      command.addOption(
        new CommanderOption(syntax, option.about).argParser(choiceParser(option.choices)).default(option.standard),
      )
      break
    case 'count':
      command.addOption(new CommanderOption(syntax, option.about).argParser(parseCount))
      break
    case 'toggle':
      command.option(syntax, option.about).option(`--no-${flagName(key)}`, `The opposite of ${syntax}`)
      break
    default:
      command.option(syntax, option.kind === 'text' && option.required ? `${option.about} (required)` : option.about)
  }
}

function choiceParser(choices: readonly string[]): (typed: string) => string {
  return (typed) => {
    if (!choices.includes(typed)) throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`)
    return typed
  }
}

function parseCount(typed: string): number {
  if (!/^[1-9]\d{0,8}$/.test(typed)) throw new InvalidArgumentError('It must be a whole number from 1.')
  return Number(typed)
}

/** Of the flags for every command, what was given before or after it; a command's own flag of the same name is not meant. */
function globalInput(command: CommanderCommand): GlobalInput {
  const flags = Object.entries(globalOptions).filter(([, { kind }]) => kind === 'flag')
  const notGiven = Object.fromEntries(flags.map(([key]) => [key, false]))
  return { ...notGiven, ...(command.parent ?? command).optsWithGlobals<GlobalInput>() }
}

/** The input as parsed, with what is missing asked for. */
async function completeInput(spec: Command, command: CommanderCommand, tools: Tools): Promise<Input<Options>> {
  const input: Input<Options> = { ...command.opts() }
  const words = [...command.args]
  for (const [key, option] of Object.entries(spec.options)) {
    if (option.kind === 'positional') input[key] = words.shift()
    if (option.kind === 'flag') input[key] ??= false
    const given = input[key]
    if (option.kind === 'texts' && Array.isArray(given) && given.join() === '') input[key] = []
    if ((option.kind === 'positional' || option.kind === 'text') && option.required && (input[key] ?? '') === '') {
      input[key] = await askFor(tools, option.kind === 'text' ? `--${flagName(key)}` : option.value, `${option.about}:`)
    }
  }
  return input
}

async function runCommand(spec: Command, tools: Tools, input: Input<Options>): Promise<void> {
  const { settings, io } = tools
  try {
    const result = await spec.run(tools, input)
    await render(result, settings.format, io)
    if (result.kind === 'report' && result.failure) throw result.failure
  } catch (thrown) {
    if (!(thrown instanceof PlannedRequest)) throw thrown
    renderPlan(thrown.requests, settings.format, io)
  }
  io.finish()
}
