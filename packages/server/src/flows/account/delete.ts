import { fieldError } from '../../errors.ts'
import { html } from '../../lib/html.ts'
import { checkbox, shown } from '../../pages/fields.ts'
import { deleteSelf } from '../profile/self.ts'
import { type Section, sectionForm } from './section.ts'

export const deletion: Section = {
  name: 'delete',
  title: ({ account }) => account.sections.delete,
  async show(_, person) {
    const { texts, user, isFresh } = person
    const { text, confirm, button } = texts.account.delete
    const form = () =>
      sectionForm('delete', person, { step: 'delete', button, isHarmful: true }, checkbox('confirmed', confirm, false))
    return { body: html`<p>${text(shown(user.email))}</p>\n${isFresh && form()}` }
  },
  steps: {
    async delete(deps, { confirmed }, _, actor) {
      if (confirmed !== 'yes') throw fieldError('confirmed', 'required', 'is required')
      await deleteSelf(deps, { password: undefined, two_factor_code: undefined }, actor.caller, actor)
      return { isOver: true }
    },
  },
  faultOf: ({ account }, { faults }) => (faults.confirmed ? account.refusals.notConfirmed : undefined),
}
