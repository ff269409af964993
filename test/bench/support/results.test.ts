import { describe, expect, it } from 'vitest'
import { type Figure, isMissed, shareOfBound, showBound, showValue, tableOf } from './results.ts'

const paired: Figure = {
  what: 'refresh',
  beside: 'a peer',
  ours: 3,
  peer: 4,
  ratio: 0.75,
  unit: 'ms',
  better: 'lower',
  bound: 0.6,
}
const more: Figure = {
  what: 'login',
  beside: 'a peer',
  ours: 30,
  peer: 10,
  ratio: 3,
  unit: 'a second',
  better: 'higher',
  bound: 2,
}
const alone: Figure = { what: 'memory', ours: 75, unit: 'MB', better: 'lower', bound: 150 }
const free: Figure = { what: 'only told', ours: 1, unit: 'ms', better: 'lower' }

describe('a figure beside its bound', () => {
  it('a figure misses an upper bound if it is above it, and a lower bound if it is below it', () => {
    expect([paired, more, alone, free].map(isMissed)).toEqual([true, false, false, false])
    expect(isMissed({ ...more, ratio: 1.9 })).toBe(true)
    expect(isMissed({ ...paired, ratio: 0.6 })).toBe(false)
  })

  it('the share of the bound that a figure uses is at most 1 if the bound is met', () => {
    expect([paired, more, alone, free].map(shareOfBound)).toEqual([1.25, 2 / 3, 0.5, undefined])
  })

  it('a figure and its bound are shown as ratios if there is a peer, and in the unit otherwise', () => {
    expect([paired, more, alone].map((figure) => `${showValue(figure)} ${showBound(figure)}`)).toEqual([
      '0.750x ≤ 0.6x',
      '3.00x ≥ 2x',
      '75.0 MB ≤ 150 MB',
    ])
  })

  it('a figure that misses its bound by little is shown with enough digits to differ from it', () => {
    expect(showValue({ ...paired, ratio: 0.0904, bound: 0.09 })).toBe('0.0904x')
  })

  it('each figure is one row of the table, and a pipe in its name is escaped', () => {
    const rows = tableOf([paired, alone, free, { ...free, what: 'a | b' }]).split('\n')
    expect(rows.slice(2)).toEqual([
      '| refresh | a peer | 3.00 / 4.00 ms | 0.750x | ≤ 0.6x | **no** |',
      '| memory | – | 75.0 MB | – | ≤ 150 MB | yes |',
      '| only told | – | 1.00 ms | – | – | – |',
      '| a \\| b | – | 1.00 ms | – | – | – |',
    ])
  })
})
