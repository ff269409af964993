import { type Completes, flagName, globalOptions, type Named, type Option, type Options } from '../command-line/options.ts'
import { commonFormats } from '../command-line/settings.ts'
import type { Command } from '../tools/command.ts'

export interface Candidate {
  value: string
  about?: string
}

/** What the shell may offer: words, names from this machine or the service (`prefix` comes before each), or files. */
export type Completion = { kind: 'words'; candidates: Candidate[] } | { kind: Named; prefix: string } | { kind: 'files' }

const nothing: Completion = { kind: 'words', candidates: [] }

/** The candidates for the last word. The words do not include the name of the program. */
export function complete(typed: readonly string[], commands: readonly Command[], nouns: Record<string, string>): Completion {
  const current = typed.at(-1) ?? ''
  const before = typed.slice(0, -1)
  const { spec, path, plain, open, given } = read(before, commands)
  // The command's own options come first, and override options of every command with the same name.
  const options: Options = { ...spec?.options, ...globalOptions, ...spec?.options }

  const assigned = /^--([^=]+)=/.exec(current)
  if (assigned) {
    const [prefix, name = ''] = assigned
    const option = optionOf(name, options)
    return option ? valuesOf(option, current.slice(prefix.length), spec, prefix) : nothing
  }
  if (open && !(open.isSatisfied && current.startsWith('-'))) return valuesOf(open.option, current, spec)
  if (current.startsWith('-')) return words(flagsOf(options, given), current)
  if (!spec) return words(nextWords(path, commands, nouns), current)

  const positionals = Object.values(spec.options).filter(({ kind }) => kind === 'positional')
  const positional = positionals[plain.length]
  return positional ? valuesOf(positional, current, spec) : words(flagsOf(spec.options, given), current)
}

interface Reading {
  spec: Command | undefined
  /** The words of the command so far. */
  path: string[]
  plain: string[]
  /** An option that still takes a value. */
  open: { option: Option; isSatisfied: boolean } | undefined
  given: Set<string>
}

function read(words: readonly string[], commands: readonly Command[]): Reading {
  const reading: Reading = { spec: undefined, path: [], plain: [], open: undefined, given: new Set() }
  for (const word of words) {
    const { spec, path, plain, open } = reading
    if (word.startsWith('-') && word !== '-' && (!open || open.isSatisfied)) {
      const [name = ''] = word.split('=', 1)
      const option = optionOf(name.replace(/^-+/, ''), { ...globalOptions, ...spec?.options })
      reading.given.add(name)
      reading.open = option && takesValue(option) && !word.includes('=') ? { option, isSatisfied: false } : undefined
    } else if (open) {
      reading.open = open.option.kind === 'texts' ? { ...open, isSatisfied: true } : undefined
    } else if (spec) {
      plain.push(word)
    } else if (word !== 'help' || path.length > 0) {
      path.push(word)
      reading.spec = commands.find((each) => each.path === path.join(' '))
    }
  }
  return reading
}

function optionOf(name: string, options: Options): Option | undefined {
  const found = Object.entries(options).find(
    ([key, option]) => flagName(key) === name || (option.kind === 'text' && option.short === name),
  )
  return found && found[1].kind !== 'positional' ? found[1] : undefined
}

function takesValue({ kind }: Option): boolean {
  return kind === 'text' || kind === 'texts' || kind === 'choice' || kind === 'count'
}

function nextWords(path: string[], commands: readonly Command[], nouns: Record<string, string>): Candidate[] {
  if (path.length > 0) {
    const begun = `${path.join(' ')} `
    const next = commands
      .filter((spec) => spec.path.startsWith(begun))
      .map(({ path, summary }) => ({ words: path.slice(begun.length).split(' '), summary }))
    const values = [...new Set(next.map(({ words }) => words[0]!))]
    return values.map((value) => {
      const named = next.find(({ words }) => words.length === 1 && words[0] === value)
      return named ? { value, about: named.summary } : { value }
    })
  }
  return [
    ...Object.entries(nouns).map(([value, about]) => ({ value, about })),
    ...commands.filter(({ path }) => !path.includes(' ')).map(({ path, summary }) => ({ value: path, about: summary })),
  ]
}

/** The flags of the command that were not given, or that may be repeated. */
function flagsOf(options: Options, given: Set<string>): Candidate[] {
  return Object.entries(options)
    .flatMap(([key, option]) => {
      if (option.kind === 'positional') return []
      const on = option.kind === 'off' ? [] : [flagName(key)]
      const own = option.kind === 'off' || option.kind === 'toggle' ? [...on, `no-${flagName(key)}`] : on
      return own.map((name) => ({ value: `--${name}`, about: option.about, again: option.kind === 'texts' }))
    })
    .filter(({ value, again }) => again || !given.has(value))
    .map(({ value, about }) => ({ value, about }))
}

function valuesOf(option: Option, current: string, spec: Command | undefined, prefix = ''): Completion {
  const known = knownValues(option, spec)
  if (typeof known === 'string') return { kind: known, prefix }
  if (known !== undefined)
    return words(
      known.map((value) => ({ value })),
      current,
      prefix,
    )
  return 'value' in option && option.value === 'FILE' ? { kind: 'files' } : nothing
}

function knownValues(option: Option, spec: Command | undefined): Completes | undefined {
  if (option === globalOptions.output) return spec?.formats?.all ?? commonFormats
  if (option.kind === 'choice') return option.choices
  return 'completes' in option ? option.completes : undefined
}

function words(candidates: Candidate[], current: string, prefix = ''): Completion {
  const fitting = candidates.filter(({ value }) => value.startsWith(current))
  return { kind: 'words', candidates: fitting.map(({ value, ...rest }) => ({ value: prefix + value, ...rest })) }
}
