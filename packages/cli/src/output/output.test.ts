import { expect, test } from 'vitest'
import { escapeControls, toJson } from '../text/escape-controls.ts'
import { cell } from './cells.ts'
import { dotenvValue } from './output.ts'

test('a cell is one line, whatever the member is', () => {
  expect([null, undefined, true, false, [], ['a', 'b\n'], [{ a: 1 }], { a: 1 }, 3, 'x\ty'].map(cell)).toEqual([
    ...['-', '-', 'yes', 'no', '-', 'a, b\\u000a', '{"a":1}', '{"a":1}', '3', 'x\\u0009y'],
  ])
})

test('JSON says the same with its controls escaped', () => {
  const value = { 'k\u009b': 'a\u001b[31m\u0085\u2028\u202e\u{e0041}ü\ud800"\\n\n' }
  const text = toJson(value, 2)
  expect(JSON.parse(text)).toEqual(value)
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Cs}]/u)
  expect(escapeControls('ü 漢 é')).toBe('ü 漢 é')
  expect(escapeControls('👩‍💻 👩🏽‍🚀 a\u200db 👩\u200dx \u200d💻')).toBe('👩‍💻 👩🏽‍🚀 a\\u200db 👩\\u200dx \\u200d💻')
})

test('a value in a .env file is quoted when it must be', () => {
  expect(['http://127.0.0.1:4000', 'a b', 'a"$`\\', 'a\nb'].map(dotenvValue)).toEqual([
    'http://127.0.0.1:4000',
    '"a b"',
    '"a\\"\\$\\`\\\\"',
    '"a\\nb"',
  ])
})
