import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { grantStateAt } from '../../lib/grant-state.ts'
import { html } from '../../lib/html.ts'
import { AccessRequest } from '../../models/access-request.ts'
import type { App } from '../../models/app.ts'
import { UserApp } from '../../models/user-app.ts'
import { dayOf, nameOf, shown } from '../../pages/fields.ts'
import { autoGrants } from '../../resources/apps/check-policy.ts'
import { openRequest } from '../../resources/grants/requests.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { paragraph, type Section, sectionForm } from './section.ts'

/** More apps than a person has. */
const most = { limit: 200 }

interface ListedApp {
  app: App
  /** `open`: the person can enter it. `closed`: they can ask for access. `asked`: they have done so. */
  state: 'open' | 'closed' | 'asked'
  expiresAt: number | null
}

/**
 * The apps that the person was let into at some time, or has asked for, and the app of the page. No other is named: a person does not
 * learn here what apps there are.
 */
async function listApps(deps: Deps, user: PooledUser, ofPage: App | undefined): Promise<ListedApp[]> {
  const now = deps.clock()
  const grants = (await UserApp.listOfUser(deps.db, user.id, most)).items
  const requests = (await AccessRequest.list(deps.db, { status: 'open', user_id: user.id }, most)).items
  const asked = new Set(requests.map(({ app_id: id }) => id))
  const stateOf = (id: string) => (asked.has(id) ? ('asked' as const) : ('closed' as const))
  const granted = grants.map(({ app, ...grant }) => {
    const isOpen = grantStateAt(grant, now) === 'active'
    return { app, state: isOpen ? ('open' as const) : stateOf(app.id), expiresAt: isOpen ? grant.expires_at : null }
  })
  const known = new Set(granted.map(({ app }) => app.id))
  const others = [...requests.map(({ app }) => app), ...(ofPage ? [ofPage] : [])]
    .filter(({ id }, index, all) => !known.has(id) && all.findIndex((app) => app.id === id) === index)
    .map((app) => {
      const isOpen = autoGrants(app, { email: user.email, isInvited: false })
      return { app, state: isOpen ? ('open' as const) : stateOf(app.id), expiresAt: null }
    })
  return [...granted, ...others].filter(({ app }) => app.status === 'active')
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
