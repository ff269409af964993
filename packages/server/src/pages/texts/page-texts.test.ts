import { expect, test } from 'vitest'
import { Html } from '../../lib/html.ts'
import { languages } from '../../lib/locale.ts'
import { textsIn } from './texts-for.ts'

/** Stands for a value of a text: a name, in words or as markup, or a number. */
class Mark extends Html {
  readonly number: number

  constructor(number: number) {
    super(`mark${number}`)
    this.number = number
  }

  override toString(): string {
    return this.markup
  }

  override valueOf(): number {
    return this.number
  }
}
const marks = [61, 62, 63].map((number) => new Mark(number))

/** Every text of a catalog by its path, with marks for its values. */
function textsOf(value: unknown, path: string[] = []): [string, string][] {
  const text = typeof value === 'function' ? value(...marks) : value
  if (text instanceof Html) return [[path.join('.'), text.markup]]
  if (typeof text === 'string') return [[path.join('.'), text]]
  return Object.entries(text as object).flatMap(([name, member]) => textsOf(member, [...path, name]))
}

const markedIn = (text: string) => [...new Set(text.match(/6[123]/g))].sort()
const english = new Map(textsOf(textsIn('en')))

test.each(languages)('%s uses the same values as English, and has no text with a gap', (language) => {
  const texts = textsOf(textsIn(language))
  expect(texts.map(([path]) => path).sort()).toEqual([...english.keys()].sort())
  for (const [path, text] of texts) {
    expect(text, path).not.toMatch(/undefined|NaN|\[object|\$\{|^\s|\s$| {2}/)
    // A fault stands below its label, so that it need not repeat it.
    if (!path.startsWith('faults.')) expect([path, markedIn(text)]).toEqual([path, markedIn(english.get(path) ?? '')])
  }
})

/** What may read alike in two languages. */
const alike =
  /^(apiErrors|fields\.(account|password)|language|locale|footer\.|named\.continueAs|passkeys\.name$|device\.enter\.label$|providers\.or$)/

test.each(languages.filter((language) => language !== 'en'))('%s has no text in common with English', (language) => {
  const repeated = textsOf(textsIn(language)).filter(([path, text]) => !alike.test(path) && english.get(path) === text)
  expect(repeated).toEqual([])
})

test('numbers, minutes and days are written as usual in each language', () => {
  const said = languages.map((language) => {
    const { refusals, passkeys, locale } = textsIn(language)
    const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(Date.UTC(2026, 10, 27))
    return [refusals.limited(1), refusals.limited(5), passkeys.added(day)]
  })
  expect(said).toEqual([
    ['Too many attempts. Try again in 1 minute.', 'Too many attempts. Try again in 5 minutes.', 'Added 27 November 2026.'],
    [
      'Zu viele Versuche. Versuchen Sie es in 1 Minute erneut.',
      'Zu viele Versuche. Versuchen Sie es in 5 Minuten erneut.',
      'Hinzugefügt am 27. November 2026.',
    ],
    [
      'Trop de tentatives. Réessayez dans 1 minute.',
      'Trop de tentatives. Réessayez dans 5 minutes.',
      'Ajoutée le 27 novembre 2026.',
    ],
    [
      'Demasiados intentos. Vuelve a intentarlo dentro de 1 minuto.',
      'Demasiados intentos. Vuelve a intentarlo dentro de 5 minutos.',
      'Añadida el 27 de noviembre de 2026.',
    ],
    ['Troppi tentativi. Riprova tra 1 minuto.', 'Troppi tentativi. Riprova tra 5 minuti.', 'Data di aggiunta: 27 novembre 2026.'],
    [
      'Tentativas demais. Tente de novo em 1 minuto.',
      'Tentativas demais. Tente de novo em 5 minutos.',
      'Adicionada em 27 de novembro de 2026.',
    ],
  ])
})
