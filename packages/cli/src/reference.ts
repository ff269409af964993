import { endings } from './command-line/exit-codes.ts'
import { flagName, flagSyntax, globalOptions, type Option, type Options } from './command-line/options.ts'
import type { Formats } from './command-line/settings.ts'
import { commands, nouns } from './commands/index.ts'
import { groupExamples } from './program.ts'
import type { Command } from './tools/command.ts'

/** Renders docs/authctl.md from the commands themselves. */
export function renderReference(): string {
  const alone = commands.filter(({ path }) => !path.includes(' '))
  const blocks = [
    '# authctl',
    '<!-- Generated from packages/cli/src/commands by `npm run generate`. Do not edit. -->',
    'The command line for admins. Results go to stdout, and nothing else does; hints, questions and errors go to stderr.',
    ...['## Signing in and the rest', ...alone.map(commandPage)],
    ...Object.entries(nouns).flatMap(([noun, about]) => [
      `## ${noun}`,
      `${about}.`,
      shell(groupExamples(noun)),
      ...commands.filter(({ path }) => path.startsWith(`${noun} `)).map(commandPage),
    ]),
    '## For every command',
    '`authctl help options` shows them. A flag goes before the environment, and the environment before the context. An unknown flag ends with exit 2.',
    optionTable(globalOptions),
    outputRules,
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      Object.values(endings).map(({ exit, meaning }) => [String(exit), meaning]),
    ),
  ]
  return `${blocks.join('\n\n')}\n`
}

const outputRules = `- On a terminal the standard is a table, into a pipe or a file JSON: an array for a list, an object for the rest. \`-o table\`, \`-o json\` and \`-o ndjson\` (one line for each) say which, wherever it goes.
- A list has more: \`-o wide\` shows every column, whole and with exact times; \`-o csv\` is every column for a spreadsheet, lists separated by semicolons, and a quote before what a spreadsheet would run as a formula; \`-o id\` is what names each row to other commands. \`--columns a,b\` chooses among all columns, for a table, wide or CSV.
- A table on a terminal fits its width: long cells end in \`…\`, and columns for which there is no room are left out from the last, which stderr says. Times are told by their distance, and states have colours; \`NO_COLOR\` or \`--no-color\` turns these off. \`audit list\` and \`user find\` stop there after 50 rows: \`--all\` goes on.
- Once a day, on a terminal, it says when the service is newer than authctl. It asks that service alone, beside the command's own requests, and never in CI or with \`--quiet\`; \`AUTHCTL_NO_UPDATE_NOTICE=1\` turns it off.
- With \`--json\`, \`-o json\` or \`-o ndjson\` a failure is one object on stderr: \`{"error": {"code", "message", "hint", "request_id", "exit"}}\`.
- What a command changed is in the member \`outcome\`; \`unchanged\` is a success.
- What is missing is asked for on a terminal. Without one, or with \`--no-input\`, it ends with exit 2 and nothing is done.
- Users are named by UUID, by \`email@@pool\`, or by an e-mail that only one user has; of several, exit 6 lists the candidates.
- \`--from-file\` takes one user per line: \`#\` begins a comment, \`-\` is standard input. Each line is tried; the answer has \`total\`, \`counts\` by outcome, and with JSON every line. When some failed it is exit 8. Once the session has ended or the service is gone the rest is \`not_tried\`, and the exit is that of the failure.
- Control characters in names and the like are shown as \`\\u001b\`, never sent to the terminal.
- \`NODE_EXTRA_CA_CERTS=FILE\` names a certificate authority of your own. With \`NODE_USE_ENV_PROXY=1\` requests go through \`HTTPS_PROXY\` or \`HTTP_PROXY\`, but not to the hosts in \`NO_PROXY\`.
- An answer 429 or 5xx is waited out and tried again, a few times; then it is exit 7.`

function commandPage(spec: Command): string {
  const own = Object.entries(spec.options)
  const words = own.filter(([, option]) => option.kind === 'positional').map(([key, option]) => flagSyntax(key, option))
  const flags = own.filter(([, option]) => option.kind !== 'positional')
  const usage = ['authctl', spec.path, ...words, ...(flags.length > 0 ? ['[flags]'] : [])].join(' ')
  const confirmation = {
    yes: 'Needs `--yes`, or a yes on the terminal.',
    name: 'Needs `--confirm` with the name, or the name typed on the terminal.',
  }
  return [
    `### authctl ${spec.path}`,
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
    ? `${option.about} (\`${option.standard}\` unless told)`
    : option.about
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
