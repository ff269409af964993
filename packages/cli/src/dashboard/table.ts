import { type Column, cell, memberOf, nameOfColumn } from '../output/cells.ts'
import { stateStyle } from '../output/state-style.ts'
import { type Html, type HtmlPart, html } from '../text/html.ts'
import { isMoment } from '../text/relative-time.ts'

/** A column as in lists, with an optional link for its cells. */
export type LinkedColumn<Row> = [title: string, cell: (row: Row) => unknown, href?: (row: Row) => string | undefined]

/** A table that scrolls sideways if it is wider than the window. */
export function dataTable<Row extends object>(rows: readonly Row[], columns: readonly LinkedColumn<Row>[], about: string): Html {
  const head = columns.map(([title]) => html`<th scope="col">${titleOf(title)}</th>`)
  const body = rows.map((row) => html`<tr>${columns.map((column) => html`<td>${cellOf(row, column)}</td>`)}</tr>\n`)
  return html`<div class="scroll" role="region" aria-label="${about}" tabindex="0"><table>
<thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`
}

/** The columns of a list on the terminal, without the id and the `wide` ones. */
export function plainColumns<Row extends object>(columns: readonly Column<Row>[]): LinkedColumn<Row>[] {
  return columns
    .filter((column) => column !== 'id' && (typeof column === 'string' || column[2] !== 'wide'))
    .map((column) => [nameOfColumn(column as Column<never>), (row) => memberOf(row, column as Column<never>)])
}

function cellOf<Row>(row: Row, [title, read, href]: LinkedColumn<Row>): HtmlPart {
  const value = read(row)
  if (isMoment(value)) return moment(value)
  const text = cell(value)
  const target = href?.(row)
  if (target !== undefined) return html`<a href="${target}">${text}</a>`
  const state = stateStyle(title, text)
  return state === undefined ? text : html`<span class="${{ green: 'good', yellow: 'warn', red: 'fault' }[state]}">${text}</span>`
}

export function moment(iso: string): Html {
  return html`<time class="time" datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`
}

function titleOf(name: string): string {
  const words = name === 'ip' ? 'address' : name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
