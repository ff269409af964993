import { fieldError } from '../../errors.ts'
import { html } from '../../lib/html.ts'
import { UserApp } from '../../models/user-app.ts'
import { field, shown } from '../../pages/fields.ts'
import { confirmEmailChange, requestEmailChange } from '../email/change-email.ts'
import { paragraph, type Section, sectionForm } from './section.ts'
import { emailOf } from './validate.ts'

const unproven = { password: undefined, two_factor_code: undefined }

export const email: Section = {
  name: 'email',
  title: ({ account }) => account.sections.email,
  async show(_, person) {
    const { texts, user, isFresh, refusal } = person
    const { present, unverified, newEmail, how, howWithoutPassword, button, code, codeHint, confirm } = texts.account.email
    const hasPassword = user.password_hash !== null
    const address = { name: 'email', label: newEmail, type: 'email', autocomplete: 'email' } as const
    const token = { name: 'token', label: code, type: 'text', autocomplete: 'off', hint: codeHint } as const
    const forms = () =>
      html`${sectionForm('email', person, { step: 'change', button }, field(texts, address, refusal))}${
        // With a password, the page behind the link asks for that.
        !hasPassword &&
        sectionForm('email', person, { step: 'confirm', button: confirm, isQuiet: true }, field(texts, token, refusal))
      }`
    return {
      body: html`${paragraph(present(shown(user.email)), user.email_verified_at === null && unverified)}${paragraph(hasPassword ? how : howWithoutPassword)}${isFresh && forms()}`,
    }
  },
  steps: {
    async change(deps, form, { app, live }, actor) {
      // The mails name an app: that of the page, or else the one by which the person is most likely to know the account.
      const appId = (app ?? (await UserApp.findFirstApp(deps.db, actor.caller.userId)))?.id ?? null
      await requestEmailChange(deps, { ...unproven, email: emailOf(form) }, actor.caller, actor, appId)
      return { done: live.password_hash === null ? 'email_allow_mailed' : 'email_mailed' }
    },
    async confirm(deps, form, _, actor) {
      const token = form.token.trim()
      if (token === '') throw fieldError('token', 'required', 'is required')
      await confirmEmailChange(deps, { token, person: actor.caller }, actor)
      return { done: 'email_changed' }
    },
  },
}
