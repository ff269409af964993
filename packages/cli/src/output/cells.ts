import { escapeControls } from '../text/escape-controls.ts'
import { isMoment, relativeTime } from '../text/relative-time.ts'

/**
 * A column is a member of the row, or a title and a function for its cells. A table leaves out `wide` columns unless the user
 * asks for them: only machines and investigations need those. It leaves out an `id` too, unless the next command needs it
 * (`needed`).
 */
export type Column<Row> = (keyof Row & string) | [title: string, cell: (row: Row) => unknown, shown?: 'wide' | 'needed']

/** The name of a column for `--columns`: `granted_by`. */
export function nameOfColumn(column: Column<never>): string {
  return (typeof column === 'string' ? column : column[0]).replaceAll(' ', '_')
}

export function isWide(column: Column<never>): boolean {
  const shown = typeof column === 'string' ? undefined : column[2]
  return shown === undefined ? nameOfColumn(column) === 'id' : shown === 'wide'
}

export function titleOfColumn(column: Column<never>): string {
  return titleOf(nameOfColumn(column))
}

export function titleOf(name: string): string {
  return wordsOf(name).toUpperCase()
}

export function memberOf(row: object, column: Column<never>): unknown {
  return typeof column === 'string' ? Reflect.get(row, column) : column[1](row as never)
}

/** With `now`, moments are shown relative to it. */
export function cellsOf(row: object, columns: readonly Column<never>[], now?: number): string[] {
  return columns.map((column) => {
    const value = memberOf(row, column)
    return now !== undefined && isMoment(value) ? relativeTime(value, now) : cell(value)
  })
}

/** The name of a member in the words that people use: the API says namespace for a pool. */
function wordsOf(name: string): string {
  return escapeControls(name).replaceAll('namespace', 'pool').replaceAll('_', ' ')
}

/** Formats a member as a cell of a table, on one line. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(nestedCell).join(', ')
  if (typeof value !== 'object') return escapeControls(String(value))
  const members = Object.entries(value).map(([name, member]) => `${wordsOf(name)}: ${nestedCell(member)}`)
  return members.length === 0 ? '-' : members.join('; ')
}

function nestedCell(value: unknown): string {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isRecord ? `(${cell(value)})` : cell(value)
}
