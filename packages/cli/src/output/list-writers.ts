import type { Format } from '../command-line/settings.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../text/escape-controls.ts'
import { type Column, cellsOf, memberOf, nameOfColumn, titleOfColumn } from './cells.ts'
import { csvLine } from './csv.ts'
import { stateStyle } from './state-style.ts'

/** Turns the pages of a list into text as they arrive. It keeps no rows. */
interface ListWriter {
  /** Text for one page, which is never empty. */
  page(rows: object[]): string
  /** Text for the end of the list. Not written if the list fails. */
  end(): string
  /** A hint for stderr after the list. */
  hint?(): string | undefined
}

export interface Listing {
  columns: readonly Column<never>[]
  /** The user chose these columns. */
  isChosen: boolean
  /** The argument that names a row to other commands. */
  identify(row: object): string
  /** Moments are shown relative to this one. If undefined, they are shown as they are. */
  now: number | undefined
}

type OpenWriter = (listing: Listing, io: Pick<Io, 'style' | 'width'>) => Promise<ListWriter>

const writers: Record<Format, OpenWriter> = {
  table: (listing, io) => tableWriter(listing, io, io.width),
  // Not cut to the terminal: users copy from a `wide` table.
  wide: (listing, io) => tableWriter(listing, io, Number.POSITIVE_INFINITY),
  csv: async ({ columns }) => csvWriter(columns),
  id: async ({ identify }) => ({ page: (rows) => rows.map((row) => `${identify(row)}\n`).join(''), end: () => '' }),
  json: async () => jsonWriter(),
  ndjson: async () => ({ page: (rows) => rows.map((row) => `${toJson(row)}\n`).join(''), end: () => '' }),
}

export function listWriter(format: Format, ...of: Parameters<OpenWriter>): Promise<ListWriter> {
  return writers[format]!(...of)
}

async function tableWriter({ columns, isChosen, now }: Listing, io: Pick<Io, 'style'>, width: number): Promise<ListWriter> {
  // Loaded late: the table of character widths is slow to load, and JSON does not need it.
  const { createTable } = await import('./table.ts')
  const table = createTable({ width, showsAll: isChosen })
  const names = columns.map(nameOfColumn)
  let heading: string[][] = [columns.map(titleOfColumn)]
  return {
    page(rows) {
      const titles = heading.length
      const lines = table.lines([...heading, ...rows.map((row) => cellsOf(row, columns, now))], (text, row, column) => {
        const style = row < titles ? 'bold' : stateStyle(names[column] ?? '', text)
        return style === undefined ? text : io.style(style, text)
      })
      heading = []
      return lines.map((line) => `${line}\n`).join('')
    },
    end: () => '',
    hint: () => {
      const left = names.slice(names.length - table.leftOut)
      return left.length === 0 ? undefined : `left out: ${left.join(', ')} (-o wide, or --columns)`
    },
  }
}

function csvWriter(columns: readonly Column<never>[]): ListWriter {
  let heading = csvLine(columns.map(nameOfColumn))
  return {
    page(rows) {
      const lines = heading + rows.map((row) => csvLine(columns.map((column) => memberOf(row, column)))).join('')
      heading = ''
      return lines
    },
    end: () => heading,
  }
}

/** One array, as JSON.stringify would indent it. */
function jsonWriter(): ListWriter {
  let isFirst = true
  return {
    page: (rows) =>
      rows
        .map((row) => {
          const separator = isFirst ? '[' : ','
          isFirst = false
          return `${separator}\n${toJson(row, 2).replace(/^/gm, '  ')}`
        })
        .join(''),
    end: () => (isFirst ? '[]\n' : '\n]\n'),
  }
}
