import { chooseLanguage, type Language } from '../../lib/locale.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import type { PageTexts } from './page-texts.ts'
import { pt } from './pt.ts'

const catalogs: Readonly<Record<Language, PageTexts>> = { en, de, fr, es, it, pt }

/** What is known about the reader of a page. What stands first counts most. */
export interface Reader {
  /** What the app has asked for: language tags, separated by spaces. */
  uiLocales?: string | undefined
  /** What the user has chosen. */
  locale?: string | null | undefined
  /** `Accept-Language` of the browser. */
  accepts?: string | undefined
  /** What the app shows to readers of other languages. */
  place?: { language?: Language | null } | undefined
}

/** The texts of a page, in the language that suits its reader. */
export function textsFor({ uiLocales, locale, accepts, place }: Reader): PageTexts {
  return textsIn(chooseLanguage([uiLocales, locale, accepts, place?.language]))
}

export function textsIn(language: Language): PageTexts {
  return catalogs[language]
}
