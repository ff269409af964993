import { ApiError } from '../../errors.ts'
import { html } from '../../lib/html.ts'
import { isUuid } from '../../lib/uuid.ts'
import { dayOf, nameOf, shown } from '../../pages/fields.ts'
import { joinOrganization } from '../../resources/invitations/join-organization.ts'
import { listInvitationsTo } from '../../resources/invitations/list-invitations.ts'
import { removeMember } from '../../resources/organizations/remove-member.ts'
import { listMemberships } from '../../resources/users/list-memberships.ts'
import type { AccountForm } from './schema.ts'
import { paragraph, type Section, sectionForm } from './section.ts'

/** The organizations that the person is a member of, and those that have invited their address. */
export const organizations: Section = {
  name: 'organizations',
  title: ({ account }) => account.sections.organizations,
  async show(deps, person) {
    const { texts, user, isFresh } = person
    const { none, leave, invitations: title, until, accept } = texts.account.organizations
    const memberships = await listMemberships(deps, user.id)
    const invitations = (await listInvitationsTo(deps, user)).filter(
      ({ organization_id: id }) => !memberships.some((membership) => membership.id === id),
    )
    const joined = memberships.map(({ id, slug, name, role_codes }) => {
      const named = nameOf({ name, code: slug })
      const form = () =>
        sectionForm('organizations', person, { step: 'leave', values: { id }, button: leave(named), isQuiet: true })
      return html`<h2>${shown(named)}</h2>
<p><code>${role_codes.join(', ')}</code></p>
${isFresh && form()}`
    })
    const invited = invitations.map(({ id, organization, expires_at }) => {
      const named = nameOf({ name: organization.name, code: organization.slug })
      const form = () => sectionForm('organizations', person, { step: 'join', values: { id }, button: accept(named) })
      return html`<h3>${shown(named)}</h3>
${paragraph(until(dayOf(texts, expires_at)))}${isFresh && form()}`
    })
    return {
      body: html`${memberships.length === 0 ? paragraph(none) : joined}${invited.length > 0 && html`<h2>${title}</h2>\n${invited}`}`,
    }
  },
  steps: {
    async leave(deps, form, _, actor) {
      await removeMember(deps, { organizationId: idIn(form), userId: actor.caller.userId, by: 'org_admin' }, actor)
      return { done: 'left' }
    },
    async join(deps, form, _, actor) {
      await joinOrganization(deps, { id: idIn(form) }, actor)
      return { done: 'joined' }
    },
  },
}

function idIn({ id }: AccountForm): string {
  if (!isUuid(id)) throw new ApiError('not_found')
  return id
}
