import { expect, test } from 'vitest'
import { canonicalLocale, chooseLanguage, preferredLocale } from './locale.ts'

test.each([
  ['de', 'de'],
  ['pt-br', 'pt-BR'],
  ['DE-at', 'de-AT'],
  ['zh-hans-cn', 'zh-Hans-CN'],
  ['de-x-private', 'de-x-private'],
])('%s is accepted as a locale and stored as %s', (raw, stored) => {
  expect(canonicalLocale(raw)).toBe(stored)
})

test.each([
  '',
  ' ',
  'de_AT',
  'de AT',
  'd',
  '*',
  'de,en',
  'german',
  'deutsch-österreich',
  'de-',
  `de-${'abcdefgh-'.repeat(4)}x`,
  '\0',
  '__proto__',
])('%j is refused as a locale', (raw) => {
  expect(canonicalLocale(raw)).toBeUndefined()
})

test.each([
  ['de-AT', 'de-AT'],
  ['fr-CA fr en', 'fr-CA'],
  ['pt-BR,pt;q=0.9,en;q=0.8', 'pt-BR'],
  ['en;q=0.5, it ; q=0.7,zh', 'it'],
  ['zh-CN, zh;q=0.9, es-MX;q=0.2', 'es-MX'],
  ['de;q=0, fr;q=0.1', 'fr'],
  ['de;q=x, fr', 'de'],
  ['de;q=1.2.3, fr;q=0.1', 'fr'],
  [',,; q=1 ,;; it', 'it'],
])('the preferred locale of %j is %s', (wish, locale) => {
  expect(preferredLocale(wish)).toBe(locale)
})

test.each(['*', '*;q=0.5', 'zh', 'de_AT', 'english', '<script>', '🇩🇪', ''])(
  '%j names no language that the service has',
  (wish) => {
    expect(preferredLocale(wish)).toBeUndefined()
  },
)

test('the first wish with a language that the service has decides', () => {
  expect(chooseLanguage(['fr', 'de', 'it', 'es'])).toBe('fr')
  expect(chooseLanguage([undefined, 'de-CH', 'it', 'es'])).toBe('de')
  expect(chooseLanguage([undefined, 'zh', 'nl;q=0.9, it;q=0.1', 'es'])).toBe('it')
  expect(chooseLanguage(['', null, '*', 'es'])).toBe('es')
  expect(chooseLanguage(['tlh', 'zh', 'ja', null])).toBe('en')
  expect(chooseLanguage([])).toBe('en')
})

test('a long header is read only in part', () => {
  expect(chooseLanguage([`${'zh,'.repeat(300)}de`, 'it'])).toBe('de')
  expect(chooseLanguage([`${'zh,'.repeat(100_000)}de`, 'it'])).toBe('it')
  for (const part of ['de-', ' ', 'a ', 'q=', ';q=1', 'a;q=0.5', '0'.repeat(50)])
    expect(chooseLanguage([part.repeat(100_000), 'it'])).toBe('it')
})
