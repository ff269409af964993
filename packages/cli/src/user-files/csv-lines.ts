import { Failure } from '../command-line/exit-codes.ts'
import { counted } from '../text/counted.ts'
import type { Line } from './split-lines.ts'

/** How a column of the file is read. */
interface Column {
  /** As in the header. */
  title: string
  member: string
}

const lists = new Set(['tags', 'apps', 'roles'])
const flags = new Set(['email_verified'])
const members = new Set(['email', 'password_hash', 'first_name', 'last_name', 'namespace', ...lists, ...flags])
/** Other names of a column, in the form of `memberOf`. */
const aliases: Record<string, string> = { e_mail: 'email', pool: 'namespace' }

/**
 * Turns the lines of a CSV file with a header into the JSON lines that the service takes. A record may span several lines. A row
 * that cannot be read becomes a line with a fault. `tell` gets the columns before the first row, in words and as in the file.
 * Throws `invalid_columns`.
 */
export async function* csvLines(
  lines: AsyncIterable<Line>,
  source: string,
  { tell, longestBytes }: { tell(columns: string, header: Buffer): void; longestBytes: number },
): AsyncGenerator<Line, void, undefined> {
  let columns: Column[] | undefined
  for await (const record of joinRecords(lines, longestBytes)) {
    if (record.isTooLong) yield record
    else if (/^[\s\ufeff]*$/.test(record.bytes.toString())) continue
    else if (columns) yield convert(record, columns)
    else {
      columns = readHeader(cellsOf(record.bytes.toString()), source)
      tell(columns.map(describe).join(', '), record.bytes)
    }
  }
}

/** Joins the lines of a record, which continues while a quote is open. */
async function* joinRecords(lines: AsyncIterable<Line>, longestBytes: number): AsyncGenerator<Line, void, undefined> {
  let open: Line | undefined
  for await (const line of lines) {
    const joined: Line = open
      ? { ...open, bytes: Buffer.concat([open.bytes, newline, line.bytes]), end: line.end, isTooLong: line.isTooLong }
      : line
    const isTooLong = joined.isTooLong || joined.bytes.length > longestBytes
    open = !isTooLong && isOpen(joined.bytes) ? joined : undefined
    if (!open) yield { ...joined, bytes: joined.bytes.subarray(0, longestBytes), isTooLong }
  }
  if (open) yield open
}

const newline = Buffer.from('\n')
const quote = 0x22

/** Whether a quote is open at the end. Quotes within a quoted cell are doubled, so an odd number means that one is open. */
function isOpen(bytes: Buffer): boolean {
  let quotes = 0
  for (let found = bytes.indexOf(quote); found !== -1; found = bytes.indexOf(quote, found + 1)) quotes += 1
  return quotes % 2 === 1
}

/** The cells of a record (RFC 4180). Undefined if its quotes do not match. */
function cellsOf(text: string): string[] | undefined {
  const cells: string[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y
  for (;;) {
    const found = cell.exec(text)
    if (!found) return undefined
    const [, quoted, plain = '', end] = found
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '') return cells
  }
}

function readHeader(titles: string[] | undefined, source: string): Column[] {
  const columns = (titles ?? []).map((title) => ({ title: title.trim(), member: memberOf(title) }))
  const unknown = columns.filter(({ member }) => !members.has(member)).map(({ title }) => `"${title}"`)
  const twice = columns.filter(({ member }, index) => columns.findIndex((each) => each.member === member) < index)
  const fault =
    titles === undefined
      ? 'has a header whose quotes do not match'
      : unknown.length > 0
        ? `has ${unknown.length === 1 ? 'an unknown column' : 'unknown columns'}: ${unknown.join(', ')}`
        : twice.length > 0
          ? `has two columns for ${twice[0]!.member}`
          : columns.every(({ member }) => member !== 'email')
            ? 'has no column email'
            : undefined
  if (fault === undefined) return columns
  throw new Failure('invalid', `${source} ${fault}`, {
    code: 'invalid_columns',
    hint: `the first line names the columns, separated by commas: ${[...members].join(', ')}\nnothing was sent`,
  })
}

/** `First Name` and `first-name` become `first_name`. */
function memberOf(title: string): string {
  const plain = title
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
  return Object.hasOwn(aliases, plain) ? aliases[plain]! : plain
}

function describe({ title, member }: Column): string {
  const name = title === member ? member : `${title} as ${member}`
  if (lists.has(member)) return `${name} (a list, split by ;)`
  return flags.has(member) ? `${name} (yes or no)` : name
}

function convert(record: Line, columns: readonly Column[]): Line {
  const cells = cellsOf(record.bytes.toString())
  const broken = (message: string): Line => ({ ...record, raw: record.bytes, fault: { code: 'invalid_csv', message } })
  if (!cells) return broken('The quotes of this row do not match')
  if (cells.length !== columns.length) return broken(`The row has ${counted(cells.length, 'cell')}, the header ${columns.length}`)
  const user: Record<string, unknown> = {}
  for (const [index, { member, title }] of columns.entries()) {
    const cell = cells[index]!.trim()
    if (cell === '') continue
    if (lists.has(member)) user[member] = listIn(cell)
    else if (!flags.has(member)) user[member] = cell
    else {
      const value = flagIn(cell)
      if (value === undefined) return broken(`"${cell.slice(0, 40)}" in the column ${title} is neither yes nor no`)
      user[member] = value
    }
  }
  return { ...record, bytes: Buffer.from(JSON.stringify(user)), raw: record.bytes }
}

function listIn(cell: string): string[] {
  return cell
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

function flagIn(cell: string): boolean | undefined {
  if (/^(true|yes|1)$/i.test(cell)) return true
  return /^(false|no|0)$/i.test(cell) ? false : undefined
}
