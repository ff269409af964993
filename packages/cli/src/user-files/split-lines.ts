/** A line of a file, counted from 1. */
export interface Line {
  line: number
  /** Without the line end (CR LF or LF) and without a byte order mark. Only the beginning if the line is too long. */
  bytes: Buffer
  isTooLong: boolean
  /** The original row, if the file is not NDJSON. */
  raw?: Buffer
  /** Why it cannot be sent. */
  fault?: { code: string; message: string }
  /** Where the next one begins, in bytes from the start of the file. */
  end: number
}

const newline = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = Buffer.from('\ufeff')

/** Splits chunks of bytes into lines. Holds one line at a time, and only the beginning of a line that is too long. */
export async function* splitLines(
  pieces: AsyncIterable<Buffer, void, undefined>,
  longestBytes: number,
): AsyncGenerator<Line, void, undefined> {
  let line = 1
  let end = 0
  let held: Buffer[] = []
  let heldBytes = 0
  let isTooLong = false
  const hold = (part: Buffer) => {
    end += part.length
    // A carriage return at its end does not count, so one byte more is kept.
    const room = longestBytes + 1 + byteOrderMark.length - heldBytes
    isTooLong ||= part.length > room
    held.push(part.subarray(0, Math.max(0, room)))
    heldBytes += Math.min(part.length, Math.max(0, room))
  }
  const take = (): Line => {
    const bytes = withoutMarks(Buffer.concat(held), line === 1, isTooLong)
    const taken = { line, bytes, isTooLong: isTooLong || bytes.length > longestBytes, end }
    line += 1
    held = []
    heldBytes = 0
    isTooLong = false
    return taken
  }
  for await (const piece of pieces) {
    let start = 0
    for (let found = piece.indexOf(newline); found !== -1; found = piece.indexOf(newline, start)) {
      hold(piece.subarray(start, found))
      end += 1
      start = found + 1
      yield take()
    }
    if (start < piece.length) hold(piece.subarray(start))
  }
  if (heldBytes > 0) yield take()
}

function withoutMarks(bytes: Buffer, isFirst: boolean, isCut: boolean): Buffer {
  const start = isFirst && bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  const end = !isCut && bytes.at(-1) === carriageReturn ? bytes.length - 1 : bytes.length
  return bytes.subarray(start, end)
}
