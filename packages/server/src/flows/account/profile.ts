import { html } from '../../lib/html.ts'
import { languages } from '../../lib/locale.ts'
import { field, select } from '../../pages/fields.ts'
import { updateOnPage } from '../profile/self.ts'
import { type Section, sectionForm } from './section.ts'
import { profileFields } from './validate.ts'

const namesOfLanguages = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  it: 'Italiano',
  pt: 'Português',
} satisfies Record<(typeof languages)[number], string>

/** The names, and the language of pages and mails. */
export const profile: Section = {
  name: 'profile',
  title: ({ account }) => account.sections.profile,
  async show(_, person) {
    const { texts, user, isFresh, refusal } = person
    const { fields, account } = texts
    const name = { type: 'text', isOptional: true, isFixed: !isFresh } as const
    const own = user.locale !== null && !languages.some((language) => language === user.locale) ? [user.locale] : []
    const options = [
      { value: '', label: account.profile.anyLanguage },
      ...languages.map((language) => ({ value: language, label: namesOfLanguages[language] })),
      // Another tag than those, such as `pt-BR`, that an app has stored.
      ...own.map((locale) => ({ value: locale, label: locale })),
    ]
    const parts = [
      field(
        texts,
        { ...name, name: 'first_name', label: fields.firstName, autocomplete: 'given-name', value: user.first_name ?? '' },
        refusal,
      ),
      field(
        texts,
        { ...name, name: 'last_name', label: fields.lastName, autocomplete: 'family-name', value: user.last_name ?? '' },
        refusal,
      ),
    ]
    if (!isFresh) return { body: html`${parts}` }
    const language = select({ name: 'locale', label: account.profile.language, value: user.locale ?? '' }, options)
    return { body: sectionForm('profile', person, { step: 'save', button: account.save }, ...parts, language) }
  },
  steps: {
    async save(deps, form, _, actor) {
      await updateOnPage(deps, profileFields(form), actor.caller, actor)
      return { done: 'saved' }
    },
  },
}
