import { expect, test } from 'vitest'
import { escapeControls, toJson } from '../text/escape-controls.ts'
import { cell, titleOf } from './cells.ts'
import { dotenvLine } from './render.ts'

test('a cell is one line for every type of value', () => {
  expect([null, undefined, true, false, [], ['a', 'b\n'], [{ a: 1 }], { a: 1 }, 3, 'x\ty'].map(cell)).toEqual([
    ...['-', '-', 'yes', 'no', '-', 'a, b\\u000a', '(a: 1)', 'a: 1', '3', 'x\\u0009y'],
  ])
})

test('a nested value is written for people, with "pool" for namespace', () => {
  expect(cell({ registration_namespace: 'staff', read_namespaces: ['a', 'b'], organization: { id: '1', roles: [] } })).toBe(
    'registration pool: staff; read pools: a, b; organization: (id: 1; roles: -)',
  )
  expect(cell([{ name: 'crm\u001b', enabled: true }, { name: 'x' }])).toBe('(name: crm\\u001b; enabled: yes), (name: x)')
  expect([cell({}), titleOf('namespaces'), titleOf('registration_namespace')]).toEqual(['-', 'POOLS', 'REGISTRATION POOL'])
})

test('JSON output keeps the value and escapes its control characters', () => {
  const value = { 'k\u009b': 'a\u001b[31m\u0085\u2028\u202e\u{e0041}ü\ud800"\\n\n' }
  const text = toJson(value, 2)
  expect(JSON.parse(text)).toEqual(value)
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Cs}]/u)
  expect(escapeControls('ü 漢 é')).toBe('ü 漢 é')
  expect(escapeControls('👩‍💻 👩🏽‍🚀 a\u200db 👩\u200dx \u200d💻')).toBe('👩‍💻 👩🏽‍🚀 a\\u200db 👩\\u200dx \\u200d💻')
})

test('a value in a .env file stands without quotes, or is refused', () => {
  expect(['http://127.0.0.1:4000', 'kF3+/a==', 'a b, c'].map((value) => dotenvLine('X', value))).toEqual([
    'X=http://127.0.0.1:4000',
    'X=kF3+/a==',
    'X=a b, c',
  ])
  for (const value of ['a #b', 'a#b', '"a"', "a'", 'a$b', 'a`', 'a\\', 'a\nb', ' a'])
    expect(() => dotenvLine('X', value)).toThrow('X has characters that programs read differently in a .env file')
})
