import { chooseLanguage, type Language } from '../../lib/locale.ts'
import { en } from './en.ts'
import type { PageTexts } from './page-texts.ts'

const catalogs: Partial<Record<Language, PageTexts>> = { en }

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
  return catalogs[language] ?? en
}
