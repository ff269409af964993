import { type Column, cellsOf, titleOfColumn } from './cells.ts'
import { toJson } from './escape-controls.ts'
import type { Io } from './io.ts'
import type { Format } from './settings.ts'
import { createTable } from './table.ts'

/** Turns the pages of a list into text as they come. It keeps no row. */
export interface ListWriter {
  /** Text for the rows of one page, which is never empty. */
  page(rows: object[]): string
  /** Text for the end of the list. A list that fails on its way has none. */
  end(): string
}

const writers: Record<Format, (columns: Column<never>[], io: Pick<Io, 'style' | 'width'>) => ListWriter> = {
  table: tableWriter,
  json: jsonWriter,
  ndjson: () => ({ page: (rows) => rows.map((row) => `${toJson(row)}\n`).join(''), end: () => '' }),
}

export function listWriter(format: Format, columns: Column<never>[], io: Pick<Io, 'style' | 'width'>): ListWriter {
  return writers[format]!(columns, io)
}

function tableWriter(columns: Column<never>[], io: Pick<Io, 'style' | 'width'>): ListWriter {
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
