import type { Format } from '../command-line/settings.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../text/escape-controls.ts'
import { type Column, cellsOf, titleOfColumn } from './cells.ts'

/** Turns the pages of a list into text as they arrive. It keeps no rows. */
export interface ListWriter {
  /** Text for one page, which is never empty. */
  page(rows: object[]): string
  /** Text for the end of the list. A list that fails has none. */
  end(): string
}

type OpenWriter = (columns: Column<never>[], io: Pick<Io, 'style' | 'width'>) => Promise<ListWriter>

const writers: Record<Format, OpenWriter> = {
  table: tableWriter,
  json: async () => jsonWriter(),
  ndjson: async () => ({ page: (rows) => rows.map((row) => `${toJson(row)}\n`).join(''), end: () => '' }),
}

export function listWriter(format: Format, ...of: Parameters<OpenWriter>): Promise<ListWriter> {
  return writers[format]!(...of)
}

async function tableWriter(...[columns, io]: Parameters<OpenWriter>): Promise<ListWriter> {
  // Loaded late: the table of character widths is slow to load, and JSON does not need it.
  const { createTable } = await import('./table.ts')
  const table = createTable(io.width)
  let heading: string[][] = [columns.map(titleOfColumn)]
  return {
    page(rows) {
      const titles = heading.length
      const lines = table.lines([...heading, ...rows.map((row) => cellsOf(row, columns))], (text, row) =>
        row < titles ? io.style('bold', text) : text,
      )
      heading = []
      return lines.map((line) => `${line}\n`).join('')
    },
    end: () => '',
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
