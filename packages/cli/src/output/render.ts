import { describePlan, type Pages, type Request } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import type { Format } from '../command-line/settings.ts'
import type { Io } from '../terminal/io.ts'
import { escapeControls, toJson } from '../text/escape-controls.ts'
import { redact, redactUrl } from '../text/redact.ts'
import { isMoment, relativeTime } from '../text/relative-time.ts'
import { type Column, cell, cellsOf, isWide, nameOfColumn, titleOf, titleOfColumn } from './cells.ts'
import { listWriter } from './list-writers.ts'
import { stateStyle } from './state-style.ts'
import type { Paint } from './table.ts'

/** The outcome of a command that may change something. */
export type Outcome =
  | 'created'
  | 'updated'
  | 'unchanged'
  | 'activated'
  | 'deactivated'
  | 'deleted'
  | 'granted'
  | 'denied'
  | 'revoked'
  | 'added'
  | 'removed'
  | 'invited'
  | 'sent'
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
  | 'ended'
  | 'unlinked'
  | 'reset'
  | 'cleared'
  | 'offboarded'

export type Result =
  | { kind: 'record'; record: Record<string, unknown> }
  /** Written page by page while it is read. */
  | { kind: 'list'; pages: Pages<object>; columns: Column<never>[]; identify: (row: object) => string; none: string | undefined }
  | { kind: 'variables'; variables: Record<string, string> }
  /** The unchanged body of an answer, for `api`. */
  | { kind: 'body'; body: unknown }
  /** One record: JSON shows all of it, a terminal shows parts. With a failure the command shows it and then fails. */
  | { kind: 'report'; value: object; parts: Part[]; failure?: Failure | undefined }

type ListResult = Extract<Result, { kind: 'list' }>

type Part = string | { record: Record<string, unknown> } | { rows: object[]; columns: Column<never>[] }

export function record(value: object, outcome?: Outcome): Result {
  return { kind: 'record', record: outcome === undefined ? { ...value } : { ...value, outcome } }
}

/**
 * `none` goes to stderr if the list is empty. `identify` gives what `-o id` prints: by default the id, or else the first column.
 */
export function list<Row extends object>(
  pages: Pages<Row>,
  columns: Column<Row>[],
  none: string,
  identify: (row: Row) => string = (row) => ('id' in row ? String(row.id) : cellsOf(row, columns.slice(0, 1)).join()),
): ListResult {
  return { kind: 'list', pages, columns, none, identify: (row) => escapeControls(identify(row as Row)) }
}

export function rowsOf<Row extends object>(rows: Row[], columns: Column<Row>[]): Part {
  return { rows, columns }
}

/** A list without an end. */
export function stream<Row extends object>(pages: Pages<Row>, columns: Column<Row>[]): Result {
  return { ...list(pages, columns, ''), none: undefined }
}

/** How a result is shown. */
export interface View {
  format: Format
  /** For a list: the columns that the user asked for, as typed. */
  columns?: string | undefined
  /** For a list: the largest number of rows to show. */
  most?: number | undefined
}

/** Writes a result to stdout. */
export async function render(result: Result, view: View, io: Io): Promise<void> {
  const { format } = view
  switch (result.kind) {
    case 'record':
      io.print(
        format === 'table' ? await recordTable(result.record, io) : toJson(result.record, format === 'json' ? 2 : undefined),
      )
      return
    case 'list':
      return renderList(result, view, io)
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
  }
}

async function renderList(result: ListResult, { format, columns: chosen, most = Number.POSITIVE_INFINITY }: View, io: Io) {
  const columns = shownColumns(result.columns, format, chosen)
  // A followed list stays on the screen, where "now" would become wrong.
  const now = format === 'table' && io.isTerminal && result.none !== undefined ? io.now() : undefined
  const writer = await listWriter(format, { columns, isChosen: chosen !== undefined, identify: result.identify, now }, io)
  let shown = 0
  let isCut = false
  for await (const page of result.pages) {
    if (page.length === 0) continue
    isCut = shown + page.length > most
    const rows = isCut ? page.slice(0, most - shown) : page
    shown += rows.length
    if (rows.length > 0) io.write(writer.page(rows))
    await io.drained()
    if (isCut) break
  }
  io.write(writer.end())
  if (shown === 0 && isForPeople(format) && result.none !== undefined) io.note(result.none)
  const hint = writer.hint?.()
  if (shown > 0 && hint !== undefined) io.note(hint)
  if (isCut) io.note(`only the first ${most}; --all shows the rest`)
}

function isForPeople(format: Format): boolean {
  return format === 'table' || format === 'wide'
}

async function partText(part: Part, io: Io): Promise<string> {
  if (typeof part === 'string') return escapeControls(part)
  return 'record' in part ? recordTable(part.record, io) : partTable(part.rows, part.columns, io)
}

/** Cuts nothing, since every word of these details may matter. */
async function partTable(rows: object[], columns: Column<never>[], io: Io): Promise<string> {
  const rowsWithTitles = [columns.map(titleOfColumn), ...rows.map((row) => cellsOf(row, columns))]
  const names = columns.map(nameOfColumn)
  return uncut(rowsWithTitles, (text, row, column) => {
    const style = row === 0 ? 'bold' : stateStyle(names[column] ?? '', text)
    return style === undefined ? text : io.style(style, text)
  })
}

function renderBody(body: unknown, format: Format, io: Io): void {
  if (body === undefined) return
  if (typeof body === 'string') io.print(io.isTerminal ? linesEscaped(body) : body.replace(/\n$/, ''))
  else if (format === 'ndjson') for (const line of linesOf(body)) io.print(toJson(line))
  else io.print(toJson(body, 2))
}

/** Escapes the text of an answer for a terminal, line by line. */
function linesEscaped(text: string): string {
  return text
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
    .map(escapeControls)
    .join('\n')
}

function linesOf(body: unknown): unknown[] {
  if (Array.isArray(body)) return body
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : undefined
  return Array.isArray(items) ? items : [body]
}

async function recordTable(value: Record<string, unknown>, io: Io): Promise<string> {
  const members = Object.entries(value)
  const rows = members.map(([name, member]) => [titleOf(name), memberCell(member, io)])
  return uncut(rows, (text, row, column) => {
    const style = column === 0 ? 'bold' : stateStyle(members[row]?.[0] ?? '', text)
    return style === undefined ? text : io.style(style, text)
  })
}

/** On a terminal a moment is followed by how long ago it was. */
function memberCell(member: unknown, io: Io): string {
  return io.isTerminal && isMoment(member) ? `${member} (${relativeTime(member, io.now())})` : cell(member)
}

async function uncut(rows: string[][], paint: Paint): Promise<string> {
  const { createTable } = await import('./table.ts')
  return createTable({ width: Number.POSITIVE_INFINITY }).lines(rows, paint).join('\n')
}

export function dotenvLines(variables: Record<string, string>): string[] {
  return Object.entries(variables).map(([name, value]) => dotenvLine(name, value))
}

/**
 * Without quotes: `docker run --env-file` takes them for a part of the value. A value that some reader of such files would cut or
 * change is refused.
 */
export function dotenvLine(name: string, value: string): string {
  if (value.trim() === value && /^[^\p{Cc}#"'`$\\]*$/u.test(value)) return `${name}=${value}`
  throw new Failure('invalid', `${name} has characters that programs read differently in a .env file`, {
    code: 'not_for_dotenv',
    hint: 'set it in the environment of the backend, or in a file that NAME_FILE names',
  })
}

/** Prints the plan of --dry-run on stdout, several requests as a list. */
export function renderPlan(requests: readonly Request[], format: Format, { io, place }: { io: Io; place: () => string }): void {
  const plans = requests.map(({ method, url, body }) => ({
    dry_run: true,
    request: { method, url: redactUrl(url), body: body === undefined ? null : redact(body) },
  }))
  if (format === 'json') io.print(toJson(plans.length === 1 ? plans[0] : plans, 2))
  else if (format === 'ndjson') for (const plan of plans) io.print(toJson(plan))
  else for (const request of requests) io.print(describePlan(request))
  io.note(`nothing was changed ${place()} (--dry-run)`)
}

/** Prints a failure on stderr: as one JSON object if results are JSON, else in words. */
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

/** The formats that show a list in columns. */
const columnFormats: readonly Format[] = ['table', 'wide', 'csv']

/** The columns to show: those that `--columns` names, in its order, or those of the format. Throws `usage` for an unknown one. */
function shownColumns<C extends Column<never>>(columns: readonly C[], format: Format, chosen: string | undefined): C[] {
  if (chosen === undefined) return columns.filter((column) => format !== 'table' || !isWide(column))
  if (!columnFormats.includes(format))
    throw usageFailure(`-o ${format} has no columns`, `--columns works with ${columnFormats.join(', ')}`)
  return chosen.split(',').map((typed) => {
    const name = typed.trim().toLowerCase()
    const column = columns.find((column) => nameOfColumn(column) === name)
    if (column) return column
    throw usageFailure(`there is no column "${name}"`, `there are ${columns.map(nameOfColumn).join(', ')}`)
  })
}
