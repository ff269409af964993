import { expect, test } from 'vitest'
import { contrast, isVisibleAccent, nearestAccent, shownAddress, shownName, textOn } from './brand.ts'

test('contrast is computed as WCAG defines it', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
  expect(contrast('#123456', '#123456')).toBe(1)
})

test('text on a color is black or white, whichever contrasts more, and always readable', () => {
  expect([textOn('#ffd700'), textOn('#1a56db')]).toEqual(['#000000', '#ffffff'])
  for (let red = 0; red < 256; red += 15)
    for (let green = 0; green < 256; green += 15) {
      const color = `#${[red, green, 99].map((value) => value.toString(16).padStart(2, '0')).join('')}`
      expect(contrast(textOn(color), color)).toBeGreaterThan(4.5)
    }
})

test('an accent must be visible on both cards, and the nearest visible one is suggested for any color', () => {
  expect([isVisibleAccent('#2f6fde'), isVisibleAccent('#000080'), isVisibleAccent('#ffee99')]).toEqual([true, false, false])
  for (const color of ['#000080', '#ffee99', '#000000', '#ffffff', '#1a56db'])
    expect(isVisibleAccent(nearestAccent(color)), color).toBe(true)
})

test.each([
  ['Acme Inc.', 'Acme Inc.'],
  ['  Zoë \t Äcme  ', 'Zoë Äcme'],
  ['Mozilla/5.0 (X11; Linux) Chrome/140.0.0.0', 'Mozilla/5.0 (X11; Linux) Chrome/140.0.0.0'],
  ['商店', '商店'],
])('the name %s stays readable', (raw, shown) => {
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
])('the shown form of %j is neither linked by a mail program nor decoded', (raw, shown) => {
  expect(shownName(raw)).toBe(shown)
})

test('a shown name loses line breaks, control characters and bidirectional characters', () => {
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
