import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { html } from '../../lib/html.ts'
import { callerOfBrowser, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { exportSelf } from '../../resources/user-exports/export-user.ts'
import { assertPagesOn } from '../oauth/authorize.ts'
import { refuseChange } from './fresh.ts'
import { paragraph, type Section } from './section.ts'

export const downloadPath = '/account/data.json'

/** The link to the person's data. It changes nothing, but tells so much that it takes a fresh proof too. */
export const data: Section = {
  name: 'data',
  title: ({ account }) => account.sections.data,
  async show(_, { texts, isFresh }) {
    const { text, button } = texts.account.data
    const link = html`<p><a class="button" href="${downloadPath}" download>${button}</a></p>\n`
    return { body: html`${paragraph(text)}${isFresh && link}` }
  },
  steps: {},
}

/** The data of the person who is signed in in the browser. Undefined without a fresh proof. */
export async function downloadData(
  deps: Deps<Pool>,
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<object | undefined> {
  assertPagesOn(deps)
  const live = await findBrowserSession(deps, cookies.session)
  if (!live || refuseChange(deps, live)) return undefined
  return exportSelf(deps, { caller: callerOfBrowser(deps, live), origin })
}
