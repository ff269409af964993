import { escapeControls, toJson } from '../text/escape-controls.ts'

/** A column is a member of the row, or a title and what stands under it. */
export type Column<Row> = (keyof Row & string) | [title: string, cell: (row: Row) => unknown]

export function titleOfColumn(column: Column<never>): string {
  return titleOf(typeof column === 'string' ? column : column[0])
}

export function titleOf(name: string): string {
  return escapeControls(name).replaceAll('_', ' ').toUpperCase()
}

export function cellsOf(row: object, columns: Column<never>[]): string[] {
  return columns.map((column) =>
    cell(typeof column === 'string' ? (row as Record<string, unknown>)[column] : column[1](row as never)),
  )
}

/** A member as a cell of a table, on one line. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) {
    const entries: unknown[] = value
    if (entries.length === 0) return '-'
    return entries.map((entry) => (typeof entry === 'object' ? toJson(entry) : escapeControls(String(entry)))).join(', ')
  }
  if (typeof value === 'object') return toJson(value)
  return escapeControls(String(value))
}
