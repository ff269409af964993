import { expect, test, vi } from 'vitest'
import { show } from './show.ts'
import { createWarn } from './write-warnings.ts'

test('a cause is logged once and then counted each minute', () => {
  let now = 0
  const lines: string[] = []
  const warn = createWarn({ warn: (line) => lines.push(line) }, () => now)
  warn('TOKEN_EXPIRED', 'first')
  warn('TOKEN_ALG', 'other')
  for (now = 1_000; now < 60_000; now += 1_000) warn('TOKEN_EXPIRED', 'again')
  expect(lines).toEqual(['gatehouse: first', 'gatehouse: other'])
  now = 61_000
  warn('TOKEN_EXPIRED', 'again')
  warn('TOKEN_EXPIRED', 'again')
  expect(lines.slice(2)).toEqual(['gatehouse: TOKEN_EXPIRED: 60 more in 61 s'])
  now = 121_000
  warn('TOKEN_EXPIRED', 'again')
  expect(lines.slice(3)).toEqual(['gatehouse: TOKEN_EXPIRED: 2 more in 60 s'])
})

test('the default logger is console.warn, looked up at each line', () => {
  const warn = createWarn(console, Date.now)
  const spy = vi.spyOn(console, 'warn').mockReturnValue()
  warn('a', 'line')
  expect(spy.mock.calls).toEqual([['gatehouse: line']])
  spy.mockRestore()
})

test('a logger that throws and endless causes do no harm', () => {
  let calls = 0
  const warn = createWarn(
    {
      warn() {
        calls += 1
        throw new Error('disk full')
      },
    },
    Date.now,
  )
  for (let i = 0; i < 1_000; i += 1) warn(`cause ${i}`, 'line')
  expect(calls).toBe(100)
})

test('no value can end its line, begin another or move the cursor of a terminal', () => {
  const lines: string[] = []
  createWarn({ warn: (line) => lines.push(line) }, Date.now)('a', `one\ntwo\u001b[2J${show('x\r\n\u0085\u202e"\u{1f600}')}`)
  expect(lines).toEqual(['gatehouse: one\\u000atwo\\u001b[2J"x\\r\\n\\u0085\\u202e\\"\\ud83d\\ude00"'])
  expect(show('x'.repeat(500))).toHaveLength(102)
  expect([show(undefined), show(null), show(['a']), show({}), show(7), show('')]).toEqual([
    'undefined',
    'null',
    'a list',
    'object',
    'number',
    'an empty string',
  ])
})
