import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { entersWithoutGrant } from '../../lib/authority.ts'
import { html } from '../../lib/html.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { grantStateAt } from '../../lib/records.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { App } from '../../models/app.ts'
import { UserApp } from '../../models/user-app.ts'
import { dayOf, nameOf, shown } from '../../pages/fields.ts'
import { autoGrants } from '../../resources/apps/app-settings.ts'
import { openRequest } from '../../resources/grants/requests.ts'
import { joinOrganization, listInvitationsTo } from '../../resources/invitations/invitations.ts'
import { removeMember } from '../../resources/organizations/members.ts'
import { listGlobalRoles } from '../../resources/users/administration.ts'
import { listMemberships } from '../../resources/users/find-users.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { idIn, paragraph, type Section, sectionForm } from './section.ts'

/** More apps than a person has. */
const most = { limit: 200 }

interface ListedApp {
  app: App
  /** `open`: the person can enter it. `closed`: they can ask for access. `asked`: they have done so. */
  state: 'open' | 'closed' | 'asked'
  expiresAt: number | null
}

/**
 * The apps that the person can enter, also those that let everybody of their pools in and the one that they administer the service
 * with; those that they were let into at some time, or have asked for; and the app of the page. No other is named: a person does
 * not learn here what apps there are.
 */
async function listApps(deps: Deps, user: PooledUser, ofPage: App | undefined): Promise<ListedApp[]> {
  const now = deps.clock()
  const grants = (await UserApp.listPage(deps.db, { user_id: user.id }, { ...most, now: deps.clock() })).items
  const requests = (await AccessRequest.listPage(deps.db, { status: 'open', user_id: user.id }, most)).items
  const roles = await listGlobalRoles(deps, user.id)
  const asked = new Set(requests.map(({ app_id: id }) => id))
  const granted = grants.map(({ app, ...grant }): ListedApp => {
    const state = grantStateAt(grant, now)
    if (state === 'active') return { app, state: 'open', expiresAt: grant.expires_at }
    const isOpen = state === 'expired' && entersWithoutGrant(roles, app)
    return { app, state: isOpen ? 'open' : asked.has(app.id) ? 'asked' : 'closed', expiresAt: null }
  })
  const known = new Set(granted.map(({ app }) => app.id))
  const isOpen = (app: App) =>
    isInPools(user, poolSet(app)) && (autoGrants(app, { email: user.email, isInvited: false }) || entersWithoutGrant(roles, app))
  const open = (await App.listOpen(deps.db)).filter((app) => !known.has(app.id) && isOpen(app)).slice(0, most.limit)
  for (const { id } of open) known.add(id)
  const others = [...requests.map(({ app }) => app), ...(ofPage ? [ofPage] : [])].filter(
    (app, index, all) =>
      !known.has(app.id) && isInPools(user, poolSet(app)) && all.findIndex(({ id }) => id === app.id) === index,
  )
  return [
    ...granted,
    ...open.map((app): ListedApp => ({ app, state: 'open', expiresAt: null })),
    ...others.map((app): ListedApp => ({ app, state: asked.has(app.id) ? 'asked' : 'closed', expiresAt: null })),
  ].filter(({ app }) => app.status === 'active')
}

export const apps: Section = {
  name: 'apps',
  title: ({ account }) => account.sections.apps,
  async show(deps, person) {
    const { texts, user, isFresh } = person
    const { none, until, ended, asked, ask, open } = texts.account.apps
    const listed = await listApps(deps, user, person.app)
    const items = listed.map(({ app, state, expiresAt }) => {
      const name = nameOf(app)
      const { frontend_url: home } = app
      const link = home && html`<p><a class="button quiet" href="${home}">${open(name)}</a></p>\n`
      const form = () => sectionForm('apps', person, { step: 'ask', values: { id: app.id }, button: ask(name), isQuiet: true })
      const said = { open: expiresAt === null ? undefined : until(dayOf(texts, expiresAt)), closed: ended, asked }[state]
      return html`<h2>${shown(name)}</h2>
${said && paragraph(said)}${state === 'open' && link}${state === 'closed' && isFresh && form()}`
    })
    return { body: html`${listed.length === 0 ? paragraph(none) : items}` }
  },
  steps: {
    async ask(deps, { id }, { live, app: ofPage }, actor) {
      const user = userOf(live)
      const offered = (await listApps(deps, user, ofPage)).find(({ app, state }) => app.id === id && state === 'closed')
      if (!offered) throw new ApiError('not_found')
      await openRequest(deps, { user, app: offered.app, message: null }, actor)
      return { done: 'asked' }
    },
  },
}

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
