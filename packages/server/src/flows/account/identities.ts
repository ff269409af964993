import { ApiError } from '../../errors.ts'
import { html } from '../../lib/html.ts'
import { isUuid } from '../../lib/uuid.ts'
import { dayOf, providerName } from '../../pages/fields.ts'
import { listIdentities } from '../../resources/identities/identities.ts'
import { unlinkIdentity } from '../identities/unlink-identity.ts'
import { paragraph, type Section, sectionForm } from './section.ts'

/** Usually there is one for each provider. */
const most = { limit: 50 }

/** The accounts at providers that the person can sign in with. */
export const identities: Section = {
  name: 'identities',
  title: ({ account }) => account.sections.identities,
  async show(deps, person) {
    const { texts, user, isFresh } = person
    const { none, linked, unlink } = texts.account.identities
    const { items } = await listIdentities(deps, user.id, most)
    const list = items.map(({ id, provider, created_at }) => {
      const name = providerName(provider.code)
      const form = () =>
        sectionForm('identities', person, { step: 'unlink', values: { id }, button: unlink(name), isQuiet: true })
      return html`<h2>${name}</h2>
${paragraph(linked(dayOf(texts, created_at)))}${isFresh && form()}`
    })
    return { body: html`${items.length === 0 ? paragraph(none) : list}` }
  },
  steps: {
    async unlink(deps, { id }, _, actor) {
      if (!isUuid(id)) throw new ApiError('not_found')
      const unproven = { password: undefined, two_factor_code: undefined }
      await unlinkIdentity(deps, { ...unproven, identityId: id }, actor.caller, actor)
      return { done: 'unlinked' }
    },
  },
}
