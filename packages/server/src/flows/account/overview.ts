import { accountPath, accountSections } from '../../lib/account-sections.ts'
import { html } from '../../lib/html.ts'
import { nameOf, shown } from '../../pages/fields.ts'
import { findAppToReturnTo } from './return-to.ts'
import type { Section } from './section.ts'

/** The first page: what there is, and the way back to the app that led here. */
export const overview: Section = {
  name: 'overview',
  title: ({ account }) => account.title,
  async show(deps, { texts, query, user, caller, origin, app }) {
    const back = await findAppToReturnTo(deps, { user, app, returnTo: query.returnTo }, { caller, origin })
    const links = accountSections.flatMap((name) =>
      name === 'overview' ? [] : [html`<li><a href="${accountPath(name, query)}">${texts.account.sections[name]}</a></li>\n`],
    )
    const leave = app ? `/oauth/logout?${new URLSearchParams({ client_id: app.code })}` : '/oauth/logout'
    return {
      body: html`<nav aria-label="${texts.account.title}">
<ul>
${links}</ul>
</nav>
${back && html`<p><a class="button" href="${query.returnTo}">${texts.goTo(shown(nameOf(back)))}</a></p>\n`}<p><a class="button quiet" href="${leave}">${texts.signOut.button}</a></p>
`,
    }
  },
}
