import { usageFailure } from '../command-line/exit-codes.ts'
import type { Format } from '../command-line/settings.ts'
import { type Column, isWide, nameOfColumn } from './cells.ts'

/** The formats that show a list in columns. */
const columnFormats: readonly Format[] = ['table', 'wide', 'csv']

/** The columns to show: those that `--columns` names, in its order, or those of the format. Throws `usage` for an unknown one. */
export function shownColumns<C extends Column<never>>(columns: readonly C[], format: Format, chosen: string | undefined): C[] {
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
