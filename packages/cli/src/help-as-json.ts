import { endings } from './command-line/exit-codes.ts'
import { flagName, globalOptions, type Option, type Options } from './command-line/options.ts'
import { standardFormats } from './command-line/settings.ts'
import { version } from './command-line/version.ts'
import { commands, describeGroup, examplesOf } from './commands/index.ts'
import type { HelpAsJson } from './help-schema.ts'
import type { Command } from './tools/command.ts'

type OptionHelp = HelpAsJson['options'][number]

/** The help of authctl, of a group or of a command, with everything below it, as `--help --json` prints it. */
export function helpAsJson(path: string): HelpAsJson {
  const spec = commands.find((each) => each.path === path)
  if (spec) return commandHelp(spec)
  const below = { arguments: [], options: [], commands: childrenOf(path).map(helpAsJson) }
  if (path !== '') return { path, description: describeGroup(path), examples: examplesOf(path), ...below }
  return {
    path,
    description: describeGroup(path),
    version,
    examples: examplesOf(path),
    ...below,
    options: optionsHelp(globalOptions),
    exit_codes: Object.values(endings),
  }
}

/** The paths one word longer than this one, in the order of the commands. */
function childrenOf(path: string): string[] {
  const above = path === '' ? '' : `${path} `
  const depth = path === '' ? 1 : path.split(' ').length + 1
  const below = commands.filter((spec) => spec.path.startsWith(above))
  return [...new Set(below.map((spec) => spec.path.split(' ').slice(0, depth).join(' ')))]
}

function commandHelp({
  path,
  summary,
  description,
  examples,
  options,
  confirms,
  formats = standardFormats,
}: Command): HelpAsJson {
  return {
    path,
    description: [`${summary}.`, description].filter(Boolean).join(' '),
    examples: [...examples],
    arguments: Object.values(options).flatMap((option) =>
      option.kind === 'positional' ? [{ name: option.value, description: option.about, required: option.required }] : [],
    ),
    options: optionsHelp(options),
    ...(confirms ? { confirmation: confirms } : {}),
    formats: [...formats.all],
    commands: [],
  }
}

function optionsHelp(options: Options): OptionHelp[] {
  return Object.entries(options).flatMap(([key, option]) => (option.kind === 'positional' ? [] : [optionHelp(key, option)]))
}

function optionHelp(key: string, option: Exclude<Option, { kind: 'positional' }>): OptionHelp {
  const flag = `${option.kind === 'off' ? '--no-' : '--'}${flagName(key)}`
  return {
    flag,
    ...('short' in option && option.short ? { short: `-${option.short}` } : {}),
    ...(option.kind === 'toggle' ? { negation: `--no-${flagName(key)}` } : {}),
    ...('value' in option ? { value: option.value } : {}),
    ...(option.kind === 'choice' ? { value: 'CHOICE', choices: [...option.choices] } : {}),
    ...(option.kind === 'choice' && option.standard !== undefined ? { default: option.standard } : {}),
    description: option.about,
    required: option.kind === 'text' && option.required,
    repeatable: option.kind === 'texts',
  }
}
