import { fieldError } from '../../errors.ts'
import { sectionPath } from '../../lib/account-sections.ts'
import { html } from '../../lib/html.ts'
import { RecoveryCode } from '../../models/recovery-code.ts'
import { enrolmentView } from '../../pages/enrolment.ts'
import { dayOf } from '../../pages/fields.ts'
import { newDeviceTokenFor } from '../../resources/sessions/browser-sessions.ts'
import {
  activateTwoFactor,
  digestOfSeed,
  disableTwoFactor,
  findPendingSeed,
  renewRecoveryCodes,
  setUpTwoFactor,
} from '../two-factor/two-factor.ts'
import { paragraph, type Section, sectionForm } from './section.ts'

const unproven = { password: undefined, two_factor_code: undefined }

/** The second factor and its recovery codes. A new seed is shown only while the person is fresh. */
export const twoFactor: Section = {
  name: 'two-factor',
  title: ({ account }) => account.sections['two-factor'],
  async show(deps, person) {
    const { texts, user, live, isFresh, seed, refusal, hidden } = person
    const { none, setUp, active, codesLeft, remove, moreCodes, renewCodes, startAgain } = texts.account.twoFactor
    if (live.factor_activated_at !== null) {
      const left = await RecoveryCode.countLeft(deps.db, user.id)
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
