import { ApiError } from '../../errors.ts'
import { html } from '../../lib/html.ts'
import { isUuid } from '../../lib/uuid.ts'
import { dayOf, providerName } from '../../pages/fields.ts'
import { listIdentities } from '../../resources/identities/identities.ts'
import { unlinkIdentity } from '../identities/unlink-identity.ts'
import { beginToConnect, listConnectable } from './connect.ts'
import { paragraph, type Section, sectionForm } from './section.ts'

/** Usually there is one for each provider. */
const most = { limit: 50 }

/** The accounts at providers that the person can sign in with. */
export const identities: Section = {
  name: 'identities',
  title: ({ account }) => account.sections.identities,
  async show(deps, person) {
    const { texts, user, app, isFresh } = person
    const { none, linked, unlink, connect } = texts.account.identities
    const { items } = await listIdentities(deps, user.id, most)
    const list = items.map(({ id, provider, created_at }) => {
      const name = providerName(provider.code)
      const form = () =>
        sectionForm('identities', person, { step: 'unlink', values: { id }, button: unlink(name), isQuiet: true })
      return html`<h2>${name}</h2>
${paragraph(linked(dayOf(texts, created_at)))}${isFresh && form()}`
    })
    const known = new Set(items.map(({ provider }) => provider.code))
    const offered = (await listConnectable(deps, user, app)).filter(({ code }) => !known.has(code))
    const offers = offered.map(({ code }) => {
      const button = connect(providerName(code))
      return sectionForm('identities', person, { step: 'connect', values: { id: code }, button, isQuiet: true })
    })
    const leadsTo = isFresh ? offered.map(({ issuer }) => issuer) : []
    return { body: html`${items.length === 0 ? paragraph(none) : list}${isFresh && offers}`, leadsTo }
  },
  steps: {
    async connect(deps, form, acting, actor) {
      try {
        return { leadsTo: await beginToConnect(deps, form, acting, actor) }
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'unavailable') throw error
        return { refusal: { code: 'provider_temporarily_unavailable', faults: {} } }
      }
    },
    async unlink(deps, { id }, _, actor) {
      if (!isUuid(id)) throw new ApiError('not_found')
      const unproven = { password: undefined, two_factor_code: undefined }
      await unlinkIdentity(deps, { ...unproven, identityId: id }, actor.caller, actor)
      return { done: 'unlinked' }
    },
  },
  faultOf(texts, { code }) {
    const { refusals } = texts.account.identities
    if (code === 'provider_access_denied') return texts.providers.denied
    if (code === 'identity_in_use') return refusals.inUse
    return failedAtProvider.has(code) ? refusals.failed : undefined
  },
}

/** After these, the person can only try again. */
const failedAtProvider: ReadonlySet<string> = new Set([
  'app_inactive',
  'auth_method_not_allowed',
  'invalid_sso_code',
  'provider_login_too_old',
  'provider_server_error',
  'provider_temporarily_unavailable',
  'sso_provider_disabled',
])
