import { describePlan, type Pages, type Request } from '../api/api-client.ts'
import type { Failure } from '../command-line/exit-codes.ts'
import type { Format } from '../command-line/settings.ts'
import type { Io } from '../terminal/io.ts'
import { escapeControls, toJson } from '../text/escape-controls.ts'
import { redact, redactUrl } from '../text/redact.ts'
import { type Column, cell, cellsOf, titleOf, titleOfColumn } from './cells.ts'
import { listWriter } from './list-writers.ts'
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

export type Result =
  | { kind: 'record'; record: Record<string, unknown> }
  /** Written page by page while it is read. */
  | { kind: 'list'; pages: Pages<object>; columns: Column<never>[]; none: string | undefined }
  | { kind: 'variables'; variables: Record<string, string> }
  /** The body as it came, for `api`. */
  | { kind: 'body'; body: unknown }
  /** One record: JSON shows all of it, a terminal shows parts. With a failure the command shows it and then fails. */
  | { kind: 'report'; value: object; parts: Part[]; failure?: Failure | undefined }

type Part = string | { record: Record<string, unknown> } | { rows: object[]; columns: Column<never>[] }

export function record(value: object, outcome?: Outcome): Result {
  return { kind: 'record', record: outcome === undefined ? { ...value } : { ...value, outcome } }
}

/** `none` goes to stderr if the list is empty. */
export function list<Row extends object>(pages: Pages<Row>, columns: Column<Row>[], none: string): Result {
  return { kind: 'list', pages, columns, none }
}

export function rowsOf<Row extends object>(rows: Row[], columns: Column<Row>[]): Part {
  return { rows, columns }
}

/** A list without an end. */
export function stream<Row extends object>(pages: Pages<Row>, columns: Column<Row>[]): Result {
  return { kind: 'list', pages, columns, none: undefined }
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
  }
}

async function renderList({ pages, columns, none }: Extract<Result, { kind: 'list' }>, format: Format, io: Io): Promise<void> {
  const writer = await listWriter(format, columns, io)
  let isEmpty = true
  for await (const page of pages) {
    if (page.length === 0) continue
    isEmpty = false
    io.write(writer.page(page))
    await io.drained()
  }
  io.write(writer.end())
  if (isEmpty && format === 'table' && none !== undefined) io.note(none)
}

async function partText(part: Part, io: Io): Promise<string> {
  if (typeof part === 'string') return escapeControls(part)
  return 'record' in part ? recordTable(part.record, io) : partTable(part.rows, part.columns, io)
}

/** Cuts nothing, since every word of these details may matter. */
async function partTable(rows: object[], columns: Column<never>[], io: Io): Promise<string> {
  const rowsWithTitles = [columns.map(titleOfColumn), ...rows.map((row) => cellsOf(row, columns))]
  return uncut(rowsWithTitles, (text, row) => (row === 0 ? io.style('bold', text) : text))
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
  const rows = Object.entries(value).map(([name, member]) => [titleOf(name), cell(member)])
  return uncut(rows, (text, _, column) => (column === 0 ? io.style('bold', text) : text))
}

async function uncut(rows: string[][], paint: Paint): Promise<string> {
  const { createTable } = await import('./table.ts')
  return createTable(Number.POSITIVE_INFINITY).lines(rows, paint).join('\n')
}

export function dotenvLines(variables: Record<string, string>): string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${dotenvValue(value)}`)
}

/** Quotes a value so that any reader of .env files takes it unchanged. */
export function dotenvValue(value: string): string {
  return /^[\w.:/@%+,~-]*$/.test(value) ? value : `"${value.replace(/[\\"$`]/g, '\\$&').replaceAll('\n', '\\n')}"`
}

/** Prints the plan of --dry-run on stdout, several requests as a list. */
export function renderPlan(requests: readonly Request[], format: Format, io: Io): void {
  const plans = requests.map(({ method, url, body }) => ({
    dry_run: true,
    request: { method, url: redactUrl(url), body: body === undefined ? null : redact(body) },
  }))
  if (format === 'json') io.print(toJson(plans.length === 1 ? plans[0] : plans, 2))
  else if (format === 'ndjson') for (const plan of plans) io.print(toJson(plan))
  else for (const request of requests) io.print(describePlan(request))
  io.note('nothing was changed (--dry-run)')
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
