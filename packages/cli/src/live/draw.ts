import { type AuditEvent, auditColumns } from '../nouns/audit-events.ts'
import { loginTotals, type Stats } from '../nouns/stats.ts'
import { type Column, cellsOf, titleOfColumn } from '../output/cells.ts'
import { createTable, cut } from '../output/table.ts'
import { escapeControls } from '../text/escape-controls.ts'
import { type Section, sections, type Trail } from './sections.ts'
import { sparkline } from './sparkline.ts'

/** Where the user is: on the overview, in the list of a section, or in the audit events behind one of its rows. */
export type Place = { selected: number } & (
  | { kind: 'overview' }
  | { kind: 'list'; section: Section }
  | { kind: 'trail'; trail: Trail }
)

export interface Seen {
  /** Which service: `in production (https://auth.example.com)`. */
  where: string
  stats: Stats
  /** The events of a trail. Undefined until they are read. */
  events: readonly AuditEvent[] | undefined
  /** Why the last refresh failed. Undefined if it did not. */
  trouble: string | undefined
}

export interface Line {
  text: string
  style?: 'bold' | 'dim' | 'yellow' | 'red' | 'green'
}

export interface Room {
  width: number
  height: number
}

/** How many rows the user can choose from. */
export function choices(place: Place, { stats, events }: Seen): number {
  if (place.kind === 'overview') return sections.length
  return place.kind === 'list' ? place.section.rows(stats).length : (events?.length ?? 0)
}

/** Renders the lines of the screen. They fit its width and height, and hold no control characters. */
export function draw(place: Place, seen: Seen, { width, height }: Room): Line[] {
  const { stats, trouble, where } = seen
  const head: Line[] = [
    { text: `authctl top ${where}`, style: 'bold' },
    trouble === undefined
      ? { text: `${clockOf(stats.at)}, every 2 s`, style: 'dim' }
      : { text: `as of ${clockOf(stats.at)}: ${trouble}`, style: 'red' },
    { text: '' },
  ]
  const foot: Line[] = [{ text: '' }, { text: keysOf(place, choices(place, seen)), style: 'dim' }]
  const room = { width, height: height - head.length - foot.length }
  const body = place.kind === 'overview' ? overview(place.selected, stats, room) : listing(place, seen, room)
  return [...head, ...body.slice(0, Math.max(1, room.height)), ...foot].map(({ text, style }) => ({
    text: cut(escapeControls(text), width),
    ...(style && { style }),
  }))
}

function keysOf(place: Place, count: number): string {
  const choosing = count > 0 && (place.kind !== 'trail' || count > 1) ? '↑↓ choose  ' : ''
  if (place.kind === 'overview') return `${choosing}Enter opens  q quits`
  return `${choosing}${place.kind === 'list' && count > 0 ? 'Enter opens  ' : ''}Esc back  q quits`
}

const clockOf = (moment: string) => `${moment.slice(11, 19)}Z`

const labelWidth = 10

function overview(selected: number, stats: Stats, room: Room): Line[] {
  const now = Date.parse(stats.at)
  const { succeeded, failed } = loginTotals(stats)
  const graph = (label: string, of: 'succeeded' | 'failed') => {
    const bars = sparkline(
      stats.logins.steps.map((step) => step[of]),
      room.width - labelWidth - 3,
    )
    return `  ${label.padEnd(labelWidth)} ${bars}`.trimEnd()
  }
  return [
    {
      text: `  Logins since ${clockOf(stats.logins.counted_since)}${isCut(stats) ? `, too many to count since ${clockOf(stats.logins.since)}` : ''}`,
    },
    { text: graph('succeeded', 'succeeded'), style: succeeded > 0 ? 'green' : 'dim' },
    { text: graph('failed', 'failed'), style: failed > 0 ? 'red' : 'dim' },
    { text: '' },
    ...sections.map((section, index): Line => {
      const text = `${marker(index === selected)}${section.name.padEnd(labelWidth)} ${section.summarize(stats, now)}`
      if (index === selected) return { text, style: 'bold' }
      return section.isAlarming(stats) ? { text, style: 'yellow' } : { text }
    }),
  ]
}

function isCut({ logins }: Stats): boolean {
  return logins.counted_since !== logins.since
}

const marker = (isSelected: boolean) => (isSelected ? '> ' : '  ')

function listing(place: Exclude<Place, { kind: 'overview' }>, { stats, events }: Seen, room: Room): Line[] {
  const title: Line[] = [
    { text: `  ${place.kind === 'list' ? place.section.name : place.trail.title}`, style: 'bold' },
    { text: '' },
  ]
  const left = { ...room, height: room.height - title.length }
  if (place.kind === 'trail') {
    if (events === undefined) return [...title, { text: '  …', style: 'dim' }]
    return [...title, ...tableOf(events, auditColumns, 'no events', place.selected, stats, left)]
  }
  const { columns, none } = place.section
  return [...title, ...tableOf(place.section.rows(stats), columns, none, place.selected, stats, left)]
}

function tableOf(
  rows: readonly object[],
  columns: readonly Column<never>[],
  none: string,
  selected: number,
  { at }: Stats,
  { width, height }: Room,
): Line[] {
  if (rows.length === 0) return [{ text: `  ${none}`, style: 'dim' }]
  const now = Date.parse(at)
  const shown = columns.filter((column) => typeof column === 'string' || column[2] !== 'wide').filter((column) => column !== 'id')
  const cells = [shown.map(titleOfColumn), ...rows.map((row) => cellsOf(row, shown, now))]
  const [head = '', ...lines] = createTable({ width: width - 2 }).lines(cells)
  const most = Math.max(1, height - 1)
  // Keeps the selected row visible.
  const from = Math.max(0, Math.min(selected - most + 1, lines.length - most))
  const inWindow = lines.slice(from, from + most).map((text, index): Line => {
    const isSelected = from + index === selected
    return { text: marker(isSelected) + text, ...(isSelected && { style: 'bold' }) }
  })
  return [{ text: `  ${head}`, style: 'dim' }, ...inWindow]
}
