import { Failure } from '../command-line/exit-codes.ts'
import { csvLines } from './csv-lines.ts'
import { type Line, splitLines } from './split-lines.ts'

/** The lines that are sent in one request. */
export interface Batch {
  /** In the order of the file; blank ones are left out. */
  lines: Line[]
  /** Where the next batch begins, in bytes from the start of the file. */
  end: number
}

/** The longest line that the service takes. */
const longestLineBytes = 64 * 1024
/** A multiple of what the service commits at a time, and small enough that the answer lists every line that failed. */
const mostLines = 2_000
/** Below the service's limit of 10 MiB, by more than a line. */
const mostBytes = 2 * 1024 * 1024

/** The form of a file of users. */
interface ImportForm {
  /** CSV with a header, instead of one JSON object per line. */
  isCsv: boolean
  /** Gets the columns of a CSV file, in words and as in its header. */
  tellColumns(columns: string, header: Buffer): void
}

/** The lines of a file, in batches that the service accepts. Throws if the file is not a list of users at all. */
export async function* importBatches(
  pieces: AsyncIterable<Buffer, void, undefined>,
  source: string,
  { isCsv, tellColumns }: ImportForm,
): AsyncGenerator<Batch, void, undefined> {
  let lines: Line[] = []
  let bytes = 0
  let end = 0
  let isFirst = true
  const plain = splitLines(pieces, longestLineBytes)
  const users = isCsv ? csvLines(checked(plain, source), source, { tell: tellColumns, longestBytes: longestLineBytes }) : plain
  for await (const line of users) {
    end = line.end
    if (!line.isTooLong && isBlank(line.bytes)) continue
    if (isFirst && !isCsv) assertNdjson(line.bytes, source)
    isFirst = false
    lines.push(line)
    bytes += line.bytes.length
    if (lines.length < mostLines && bytes < mostBytes) continue
    yield { lines, end }
    lines = []
    bytes = 0
  }
  if (lines.length > 0) yield { lines, end }
}

/** Whether the service skips this line as blank. Such lines must not be counted. */
function isBlank(bytes: Buffer): boolean {
  return bytes[0] !== openingBrace && /^[\s\ufeff]*$/.test(bytes.toString())
}

const openingBrace = 0x7b

/** Passes the lines on. Throws if the first one is not text. */
async function* checked(lines: AsyncIterable<Line>, source: string): AsyncGenerator<Line, void, undefined> {
  let isFirst = true
  for await (const line of lines) {
    if (isFirst) assertText(line.bytes, source)
    isFirst = false
    yield line
  }
}

type Stranger = [start: number[], what: string, hint: string]

const binaries: Stranger[] = [
  [[0x50, 0x4b, 0x03, 0x04], 'is a ZIP archive', 'unzip -p FILE | authctl user import -f -'],
  [[0xff, 0xfe], 'is UTF-16', 'iconv -f UTF-16 -t UTF-8 FILE | authctl user import -f -'],
  [[0xfe, 0xff], 'is UTF-16', 'iconv -f UTF-16 -t UTF-8 FILE | authctl user import -f -'],
]
const array: Stranger = [[0x5b], 'is a JSON array', "jq -c '.[]' FILE | authctl user import -f -"]

/** Throws once for a file of another form, instead of failing for each line. */
function assertNdjson(firstLine: Buffer, source: string): void {
  refuseStrangers(firstLine, source, [...binaries, array])
  if (/^"?e[-_]?mail"?\s*[,;]/i.test(firstLine.toString('utf8', 0, 100)))
    refuse(source, ['is CSV', 'authctl user import -f FILE --format csv'])
}

function assertText(firstLine: Buffer, source: string): void {
  refuseStrangers(firstLine, source, binaries)
}

function refuseStrangers(firstLine: Buffer, source: string, strangers: readonly Stranger[]): void {
  const text = firstLine.subarray(firstLine.findIndex((byte) => byte !== 0x20 && byte !== 0x09))
  const found = strangers.find(([start]) => text.subarray(0, start.length).equals(Buffer.from(start)))
  if (found) refuse(source, [found[1], found[2]])
}

function refuse(source: string, [what, hint]: [what: string, hint: string]): never {
  throw new Failure('invalid', `${source} ${what}, not one JSON object per line`, {
    code: 'not_ndjson',
    hint: `${hint.replace('FILE', source === 'standard input' ? 'FILE' : source)}\nnothing was sent`,
  })
}
