import { createRequire } from 'node:module'
import { isUuid } from '../text/uuid.ts'

const gap = '  '
const ellipsis = '…'
/** A column of text that is cut below this width is of little use. */
const narrowText = 12

/** Adds colour or emphasis to a cell without changing its width. */
export type Paint = (text: string, row: number, column: number) => string

/** Draws rows of cells, page after page. It keeps only the widths of the columns. */
interface Table {
  lines(rows: string[][], paint?: Paint): string[]
  /** How many columns at the end the terminal has no room for. */
  readonly leftOut: number
}

/** The room for a table. */
interface Room {
  /** The width of the terminal, or Infinity to cut nothing. */
  width: number
  /** Shows every column, however narrow, because the user chose them. */
  showsAll?: boolean
}

/**
 * The first rows determine the widths of the columns, and how many of them the terminal has room for. Later rows widen a column
 * only into room that is left on the line, and longer cells are cut.
 */
export function createTable({ width: room, showsAll = false }: Room): Table {
  let widths: number[] | undefined
  let leftOut = 0
  return {
    lines(rows, paint = (text) => text) {
      const all = naturalWidths(rows)
      const natural = all.slice(0, widths?.length ?? (showsAll ? all.length : fittingColumns(rows, all, room)))
      const cells = room - gap.length * (natural.length - 1)
      const fitted = widths === undefined ? firstWidths(rows, natural, cells) : widened(widths, natural, cells)
      widths = fitted
      leftOut = all.length - natural.length
      return rows.map((cells, row) => {
        const shown = cells
          .slice(0, fitted.length)
          .map((text, column) => filled(text, fitted[column] ?? 0, (cut) => paint(cut, row, column)))
        return shown.join(gap).replace(/ +$/, '')
      })
    },
    get leftOut() {
      return leftOut
    },
  }
}

/** How many columns, from the first, have room at a readable width. */
function fittingColumns(rows: string[][], natural: number[], room: number): number {
  let needed = 0
  const first = natural.findIndex((width, column) => {
    needed += (holdsIds(rows, column) ? width : Math.min(width, narrowText)) + (column === 0 ? 0 : gap.length)
    return needed > room
  })
  return first === -1 ? natural.length : Math.max(1, first)
}

function filled(text: string, width: number, paint: (text: string) => string): string {
  const shown = cut(text, width)
  return paint(shown) + ' '.repeat(width - widthOf(shown))
}

/** The width of each column without cutting. */
function naturalWidths(rows: string[][]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(text))
  }
  return widths
}

function firstWidths(rows: string[][], natural: number[], room: number): number[] {
  if (sum(natural) <= room) return natural
  // A cut identifier is useless, so text columns shrink first, as long as they stay readable.
  const isKept = natural.map((_, column) => holdsIds(rows, column))
  const kept = sum(natural.filter((_, column) => isKept[column]))
  const texts = natural.filter((_, column) => !isKept[column])
  const leastForTexts = sum(texts.map((width) => Math.min(width, narrowText)))
  if (kept + leastForTexts > room) return shared(natural, room)
  const shares = shared(texts, room - kept)
  return natural.map((width, column) => (isKept[column] ? width : shares.shift()!))
}

/** Whether at least half of a column are ids. A column of names may hold some too, for things that have no name any more. */
function holdsIds(rows: string[][], column: number): boolean {
  return rows.filter((row) => isUuid(row[column] ?? '')).length * 2 >= rows.length
}

/** Divides the room. Only the widest columns shrink, down to a common width. */
function shared(natural: number[], room: number): number[] {
  const widths = [...natural]
  const narrowestFirst = [...natural.keys()].sort((one, other) => (natural[one] ?? 0) - (natural[other] ?? 0))
  let left = room
  for (const [position, column] of narrowestFirst.entries()) {
    const share = Math.floor(left / (narrowestFirst.length - position))
    const width = Math.max(1, Math.min(natural[column] ?? 0, share))
    widths[column] = width
    left -= width
  }
  return widths
}

function widened(widths: number[], natural: number[], room: number): number[] {
  let left = Math.max(0, room - sum(widths))
  return widths.map((width, column) => {
    const more = Math.min(left, Math.max(0, (natural[column] ?? 0) - width))
    left -= more
    return width + more
  })
}

function sum(widths: number[]): number {
  return widths.reduce((total, width) => total + width, 0)
}

let graphemes: Intl.Segmenter | undefined

/** Cuts text to `width` columns of a terminal, with an ellipsis at the end. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  graphemes ??= new Intl.Segmenter()
  let shown = ''
  let left = width - ellipsis.length
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment)
    if (left < 0) break
    shown += segment
  }
  return shown + ellipsis
}

type StringWidth = typeof import('string-width').default

const loadStringWidth = (): { default: StringWidth } => createRequire(import.meta.url)('string-width')
let stringWidth: StringWidth | undefined

/** How many columns of a terminal the text takes. */
function widthOf(text: string): number {
  if (/^[ -~…]*$/.test(text)) return text.length
  // Loaded late: its table of characters takes as long to load as Node itself, and most cells need no table.
  stringWidth ??= loadStringWidth().default
  return stringWidth(text)
}
