// The results of the benches. A bench passes each figure to `record`. `npm run bench` collects the figures, compares them with
// their bounds and saves them in docs/reference/performance.json.
//
//   record({ what: 'refresh, SQLite', beside: 'oidc-provider', ours: 0.31, peer: 0.74, unit: 'ms CPU', better: 'lower', bound: 0.6 })
//   record({ what: 'login, 1,000,000 users', beside: '1,000 users', ours: 2.1, peer: 2.0, ratio: 1.04, unit: 'ms', better: 'lower', bound: 1.1 })
//   record({ what: 'memory after 10,000 logins', ours: 131, unit: 'MB', better: 'lower', bound: 150 })
import { appendFileSync, readFileSync } from 'node:fs'

export interface Figure {
  /** What was measured, and under which conditions. */
  what: string
  /** What it is compared with: a peer, or the same thing elsewhere. Without it the bound is in `unit`. */
  beside?: string
  ours: number
  peer?: number
  unit: string
  /** `ours / peer` by default. If rounds are paired, pass the median of their ratios. */
  ratio?: number
  /** The upper bound (with `better: 'higher'` the lower bound) of the ratio, or of `ours` without a peer. */
  bound?: number
  better: 'lower' | 'higher'
}

/** The figures of one bench, and when and where they were measured. */
export interface Run {
  at: string
  commit: string
  node: string
  machine: string
  /** Load average of the last minute, before and after the bench. */
  load: [before: number, after: number]
  figures: Figure[]
}

/** The last run of each bench, by its name. */
export type Runs = Record<string, Run>

/** The environment variable with the file in which `npm run bench` collects figures. Without it a bench only prints them. */
export const collectVariable = 'BENCH_FIGURES'

export function record(figure: Figure): void {
  const { ours, peer, beside } = figure
  if ((peer === undefined) !== (beside === undefined)) throw new Error(`${figure.what}: a peer needs a name and a figure`)
  const complete = peer === undefined ? figure : { ...figure, ratio: figure.ratio ?? ours / peer }
  if (!Number.isFinite(decisive(complete))) throw new Error(`${figure.what}: no figure`)
  console.log(`  ${describe(complete)}`)
  const file = process.env[collectVariable]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(complete)}\n`)
}

export function readFigures(file: string): Figure[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Figure]))
}

export function runHeading({ at, commit, node, machine, load }: Run): string {
  return `${at}, commit ${commit}, Node ${node}, ${machine}, load ${load[0]} before and ${load[1]} after`
}

/** The value that the bound applies to. */
function decisive({ ratio, ours }: Figure): number {
  return ratio ?? ours
}

/** At most 1 if the bound is met; undefined if there is no bound. */
export function shareOfBound(figure: Figure): number | undefined {
  if (figure.bound === undefined) return undefined
  return figure.better === 'lower' ? decisive(figure) / figure.bound : figure.bound / decisive(figure)
}

export function isMissed(figure: Figure): boolean {
  return (shareOfBound(figure) ?? 0) > 1
}

/** `refresh, SQLite: 0.310 / 0.740 ms CPU, 0.419x oidc-provider (bound ≤ 0.6x)` */
function describe(figure: Figure): string {
  const held = figure.beside === undefined ? '' : `, ${showValue(figure)} ${figure.beside}`
  const bound = figure.bound === undefined ? '' : ` (bound ${showBound(figure)}${isMissed(figure) ? ', MISSED' : ''})`
  return `${figure.what}: ${showMeasured(figure)}${held}${bound}`
}

export function showValue(figure: Figure): string {
  return `${digits(decisive(figure))}${unitOfBound(figure)}`
}

export function showBound(figure: Figure): string {
  if (figure.bound === undefined) return '–'
  return `${figure.better === 'lower' ? '≤' : '≥'} ${figure.bound}${unitOfBound(figure)}`
}

function showMeasured({ ours, peer, unit }: Figure): string {
  return `${digits(ours)}${peer === undefined ? '' : ` / ${digits(peer)}`} ${unit}`
}

function unitOfBound({ ratio, unit }: Figure): string {
  return ratio === undefined ? ` ${unit}` : 'x'
}

/** Shows three significant digits, because a ratio of 0.0904 misses a bound of 0.09 and must look like it. */
function digits(value: number): string {
  return value >= 1_000 ? String(Math.round(value)) : value.toPrecision(value >= 100 ? 4 : 3)
}

/** A Markdown table, both for the terminal and for the docs. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const met = figure.bound === undefined ? '–' : isMissed(figure) ? '**no**' : 'yes'
    const ratio = figure.ratio === undefined ? '–' : showValue(figure)
    return [figure.what, figure.beside ?? '–', showMeasured(figure), ratio, showBound(figure), met]
  })
  const lines = [['What', 'Beside', 'Measured', 'Ratio', 'Bound', 'Met'], Array.from({ length: 6 }, () => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}
