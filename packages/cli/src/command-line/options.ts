// All kinds of options. A command's `options` is a record of these: its keys name the input of `run` and, in kebab-case, flags.

/** Names that are looked up for completion: contexts in their file, all others in the service. */
export type Named = 'apps' | 'contexts' | 'organizationIds' | 'organizations' | 'pools' | 'providers' | 'roles' | 'services'

/** What a shell completes a value with: names that are looked up, or these words. For a FILE, the shell completes paths. */
export type Completes = Named | readonly string[]

export interface Positional<Required extends boolean = boolean> {
  kind: 'positional'
  completes?: Completes
  /** The placeholder in the usage line: `CODE`. */
  value: string
  about: string
  required: Required
}

export interface TextOption<Required extends boolean = boolean> {
  kind: 'text'
  completes?: Completes
  value: string
  about: string
  required: Required
  short?: string
}

/** Can be given several times, or once with several values. A single empty value means the empty list. */
interface TextsOption {
  kind: 'texts'
  completes?: Completes
  value: string
  about: string
}

interface ChoiceOption<Choice extends string = string, Standard extends Choice | undefined = Choice | undefined> {
  kind: 'choice'
  choices: readonly Choice[]
  about: string
  standard: Standard
}

/** A whole number. */
interface CountOption {
  kind: 'count'
  least: 0 | 1
  value: string
  about: string
}

interface FlagOption {
  kind: 'flag'
  about: string
}

/** `--x` and `--no-x`. Undefined if neither is given. */
interface ToggleOption {
  kind: 'toggle'
  about: string
}

/** Only `--no-x`. The default is true. */
interface OffOption {
  kind: 'off'
  about: string
}

export type Option = Positional | TextOption | TextsOption | ChoiceOption | CountOption | FlagOption | ToggleOption | OffOption
export type Options = Record<string, Option>

type ValueOf<O> = O extends { kind: 'positional' | 'text'; required: infer Required }
  ? Required extends true
    ? string
    : string | undefined
  : O extends TextsOption
    ? string[] | undefined
    : O extends ChoiceOption<infer Choice, infer Standard>
      ? Choice | (Standard extends undefined ? undefined : never)
      : O extends CountOption
        ? number | undefined
        : O extends ToggleOption
          ? boolean | undefined
          : boolean

/** The input that `run` gets for a record of options. */
export type Input<O extends Options> = { [Key in keyof O]: ValueOf<O[Key]> }

interface Completed {
  completes?: Completes
}

/** The subject of the command. authctl asks for it if it is missing. */
export function positional(value: string, about: string, more: Completed = {}): Positional<true> {
  return { kind: 'positional', value, about, required: true, ...more }
}

export function optionalPositional(value: string, about: string, more: Completed = {}): Positional<false> {
  return { kind: 'positional', value, about, required: false, ...more }
}

export function text(value: string, about: string, more: Completed & { short?: string } = {}): TextOption<false> {
  return { kind: 'text', value, about, required: false, ...more }
}

/** authctl asks for it if it is missing. */
export function requiredText(value: string, about: string, more: Completed & { short?: string } = {}): TextOption<true> {
  return { kind: 'text', value, about, required: true, ...more }
}

export function texts(value: string, about: string, more: Completed = {}): TextsOption {
  return { kind: 'texts', value, about, ...more }
}

export function choice<const Choice extends string>(choices: readonly Choice[], about: string): ChoiceOption<Choice, undefined> {
  return { kind: 'choice', choices, about, standard: undefined }
}

export function choiceWithStandard<const Choice extends string>(
  choices: readonly Choice[],
  about: string,
  standard: NoInfer<Choice>,
): ChoiceOption<Choice, Choice> {
  return { kind: 'choice', choices, about, standard }
}

export function count(value: string, about: string, least: 0 | 1 = 1): CountOption {
  return { kind: 'count', least, value, about }
}

export function flag(about: string): FlagOption {
  return { kind: 'flag', about }
}

export function toggle(about: string): ToggleOption {
  return { kind: 'toggle', about }
}

export function off(about: string): OffOption {
  return { kind: 'off', about }
}

/** `autoGrant` → `auto-grant`. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** The syntax of an option: `--redirect <URL...>`. */
export function flagSyntax(key: string, option: Option): string {
  const name = flagName(key)
  switch (option.kind) {
    case 'positional':
      return option.required ? `<${option.value}>` : `[${option.value}]`
    case 'text':
      return `${option.short ? `-${option.short}, ` : ''}--${name} <${option.value}>`
    case 'texts':
      return `--${name} <${option.value}...>`
    case 'choice':
      return `--${name} <${option.choices.join('|')}>`
    case 'count':
      return `--${name} <${option.value}>`
    case 'flag':
    case 'toggle':
      return `--${name}`
    case 'off':
      return `--no-${name}`
  }
}

/** The flags that every command takes. */
export const globalOptions = {
  output: text(
    'FORMAT',
    'table, json or ndjson; for lists also wide, csv or id. Default: table on a terminal, JSON into a pipe',
    { short: 'o' },
  ),
  json: flag('Short for -o json'),
  context: text('NAME', 'Service and account to use (AUTHCTL_CONTEXT)', { completes: 'contexts' }),
  baseUrl: text('URL', 'Address of the service (AUTHCTL_BASE_URL)'),
  tokenFile: text(
    'FILE',
    'File with an access token or the token of a service account, used instead of the context (AUTHCTL_TOKEN holds the token itself)',
  ),
  yes: flag('Answer yes to confirmations, such as those of revoke, deactivate and move'),
  confirm: text('NAME', 'Confirm by name an action that cannot be undone: delete, prune'),
  dryRun: flag('Ask the service what would happen, print what would be sent, and change nothing'),
  reason: text('TEXT', 'Reason for the change; kept in the audit, and with a grant'),
  input: off('Never ask; missing input ends with exit 2'),
  color: off('No colours (NO_COLOR)'),
  quiet: flag('No hints and no progress on stderr'),
  debug: flag('Show the HTTP exchange on stderr, secrets redacted'),
  timeout: text('SECONDS', 'How long to wait for an answer. Default: 30'),
} satisfies Options

export type GlobalInput = Input<typeof globalOptions>
