import type { Figure, Runs } from '../../test/bench/support/results.ts'
import { margin, rect, round, svg, text, texts, width } from './svg.ts'

/** The five figures that a buyer asks for, each from the run that measured it beside a peer. */
const chosen = [
  {
    bench: 'verify',
    what: 'SDK verify',
    beside: 'jsonwebtoken, KeyObject',
    label: 'Tokens checked by a backend',
    peer: 'jsonwebtoken',
  },
  {
    bench: 'sessions',
    what: 'login, postgres',
    beside: 'better-auth, native',
    label: 'Sign-ins by password',
    peer: 'Better Auth, native bcrypt',
  },
  {
    bench: 'sessions',
    what: 'register, postgres',
    beside: 'better-auth, native',
    label: 'Registrations',
    peer: 'Better Auth, native bcrypt',
  },
  { bench: 'sessions', what: 'refresh, postgres', beside: 'better-auth', label: 'Refreshes of a session', peer: 'Better Auth' },
  {
    bench: 'silent-entry',
    what: 'authorize and exchange by silent entry, sqlite',
    beside: 'oidc-provider',
    label: 'Sign-ins without a page',
    peer: 'oidc-provider',
  },
]

export interface Bar {
  label: string
  peer: string
  /** How many times as much the same processor does. */
  times: number
  figure: Figure
  measuredAt: string
}

/** Throws if a bench no longer measures one of the five. */
export function fiveBars(runs: Runs): Bar[] {
  return chosen.map(({ bench, what, beside, label, peer }) => {
    const run = runs[bench]
    const figure = run?.figures.find((each) => each.what === what && each.beside === beside)
    if (!run || figure?.ratio === undefined) throw new Error(`${bench}: no figure "${what}" beside ${beside}`)
    const times = figure.better === 'lower' ? 1 / figure.ratio : figure.ratio
    return { label, peer, times, figure, measuredAt: run.at }
  })
}

const left = margin
const rowHeight = 56
const head = 66

/** Draws how much more the same processor does than with each peer: the peer is 1. */
export function drawFiveBars(runs: Runs): string {
  const bars = fiveBars(runs)
  const most = Math.ceil(Math.max(...bars.map(({ times }) => times)))
  const end = (times: number) => left + (times / most) * (width - left - margin - 50)
  const label = `How much more the same processor does: ${bars.map(({ label, peer, times }) => `${label}: ${said(times)} ${peer}`).join('. ')}`
  const height = head + bars.length * rowHeight + 8
  return svg({ label, height }, [
    ...texts({ x: margin, y: 25, className: 'title' }, ['How much more the same processor does']),
    text({ x: margin, y: 45, className: 'quiet' }, 'than the peer, which is the gray line at 1'),
    ...bars.flatMap(({ label, peer, times }, index) => {
      const y = head + index * rowHeight
      return [
        text({ x: left, y: y + 12, className: 'head' }, label),
        text({ x: width - margin, y: y + 12, anchor: 'end', className: 'quiet' }, `next to ${peer}`),
        rect({ x: left, y: y + 20, width: round(end(times) - left), height: 18 }, 'bar-new', 2),
        text({ x: end(times) + 8, y: y + 34, className: 'head' }, said(times)),
        `<path class="rail one" d="M${round(end(1))} ${y + 17} L${round(end(1))} ${y + 41}"/>`,
      ]
    }),
  ])
}

function said(times: number): string {
  return `${times.toFixed(1)}×`
}

/** The same figures as a table, with what was measured. */
export function fiveBarsTable(runs: Runs): string {
  const rows = fiveBars(runs).map(({ label, peer, times, figure, measuredAt }) => {
    const { ours, peer: theirs = 0, unit } = figure
    return [label, peer, `${shown(ours)} ${unit}`, `${shown(theirs)} ${unit}`, said(times), measuredAt]
  })
  const table = [['What', 'Next to', 'Gatehouse', 'Peer', 'Ratio', 'Measured'], Array.from({ length: 6 }, () => '---'), ...rows]
  return table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function shown(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toPrecision(2)
}
