import type { z } from 'zod'
import { endings } from './command-line/exit-codes.ts'
import { flagName, flagSyntax, globalOptions, type Option, type Options } from './command-line/options.ts'
import type { Formats } from './command-line/settings.ts'
import { commands, examplesOf, nouns } from './commands/index.ts'
import { helpShapes } from './help-schema.ts'
import type { Command } from './tools/command.ts'

const note = '<!-- Generated from packages/cli/src/commands by `npm run generate`. Do not edit. -->'

/** Renders the pages of docs/reference/authctl from the commands themselves: one for each noun, and one for all else. */
export function renderReference(): Record<string, string> {
  const pages = Object.entries(nouns).map(([noun, about]) => [
    `${noun}.md`,
    joined([
      `# authctl ${noun}`,
      note,
      `${about}. [Flags of every command](README.md#for-every-command).`,
      shell(examplesOf(noun)),
      ...commandsOf(noun).map((command) => commandSection(command)),
    ]),
  ])
  return { 'README.md': overview(), ...Object.fromEntries(pages) }
}

function overview(): string {
  const alone = commands.filter(({ path }) => !path.includes(' '))
  return joined([
    '# authctl',
    note,
    'The command line for admins. Only results go to stdout; hints, questions and errors go to stderr.',
    table(
      ['Commands', 'About'],
      Object.entries(nouns).map(([noun, about]) => [`[\`${noun}\`](${noun}.md)`, `${about}: ${linksTo(noun)}`]),
    ),
    '## Signing in and the rest',
    ...alone.map((command) => commandSection(command, '###')),
    '## For every command',
    '`authctl help options` shows them. A flag takes precedence over the environment, and the environment over the context. An unknown flag ends with exit 2.',
    optionTable(globalOptions),
    outputRules,
    '## Help as JSON',
    'For agents and scripts: `authctl --help --json` prints all commands with their options, and `authctl app --help --json` a part of them. It asks no service. `commands` of each entry has the same shape. Members may be added in a later version.',
    ...Object.entries(helpShapes).flatMap(([name, { shape }]) => [`### ${shapeTitles[name]}`, shapeTable(shape)]),
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      Object.values(endings).map(({ exit, meaning }) => [String(exit), meaning]),
    ),
  ])
}

function commandsOf(noun: string): Command[] {
  return commands.filter(({ path }) => path.startsWith(`${noun} `))
}

function linksTo(noun: string): string {
  const link = ({ path }: Command) => `[${path.slice(noun.length + 1)}](${noun}.md#authctl-${path.replaceAll(' ', '-')})`
  return commandsOf(noun).map(link).join(', ')
}

function joined(blocks: string[]): string {
  return `${blocks.join('\n\n')}\n`
}

const outputRules = `- The default is a table on a terminal, and JSON into a pipe or a file: an array for a list, an object otherwise. \`-o table\`, \`-o json\` and \`-o ndjson\` (one line per entry) choose the format in either case.
- Lists have more formats: \`-o wide\` shows every column in full, with exact times; \`-o csv\` writes every column for a spreadsheet, with lists separated by semicolons and a quote before anything that a spreadsheet would run as a formula; \`-o id\` prints what identifies each row to other commands. \`--columns a,b\` chooses among all columns, for a table, wide or CSV.
- A table on a terminal fits its width: long cells end in \`…\`, and columns that do not fit are left out, beginning with the last, and stderr names them. Times are relative, and states have colours; \`NO_COLOR\` or \`--no-color\` turns these off. \`audit list\` and \`user find\` stop after 50 rows on a terminal: \`--all\` shows the rest.
- Once a day, on a terminal, authctl says if the service is newer than itself. It asks only that service, in parallel with the command's own requests, and never in CI or with \`--quiet\`; \`AUTHCTL_NO_UPDATE_NOTICE=1\` turns it off.
- With \`--json\`, \`-o json\` or \`-o ndjson\` a failure is one object on stderr: \`{"error": {"code", "message", "hint", "request_id", "exit"}}\`.
- What a command changed is in the member \`outcome\`; \`unchanged\` is a success.
- On a terminal, authctl asks for missing input. Without one, or with \`--no-input\`, missing input ends with exit 2 and nothing is done.
- Users are named by UUID, by \`email@@pool\`, or by an e-mail that only one user has. If several users have it, the command lists them and ends with exit 6.
- \`--from-file\` takes one user per line: \`#\` begins a comment, \`-\` is standard input. Each line is tried. The answer has \`total\`, \`counts\` by outcome, and with JSON every line. If some lines failed, the exit code is 8. If the session ends or the service becomes unreachable, the remaining lines are \`not_tried\`, and the exit code is that of the failure.
- Control characters in names and the like are shown as \`\\u001b\`, never sent to the terminal.
- \`NODE_EXTRA_CA_CERTS=FILE\` names a certificate authority of your own. With \`NODE_USE_ENV_PROXY=1\` requests go through \`HTTPS_PROXY\` or \`HTTP_PROXY\`, but not to the hosts in \`NO_PROXY\`.
- After an answer 429 or 5xx, authctl waits and tries again a few times; then it ends with exit 7.`

const shapeTitles: Record<string, string> = {
  help: 'authctl, a group or a command',
  argument: 'Each of arguments',
  option: 'Each of options',
} satisfies Record<keyof typeof helpShapes, string>

function shapeTable(shape: Record<string, z.ZodType>): string {
  const rows = Object.entries(shape).map(([name, schema]) => {
    const isOptional = schema.safeParse(undefined).success
    return [`\`${name}\``, isOptional ? 'if any' : 'always', schema.meta()?.description ?? '']
  })
  return table(['Member', 'There', 'Meaning'], rows)
}

function commandSection(spec: Command, level = '##'): string {
  const own = Object.entries(spec.options)
  const words = own.filter(([, option]) => option.kind === 'positional').map(([key, option]) => flagSyntax(key, option))
  const flags = own.filter(([, option]) => option.kind !== 'positional')
  const usage = ['authctl', spec.path, ...words, ...(flags.length > 0 ? ['[flags]'] : [])].join(' ')
  const confirmation = {
    yes: 'Needs `--yes`, or a yes on the terminal.',
    name: 'Needs `--confirm` with the name, or the name typed on the terminal.',
  }
  return [
    `${level} authctl ${spec.path}`,
    [`${spec.summary}.`, spec.description, spec.confirms && confirmation[spec.confirms]].filter(Boolean).join(' '),
    shell(spec.examples),
    `Usage: \`${usage}\`${spec.formats ? `; formats: ${formatsOf(spec.formats)}` : ''}`,
    ...(own.length > 0 ? [optionTable(spec.options)] : []),
  ].join('\n\n')
}

function formatsOf({ all, terminal, pipe }: Formats): string {
  const standard = (format: string) =>
    [format === terminal && 'on a terminal', format === pipe && 'into a pipe'].filter(Boolean).join(' and ')
  return all.map((format) => (standard(format) && all.length > 1 ? `${format} (${standard(format)})` : format)).join(', ')
}

function shell(examples: readonly string[]): string {
  return ['```sh', ...examples.map((example) => `authctl ${example}`), '```'].join('\n')
}

function optionTable(options: Options): string {
  return table(
    ['Option', 'Meaning'],
    Object.entries(options).map(([key, option]) => [syntaxes(key, option), describe(option)]),
  )
}

function syntaxes(key: string, option: Option): string {
  const own = `\`${flagSyntax(key, option)}\``
  return option.kind === 'toggle' ? `${own}, \`--no-${flagName(key)}\`` : own
}

function describe(option: Option): string {
  if (option.kind === 'text' && option.required) return `${option.about} (required)`
  return option.kind === 'choice' && option.standard !== undefined
    ? `${option.about} (default: \`${option.standard}\`)`
    : option.about
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
