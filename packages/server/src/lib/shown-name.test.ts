import { expect, test } from 'vitest'
import { shownAddress, shownName } from './shown-name.ts'

test.each([
  ['Acme Inc.', 'Acme Inc.'],
  ['  Zoë \t Äcme  ', 'Zoë Äcme'],
  ['Mozilla/5.0 (X11; Linux) Chrome/140.0.0.0', 'Mozilla/5.0 (X11; Linux) Chrome/140.0.0.0'],
  ['商店', '商店'],
])('%s stays readable', (raw, shown) => {
  expect(shownName(raw)).toBe(shown)
})

test.each([
  ['https://evil.example/x', 'https: //evil. example/x'],
  ['Win at evil.example now', 'Win at evil. example now'],
  ['EVIL．EXAMPLE', 'EVIL. EXAMPLE'],
  ['evil。example', 'evil。 example'],
  ['me@evil.example', 'me@ evil. example'],
  ['ev\u200bil.ex\u00adample', 'evil. example'],
  ['=?utf-8?q?evil=2Eexample?=', '= ?utf-8?q?evil=2Eexample?='],
])('%j is neither a link to a mail program nor a word to decode', (raw, shown) => {
  expect(shownName(raw)).toBe(shown)
})

test('line breaks, control and bidirectional characters do not survive', () => {
  expect(shownName('Acme\r\nBcc: victim\0\u202etxt.exe\u2028x')).toBe('Acme Bcc: victimtxt. exe x')
})

test('a long name is cut between characters', () => {
  expect(shownName('😀'.repeat(100))).toBe(`${'😀'.repeat(80)}...`)
})

test.each([
  ['user00001@corp.test', 'user00001@corp.test'],
  ['first.last+tag@mail.corp.test', 'first.last+tag@mail.corp.test'],
  ['https://evil.example/x@corp.test', 'https: //evil. example/x@ corp. test'],
  ['商店@corp.test', '商店@ corp. test'],
])('the address %s is shown as %s', (email, shown) => {
  expect(shownAddress(email)).toBe(shown)
})
