import { Command as CommanderCommand, CommanderError, Option as CommanderOption, Help, InvalidArgumentError } from 'commander'
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
  type TextOption,
} from './command-line/options.ts'
import { asksForJson } from './command-line/settings.ts'
import { version } from './command-line/version.ts'
import { commands, describeGroup, examplesOf } from './commands/index.ts'
import { helpAsJson } from './help-as-json.ts'
import { render, renderPlan, type View } from './output/render.ts'
import type { World } from './terminal/io.ts'
import { askFor } from './terminal/prompt.ts'
import { type Command, screenful } from './tools/command.ts'
import { createTools, type Tools } from './tools/create-tools.ts'

export { CommanderError }

/** Common problems, each with the command to begin with. */
const troubles = {
  'a user cannot sign in': 'grant explain --app CODE --user EMAIL',
  'a phone is lost': 'user reset-two-factor EMAIL, then user logout EMAIL',
  'a token has leaked': 'token trace -',
  'a receiver was down': 'webhook redeliver --app CODE --failed --since 6h',
  'passwords are guessed': 'top, then audit list --ip ADDRESS',
  'a person leaves now': 'user offboard EMAIL',
  'the signing secret leaked': 'secret rotate --leaked --new FILE',
  'who gave whom a role': 'audit who EMAIL ROLE',
}
const troubleLines = Object.entries(troubles).map(([trouble, first]) => `  ${trouble.padEnd(27)} ${first}`)

const exitLines = Object.values(endings).map(({ exit, meaning }) => `  ${String(exit).padEnd(4)} ${meaning}`)

/** A help topic for the options that every command takes. They would fill the help of each command. */
const optionsTopic = 'options'
const optionsLine = `Options for every command: authctl help ${optionsTopic}`

/** Builds the tree of commands for a command line. `complain` receives what commander would write to stderr. */
export function buildProgram(words: readonly string[], world: World, complain: (text: string) => void): CommanderCommand {
  const asJson = asksForJson(words)
  const program = new CommanderCommand('authctl')
    .description(describeGroup(''))
    .version(version, '--version', 'Print the version')
    .helpCommand(false)
    .helpOption('-h, --help', 'Show this help; with --json as JSON')
    .configureHelp({
      formatHelp: (command, helper) => {
        if (asJson) return asText(helpAsJson(pathOf(command)))
        const help = commandsFirst(Help.prototype.formatHelp.call(helper, command, helper))
        return command.parent === null ? help : `${help}\n${optionsLine}\n`
      },
    })
    .configureOutput({ writeOut: (text) => void world.stdout.write(text), writeErr: complain, outputError: () => {} })
    .exitOverride()
    .addHelpText('beforeAll', ({ command }) => {
      refuseUnknown(command)
      return ''
    })
    .addHelpText('before', () => (asJson ? '' : examplesText(examplesOf(''))))
    .addHelpText('after', () =>
      asJson ? '' : `\nWhen something is wrong:\n${troubleLines.join('\n')}\n\nExit codes:\n${exitLines.join('\n')}`,
    )
  for (const [key, option] of Object.entries(globalOptions)) addOption(program, key, option)

  const line = { words, world, asJson, groups: new Map([['', program]]) }
  for (const spec of commands) {
    const path = spec.path.split(' ')
    const verb = path.pop()!
    addCommand(groupOf(path, line), verb, spec, line)
  }
  program
    .command('help')
    .argument('[command...]')
    .summary(`Show the help of a command; ${optionsTopic} shows the options for every command`)
    .action((words: string[]) => {
      if (words.join(' ') === optionsTopic) world.stdout.write(asJson ? asText(helpAsJson('').options) : optionsHelp(program))
      else helpOf(program, words)
    })
  return program
}

function asText(help: unknown): string {
  return `${JSON.stringify(help, null, 2)}\n`
}

/** The words of a command after `authctl`. */
function pathOf(command: CommanderCommand): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trimStart()
}

/** The options in the help of the program itself. */
function optionsHelp(program: CommanderCommand): string {
  return `${program
    .helpInformation()
    .split('\n\n')
    .find((section) => section.startsWith('Options:'))}\n`
}

/** Shows the help of the command that these words name. */
function helpOf(program: CommanderCommand, words: readonly string[]): never {
  let command = program
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word)
    if (!next) return program.error(`unknown command '${words.join(' ')}'`)
    command = next
  }
  return command.help()
}

/** Refuses a request for help after an unknown command. The help of the group would hide the mistake. */
function refuseUnknown(command: CommanderCommand): void {
  const [word] = command.args
  const isGroup = command.commands.length > 0
  if (isGroup && word !== undefined && !word.startsWith('-') && !command.commands.some((each) => each.name() === word))
    command.error(`unknown command '${word}'`)
}

/** Moves the commands before the options: people look for a command, and the options are the same everywhere. */
function commandsFirst(help: string): string {
  const sections = help.trimEnd().split('\n\n')
  const isOf = (title: string) => (section: string) => section.startsWith(`${title}:`)
  const commands = sections.filter(isOf('Commands'))
  const others = sections.filter((section) => !commands.includes(section))
  const at = others.findIndex(isOf('Options'))
  return `${(at === -1 ? [...others, ...commands] : others.toSpliced(at, 0, ...commands)).join('\n\n')}\n`
}

/** The group that these words name, such as `user session`. Creates missing groups. */
function groupOf(words: readonly string[], line: Line): CommanderCommand {
  const path = words.join(' ')
  const known = line.groups.get(path)
  if (known) return known
  const made = groupOf(words.slice(0, -1), line)
    .command(words.at(-1)!)
    .helpCommand(false)
    .description(describeGroup(path))
    .addHelpText('before', () => (line.asJson ? '' : examplesText(examplesOf(path))))
  line.groups.set(path, made)
  return made
}

function examplesText(examples: readonly string[]): string {
  return `Examples:\n${examples.map((example) => `  $ authctl ${example}`).join('\n')}\n`
}

/** A command line, and the groups of commands that were made for it. */
interface Line {
  words: readonly string[]
  world: World
  /** It asks for JSON, in help too. */
  asJson: boolean
  groups: Map<string, CommanderCommand>
}

function addCommand(parent: CommanderCommand, name: string, spec: Command, { words, world, asJson }: Line): void {
  const command = parent
    .command(name)
    .summary(spec.summary)
    .description([`${spec.summary}.`, spec.description].filter(Boolean).join(' '))
    .addHelpText('before', () => (asJson ? '' : examplesText(spec.examples)))
  // Adds options only to a command that may have been typed. Those of all commands would take most of the startup time.
  const isTyped = spec.path.split(' ').every((word) => words.includes(word))
  for (const [key, option] of Object.entries(spec.options))
    if (isTyped || option.kind === 'positional') addOption(command, key, option)
  command.action(async () => {
    const tools = createTools(world, globalInput(command), spec.formats)
    await runCommand(spec, tools, await completeInput(spec, command, tools))
  })
}

function addOption(command: CommanderCommand, key: string, option: Option): void {
  const syntax = flagSyntax(key, option)
  switch (option.kind) {
    case 'positional':
      // Never required for commander, because authctl asks for a missing value.
      command.argument(`[${option.value}]`, option.about)
      break
    case 'choice':
      command.addOption(
        new CommanderOption(syntax, option.about).argParser(choiceParser(option.choices)).default(option.standard),
      )
      break
    case 'text':
      command.addOption(new CommanderOption(syntax, aboutText(option)).argParser(parseText))
      break
    case 'texts':
      command.addOption(
        new CommanderOption(syntax, option.about).argParser((typed, before: string[] = []) => [...before, parseText(typed)]),
      )
      break
    case 'count':
      command.addOption(new CommanderOption(syntax, option.about).argParser((typed) => parseCount(typed, option.least)))
      break
    case 'toggle':
      command.option(syntax, option.about).option(`--no-${flagName(key)}`, `The opposite of ${syntax}`)
      break
    default:
      command.option(syntax, option.about)
  }
}

function aboutText({ required, about }: TextOption): string {
  return required ? `${about} (required)` : about
}

/** Refuses a flag as a value: in `export -f --help` the file was forgotten. */
function parseText(typed: string): string {
  if (/^(?:-h|--[a-z][a-z-]*)$/.test(typed))
    throw new InvalidArgumentError('It is an option, and the value before it is missing.')
  return typed
}

function choiceParser(choices: readonly string[]): (typed: string) => string {
  return (typed) => {
    if (!choices.includes(typed)) throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`)
    return typed
  }
}

function parseCount(typed: string, least: 0 | 1): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(typed) || Number(typed) < least)
    throw new InvalidArgumentError(`It must be a whole number from ${least}.`)
  return Number(typed)
}

/**
 * The flags that every command takes, given before or after the command. A command's own flag of the same name does not count.
 */
function globalInput(command: CommanderCommand): GlobalInput {
  const flags = Object.entries(globalOptions).filter(([, { kind }]) => kind === 'flag')
  const notGiven = Object.fromEntries(flags.map(([key]) => [key, false]))
  return { ...notGiven, ...(command.parent ?? command).optsWithGlobals<GlobalInput>() }
}

/** The parsed input. Asks for required values that are missing. */
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

/** The view that the options of every list ask for. */
function listView({ lists }: Command, { settings, io }: Tools, { columns, all, limit }: Input<Options>): Omit<View, 'format'> {
  if (lists === undefined) return {}
  const isCut = lists === 'long' && io.isTerminal && /^(table|wide)$/.test(settings.format) && all !== true && limit === undefined
  return { columns: typeof columns === 'string' ? columns : undefined, most: isCut ? screenful : undefined }
}

async function runCommand(spec: Command, tools: Tools, input: Input<Options>): Promise<void> {
  const { settings, io } = tools
  try {
    const result = await spec.run(tools, input)
    await render(result, { format: settings.format, ...listView(spec, tools, input) }, io)
    if (result.kind === 'report' && result.failure) throw result.failure
  } catch (thrown) {
    if (!(thrown instanceof PlannedRequest)) throw thrown
    renderPlan(thrown.requests, settings.format, tools)
  }
  io.finish()
  const notice = tools.updateNotice()
  if (notice !== undefined) io.note(notice)
}
