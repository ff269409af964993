/** The languages of pages and mails. */
export const languages = ['en', 'de', 'fr', 'es', 'it', 'pt'] as const
export type Language = (typeof languages)[number]

/** RFC 5646 lets nobody count on more. */
const maxTagCharacters = 35
/** Browsers send about 50. */
const maxWishCharacters = 1_000

/**
 * A BCP 47 tag as it is stored, such as `pt-BR`. Undefined if the text is none. Longer names than `de` and `gsw` are well-formed,
 * but no language has one: `german` is a mistake.
 */
export function canonicalLocale(raw: string): string | undefined {
  if (raw.length > maxTagCharacters || !/^[a-z]{2,3}(?:-|$)/i.test(raw)) return undefined
  try {
    return Intl.getCanonicalLocales(raw)[0]
  } catch {
    return undefined
  }
}

/** The language that we would write in for a tag, by its primary subtag. */
function languageOf(locale: string): Language | undefined {
  const primary = new Intl.Locale(locale).language
  return languages.find((language) => language === primary)
}

/**
 * The tag that somebody likes best among those whose language we speak, such as `de-AT`. The text is one tag, a list of tags
 * (`ui_locales`), or a list with weights (`Accept-Language`). `*` names no language, so it has no say.
 */
export function preferredLocale(wish: string): string | undefined {
  const tags = wish.slice(0, maxWishCharacters).matchAll(/([^\s,;]+)(?:\s*;\s*q=([\d.]+))?/g)
  return [...tags]
    .map(([, tag = '', weight = '1']) => ({ locale: canonicalLocale(tag), weight: Number(weight) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ locale }) => locale)
    .find((locale) => locale !== undefined && languageOf(locale) !== undefined)
}

/**
 * The language to speak, where each wish counts only if no earlier one names a language that we speak: `ui_locales`, the user's
 * `locale`, `Accept-Language`, the app's `default_language`. English if none does.
 */
export function chooseLanguage(wishes: readonly (string | null | undefined)[]): Language {
  for (const wish of wishes) {
    const locale = wish ? preferredLocale(wish) : undefined
    const language = locale === undefined ? undefined : languageOf(locale)
    if (language) return language
  }
  return 'en'
}
