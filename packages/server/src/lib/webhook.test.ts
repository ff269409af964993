import { expect, test } from 'vitest'
import { parseRetryAfter, plainChatEmail, plainChatText } from './webhook.ts'

test.each([
  ['Ada Lovelace', 'Ada Lovelace'],
  ["Zoë O'Brien-Nuñez, 李小龍", "Zoë O'Brien-Nuñez, 李小龍"],
  ['<!channel> <!here>', '‹!channel› ‹!here›'],
  ['<@U012AB3CD> <users/all>', '‹＠U012AB3CD› ‹users／all›'],
  ['@everyone and @here', '＠everyone and ＠here'],
  ['<https://evil.example|click>', '‹https：／／evil․example｜click›'],
  ['[click](https://evil.example)', '［click］（https：／／evil․example）'],
  ['www.evil.example', 'www․evil․example'],
  ['*bold* _it_ ~gone~ `code` **b** __u__ ||s||', '＊bold＊ ＿it＿ ～gone～ ˋcodeˋ ＊＊b＊＊ ＿＿u＿＿ ｜｜s｜｜'],
  ['&lt;!channel&gt;', '＆lt;!channel＆gt;'],
  [':tada: \\o/', '：tada： ＼o／'],
  ['two\nlines\r\nand\u2028more', 'two lines and more'],
  ['\u202eevil\u202c a\u200bb \ufeffc', 'evil a b c'],
  ['> quoted', '› quoted'],
  ['# heading', '＃ heading'],
  ['\u0000\u0007', ''],
])('the name %j becomes %j', (text, plain) => {
  expect(plainChatText(text)).toBe(plain)
})

test.each([
  ['ada_k.lovelace+news@mail.example.com', 'ada_k.lovelace+news@mail.example.com'],
  ['ada@here.example', 'ada＠here.example'],
  ['x@everyone.example', 'x＠everyone.example'],
  ['_ada_@example.com', '＿ada＿@example.com'],
  ['a*b`c|d~e/f#g@example.com', 'a＊bˋc｜d～e／f＃g@example.com'],
  ['a__b@example.com', 'a＿＿b@example.com'],
])('the address %s becomes %s', (email, plain) => {
  expect(plainChatEmail(email)).toBe(plain)
})

const now = Date.parse('2026-01-31T12:00:00Z')

test.each<[string | undefined, number | undefined]>([
  ['0', 0],
  ['30', 30_000],
  [' 30 ', 30_000],
  ['86400', 86_400_000],
  ['Sat, 31 Jan 2026 12:00:20 GMT', 20_000],
  ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['99999999999', undefined],
  ['2026-01-31T12:00:20Z', undefined],
  ['Sat, 99 Jan 2026 12:00:20 GMT', undefined],
])('Retry-After: %s is read as %s ms', (header, ms) => {
  expect(parseRetryAfter(header, now)).toBe(ms)
})
