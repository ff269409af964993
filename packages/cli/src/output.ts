import { describePlan, type Request } from './api-client.ts'
import { escapeControls, toJson } from './escape-controls.ts'
import type { Failure } from './exit-codes.ts'
import type { Io } from './io.ts'
import { redact, redactUrl } from './redact.ts'
import type { Format } from './settings.ts'

/** What came of a command that may change something. */
export type Outcome =
  | 'created'
  | 'updated'
  | 'unchanged'
  | 'activated'
  | 'deactivated'
  | 'deleted'
  | 'granted'
  | 'revoked'
  | 'added'
  | 'removed'
  | 'invited'
  | 'rotated'
  | 'moved'
  | 'tagged'
  | 'untagged'
  | 'suspended'
  | 'unlocked'
  | 'logged_out'
  | 'permitted'
  | 'forbidden'
  | 'registered'
  | 'queued'
  | 'written'
  | 'signed_in'
  | 'signed_out'
  | 'disabled'

/** A column is a member of the row, or a title and what stands under it. */
export type Column<Row> = (keyof Row & string) | [title: string, cell: (row: Row) => unknown]

export type Result =
  | { kind: 'record'; record: Record<string, unknown> }
  | { kind: 'list'; pages: AsyncIterable<object[]>; columns: Column<never>[]; none: string }
  | { kind: 'variables'; variables: Record<string, string> }
  /** As it came, for `api`. */
  | { kind: 'body'; body: unknown }
  /** One thing: whole in JSON, told in parts on a terminal. With a failure, that is how the command ends once it is shown. */
  | { kind: 'report'; value: object; parts: Part[]; failure?: Failure | undefined }
  /** What comes as it happens, without an end. */
  | { kind: 'stream'; pages: AsyncIterable<object[]>; columns: Column<never>[] }

type Part = string | { record: Record<string, unknown> } | { rows: object[]; columns: Column<never>[] }

export function record(value: object, outcome?: Outcome): Result {
  return { kind: 'record', record: outcome === undefined ? { ...value } : { ...value, outcome } }
}

/** `none` is said on stderr when there is nothing to list. */
export function list<Row extends object>(pages: AsyncIterable<Row[]>, columns: Column<Row>[], none: string): Result {
  return { kind: 'list', pages, columns: columns as unknown as Column<never>[], none }
}

export function rowsOf<Row extends object>(rows: Row[], columns: Column<Row>[]): Part {
  return { rows, columns: columns as unknown as Column<never>[] }
}

export function stream<Row extends object>(pages: AsyncIterable<Row[]>, columns: Column<Row>[]): Result {
  return { kind: 'stream', pages, columns: columns as unknown as Column<never>[] }
}

/** Writes a result to stdout. */
export async function render(result: Result, format: Format, io: Io): Promise<void> {
  switch (result.kind) {
    case 'record':
      io.print(
        format === 'table' ? await recordTable(result.record, io) : toJson(result.record, format === 'json' ? 2 : undefined),
      )
      return
    case 'list':
      return renderList(result, format, io)
    case 'variables':
      if (format === 'json') io.print(toJson(result.variables, 2))
      else for (const line of dotenvLines(result.variables)) io.print(line)
      return
    case 'body':
      return renderBody(result.body, format, io)
    case 'report':
      if (format !== 'table') io.print(toJson(result.value, format === 'json' ? 2 : undefined))
      else for (const part of result.parts) io.print(await partText(part, io))
      return
    case 'stream':
      return renderStream(result, format, io)
  }
}

async function renderList({ pages, columns, none }: Extract<Result, { kind: 'list' }>, format: Format, io: Io): Promise<void> {
  const rows: object[] = []
  for await (const page of pages) {
    if (format === 'ndjson') for (const row of page) io.print(toJson(row))
    else rows.push(...page)
    await io.drained()
  }
  if (format === 'json') io.print(toJson(rows, 2))
  else if (format === 'table' && rows.length === 0) io.note(none)
  else if (format === 'table') io.print(await listTable(rows, columns, io))
}

/** Lines of a table whose end nobody knows: a column widens with what comes. */
async function renderStream({ pages, columns }: Extract<Result, { kind: 'stream' }>, format: Format, io: Io): Promise<void> {
  const widths = columns.map((column) => titleOfColumn(column).length)
  const line = (cells: string[], style = (text: string) => text) =>
    cells
      .map((text, index) => style(text) + ' '.repeat(Math.max(0, widths[index]! - text.length)))
      .join('  ')
      .trimEnd()
  let isFirst = true
  for await (const page of pages) {
    if (format === 'ndjson') {
      for (const row of page) io.print(toJson(row))
      continue
    }
    const lines = page.map((row) => cellsOf(row, columns))
    for (const cells of lines) for (const [index, text] of cells.entries()) widths[index] = Math.max(widths[index]!, text.length)
    if (isFirst) io.print(line(columns.map(titleOfColumn), (text) => io.style('bold', text)))
    isFirst = false
    for (const cells of lines) io.print(line(cells))
  }
}

async function partText(part: Part, io: Io): Promise<string> {
  if (typeof part === 'string') return escapeControls(part)
  return 'record' in part ? recordTable(part.record, io) : listTable(part.rows, part.columns, io)
}

async function listTable(rows: object[], columns: Column<never>[], io: Io): Promise<string> {
  const titles = columns.map((column) => io.style('bold', titleOfColumn(column)))
  return table([titles, ...rows.map((row) => cellsOf(row, columns))])
}

function titleOfColumn(column: Column<never>): string {
  return titleOf(typeof column === 'string' ? column : column[0])
}

function cellsOf(row: object, columns: Column<never>[]): string[] {
  return columns.map((column) =>
    cell(typeof column === 'string' ? (row as Record<string, unknown>)[column] : column[1](row as never)),
  )
}

function renderBody(body: unknown, format: Format, io: Io): void {
  if (body === undefined) return
  if (typeof body === 'string') io.print(body.replace(/\n$/, ''))
  else if (format === 'ndjson') for (const line of linesOf(body)) io.print(toJson(line))
  else io.print(toJson(body, 2))
}

function linesOf(body: unknown): unknown[] {
  if (Array.isArray(body)) return body
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : undefined
  return Array.isArray(items) ? items : [body]
}

async function recordTable(value: Record<string, unknown>, io: Io): Promise<string> {
  return table(Object.entries(value).map(([name, member]) => [io.style('bold', titleOf(name)), cell(member)]))
}

function titleOf(name: string): string {
  return escapeControls(name).replaceAll('_', ' ').toUpperCase()
}

/** A member as a cell of a table, on one line. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value))
    return value.length === 0
      ? '-'
      : value.map((entry) => (typeof entry === 'object' ? toJson(entry) : escapeControls(String(entry)))).join(', ')
  if (typeof value === 'object') return toJson(value)
  return escapeControls(String(value))
}

const noLines = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
]

async function table(rows: string[][]): Promise<string> {
  const { default: Table } = await import('cli-table3')
  const chars = { ...Object.fromEntries(noLines.map((place) => [place, ''])), middle: '  ' }
  const drawn = new Table({ chars, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } })
  drawn.push(...rows)
  return drawn.toString().replace(/ +$/gm, '')
}

export function dotenvLines(variables: Record<string, string>): string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${dotenvValue(value)}`)
}

/** A value that any reader of .env files takes as it is. */
export function dotenvValue(value: string): string {
  return /^[\w.:/@%+,~-]*$/.test(value) ? value : `"${value.replace(/[\\"$`]/g, '\\$&').replaceAll('\n', '\\n')}"`
}

/** The plan of --dry-run, on stdout; of several requests a list. */
export function renderPlan(requests: readonly Request[], format: Format, io: Io): void {
  const plans = requests.map(({ method, url, body }) => ({
    dry_run: true,
    request: { method, url: redactUrl(url), body: body === undefined ? null : redact(body) },
  }))
  if (format === 'json') io.print(toJson(plans.length === 1 ? plans[0] : plans, 2))
  else if (format === 'ndjson') for (const plan of plans) io.print(toJson(plan))
  else for (const request of requests) io.print(describePlan(request))
  io.note('nothing was sent (--dry-run)')
}

/** A failure on stderr: as one JSON object where results are JSON, else in words. */
export function renderFailure(
  failure: Failure,
  { asJson, debug }: { asJson: boolean; debug: boolean },
  stderr: NodeJS.WritableStream,
): void {
  const { message, code, hint = null, requestId: request_id = null, exit } = failure
  if (asJson) {
    stderr.write(`${toJson({ error: { code, message, hint, request_id, exit } })}\n`)
  } else {
    stderr.write(`authctl: ${escapeControls(message)}${request_id ? ` (request ${escapeControls(request_id)})` : ''}\n`)
    for (const line of hint?.split('\n') ?? []) stderr.write(`  ${escapeControls(line)}\n`)
  }
  if (debug && failure.cause instanceof Error && !asJson) stderr.write(`${failure.cause.stack}\n`)
}
