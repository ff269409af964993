import { fieldError } from '../../errors.ts'
import { sectionPath } from '../../lib/account-sections.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { html } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password.ts'
import { RecoveryCode } from '../../models/second-factor.ts'
import { UserApp } from '../../models/user-app.ts'
import { enrolmentView } from '../../pages/enrolment.ts'
import { dayOf, field, shown } from '../../pages/fields.ts'
import { newDeviceTokenFor } from '../../resources/sessions/browser-sessions.ts'
import { confirmEmailChange, requestEmailChange } from '../email/email.ts'
import { setPassword } from '../password/password.ts'
import {
  activateTwoFactor,
  digestOfSeed,
  disableTwoFactor,
  findPendingSeed,
  renewRecoveryCodes,
  setUpTwoFactor,
} from '../two-factor/two-factor.ts'
import type { AccountForm } from './schema.ts'
import { paragraph, type Section, sectionForm } from './section.ts'

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

/** The second factor and its recovery codes. A new seed is shown only while the person is fresh. */
export const twoFactor: Section = {
  name: 'two-factor',
  title: ({ account }) => account.sections['two-factor'],
  async show(deps, person) {
    const { texts, user, live, isFresh, seed, refusal, hidden } = person
    const { none, setUp, active, codesLeft, remove, moreCodes, renewCodes, startAgain } = texts.account.twoFactor
    if (live.factor_activated_at !== null) {
      const left = await RecoveryCode.query(deps.db).where({ user_id: user.id, used_at: null }).resultSize()
      const forms = () =>
        html`${sectionForm('two-factor', person, { step: 'renew_codes', button: renewCodes, isQuiet: true })}${sectionForm(
          'two-factor',
          person,
          { step: 'remove', button: remove, isHarmful: true },
        )}`
      return {
        body: html`${paragraph(active(dayOf(texts, live.factor_activated_at)))}${paragraph(codesLeft(left), moreCodes)}${isFresh && forms()}`,
      }
    }
    const pending = isFresh ? await findPendingSeed(deps, user, seed) : undefined
    if (pending) {
      const form = { action: sectionPath('two-factor'), hidden: { ...hidden, step: 'activate' } }
      const after = sectionForm('two-factor', person, { step: 'set_up', button: startAgain, isQuiet: true })
      return enrolmentView(texts, { pending, form, refusal, after })
    }
    return {
      body: html`${paragraph(none)}${isFresh && sectionForm('two-factor', person, { step: 'set_up', button: setUp })}`,
    }
  },
  steps: {
    async set_up(deps, _form, _acting, actor) {
      const { secret } = await setUpTwoFactor(deps, unproven, actor.caller, actor)
      return { seed: digestOfSeed(secret) }
    },
    async activate(deps, form, _, actor) {
      const code = form.code.trim()
      if (code === '') throw fieldError('code', 'required', 'is required')
      const { recovery_codes: codes } = await activateTwoFactor(deps, { ...unproven, code }, actor.caller, actor)
      return { codes, deviceToken: await newDeviceTokenFor(deps, actor.caller.userId) }
    },
    async renew_codes(deps, _form, _acting, actor) {
      return { codes: (await renewRecoveryCodes(deps, actor)).recovery_codes }
    },
    async remove(deps, _form, _acting, actor) {
      await disableTwoFactor(deps, { ...unproven, code: undefined }, actor.caller, actor)
      return { done: 'two_factor_removed', deviceToken: await newDeviceTokenFor(deps, actor.caller.userId) }
    },
  },
  // Said at the field.
  faultOf: (_, { code }) => (code === 'invalid_two_factor_code' ? '' : undefined),
}

function emailOf({ email: typed }: AccountForm): string {
  const email = normalizeEmail(typed)
  if (email === undefined) throw fieldError('email', 'invalid_value', 'must be an e-mail address')
  return email
}

/** The new password, which a page without a script asks for twice. */
function newPasswordOf({ password, password_again: again }: AccountForm): string {
  if (password === '') throw fieldError('password', 'required', 'is required')
  if (again !== password) throw fieldError('password_again', 'invalid_value', 'does not match the first one')
  return password
}
