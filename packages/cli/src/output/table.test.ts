import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { createTable, cut } from './table.ts'

const id = '0f8fad5b-d9cb-469f-a165-70867728950e'

test('columns are aligned in every script', () => {
  const lines = createTable({ width: Number.POSITIVE_INFINITY }).lines([
    ['NAME', 'STATUS'],
    ['漢字', 'active'],
    ['e\u0301te\u0301', 'active'],
    ['👍🏽 ok', 'active'],
    ['한글', 'active'],
  ])
  expect(lines).toEqual(['NAME   STATUS', '漢字   active', 'e\u0301te\u0301    active', '👍🏽 ok  active', '한글   active'])
})

test('a cut cell ends with an ellipsis, fits its column, and splits no character', () => {
  expect(cut('short', 5)).toBe('short')
  expect(cut('shorter', 5)).toBe('shor…')
  expect(cut('漢字漢字', 4)).toBe('漢…')
  expect(cut('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…')
  expect(cut('👍🏽👍🏽', 3)).toBe('👍🏽…')
  expect(cut('anything', 1)).toBe('…')
})

test('no line is wider than the terminal, and the widest columns shrink first', () => {
  const lines = createTable({ width: 40 }).lines([
    ['STATUS', 'NOTE', 'TEXT'],
    ['active', 'n'.repeat(100), 't'.repeat(20)],
  ])
  expect(lines).toEqual(['STATUS  NOTE             TEXT', `active  ${'n'.repeat(14)}…  ${'t'.repeat(14)}…`])
})

test('an identifier stays whole as long as the text beside it can be read', () => {
  const row = ['u'.repeat(60), id]
  expect(createTable({ width: 80 }).lines([row])).toEqual([`${'u'.repeat(41)}…  ${id}`])
  expect(
    createTable({ width: 40 })
      .lines([row])
      .map((line) => stringWidth(line)),
  ).toEqual([40])
})

test('the first page sizes the columns, and a later one widens them only into the rest of the line', () => {
  const table = createTable({ width: 30 })
  expect(
    table.lines([
      ['USER', 'AT'],
      ['ada', '-'],
    ]),
  ).toEqual(['USER  AT', 'ada   -'])
  expect(table.lines([['bob', '2026-12-31']])).toEqual(['bob   2026-12-31'])
  expect(table.lines([['c'.repeat(50), '2026-12-31']])).toEqual([`${'c'.repeat(17)}…  2026-12-31`])
  expect(table.lines([['ada', '-']])).toEqual([`ada${' '.repeat(17)}-`])
})

test('columns without room are left out from the last, unless the user chose them', () => {
  const rows = [
    ['AT', 'EVENT', 'USER', 'APP'],
    ['5m ago', 'login.failed', 'somebody@example.com', 'shop'],
  ]
  const table = createTable({ width: 39 })
  expect(table.lines(rows)).toEqual(['AT      EVENT         USER', '5m ago  login.failed  somebody@example…'])
  expect(table.leftOut).toBe(1)
  expect(table.lines([['1m ago', 'user.unlocked', 'ada', 'shop']])).toEqual(['1m ago  user.unlock…  ada'])
  const chosen = createTable({ width: 39, showsAll: true })
  expect(chosen.lines(rows)[1]).toBe('5m ago  login.fail…  somebody@ex…  shop')
  expect(chosen.leftOut).toBe(0)
  expect(createTable({ width: 5 }).lines(rows)).toEqual(['AT', '5m a…'])
})

test('one identifier among names does not make the column one of identifiers', () => {
  const rows = [
    ['ada', id],
    [id, id],
    ['bob', id],
  ]
  expect(createTable({ width: 60 }).lines(rows)[1]).toBe(`${id.slice(0, 21)}…  ${id}`)
})
