import { html } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password-policy.ts'
import { field } from '../../pages/fields.ts'
import { setPassword } from '../password/set-password.ts'
import { paragraph, type Section, sectionForm } from './section.ts'
import { newPasswordOf } from './validate.ts'

export const password: Section = {
  name: 'password',
  title: ({ account }) => account.sections.password,
  async show(_, person) {
    const { texts, user, isFresh, refusal } = person
    const { account, fields, hints } = texts
    const { some, none, effect, button } = account.password
    const newPassword = { type: 'password', autocomplete: 'new-password' } as const
    const hint = hints.newPassword(MIN_PASSWORD_CHARACTERS)
    const form = () =>
      sectionForm(
        'password',
        person,
        { step: 'set', button },
        // Password managers store the new password under this field.
        field(texts, {
          name: 'account',
          label: fields.account,
          type: 'email',
          autocomplete: 'username',
          value: user.email,
          isFixed: true,
        }),
        field(texts, { ...newPassword, name: 'password', label: fields.newPassword, hint }, refusal),
        field(texts, { ...newPassword, name: 'password_again', label: fields.newPasswordAgain }, refusal),
      )
    return { body: html`${paragraph(user.password_hash === null ? none : some, effect)}${isFresh && form()}` }
  },
  steps: {
    async set(deps, form, { live }, actor) {
      return { done: 'password_set', secrets: await setPassword(deps, live, newPasswordOf(form), actor) }
    },
  },
}
