import { z } from 'zod'
import { ok, route, section } from '../../http/route.ts'
import { leadTo, showPage } from '../../http/speak/page.ts'
import { sectionPath } from '../../lib/account-sections.ts'
import { script, scriptPath } from '../../pages/passkeys.ts'
import { assertPagesOn, type PageAnswer } from '../sign-in/page-answer.ts'
import { apps, organizations } from './apps-and-organizations.ts'
import { email, password, twoFactor } from './credentials.ts'
import { answerConnection, connectionPath, identities } from './identities.ts'
import { passkeys } from './passkeys.ts'
import { data, deletion, downloadData, downloadPath, overview, profile } from './person.ts'
import { accountForm, accountQuery, connectionQuery, downloadedData } from './schema.ts'
import type { Section } from './section.ts'
import { findPlaceOfPage, showSection, takeForm } from './section-page.ts'
import { sessions } from './sessions.ts'

export const sections: readonly Section[] = [
  ...[overview, profile, email, password, twoFactor, passkeys, sessions, identities, organizations, apps],
  ...[data, deletion],
]

const page = { tag: 'Pages', speaks: 'page', auth: 'public', noStore: true } as const
const reads = ['browser', 'session'] as const

function reply({ location, view, cookies, errorCode }: PageAnswer) {
  return { ...(location === undefined ? showPage(view) : leadTo(location)), cookies, errorCode }
}

/** The account page, which stands on the browser session alone, and the one script of the pages. */
export const accountRoutes = section('Pages', [
  ...sections.flatMap((section) => {
    const path = sectionPath(section.name)
    const show = route({
      ...page,
      path,
      method: 'GET',
      summary: `Show the section "${section.name}" of the account page`,
      description: 'Leads somebody who is not signed in to the sign-in page, and back.',
      cookies: { reads, sets: ['browser'] },
      query: accountQuery,
      responses: { 200: z.string(), 303: null, 400: z.string() },
      errors: ['not_found'],
      handle: async (deps, { query, cookies, origin }) => reply(await showSection(deps, section, query, cookies, { origin })),
    })
    if (!section.steps) return [show]
    const take = route({
      ...page,
      path,
      method: 'POST',
      summary: `Take a form of the section "${section.name}" of the account page`,
      description: 'For forms of the page itself. Changes something only within ten minutes of a proof of identity.',
      cookies: { reads, sets: ['session', 'device'] },
      body: accountForm,
      placeOf: async (deps, sent) => findPlaceOfPage(deps, accountForm.parse(sent)),
      responses: { 303: null, 400: z.string() },
      errors: ['foreign_form', 'not_found'],
      handle: async (deps, { body, cookies, origin }) => reply(await takeForm(deps, section, body, cookies, { origin })),
    })
    return [show, take]
  }),
  route({
    ...page,
    method: 'GET',
    path: downloadPath,
    summary: 'Download the data of the person who is signed in',
    description: 'The document of `GET /auth/me/export`. Leads to the account page without a proof of the last ten minutes.',
    cookies: { reads: ['session'], sets: [] },
    responses: { 200: downloadedData, 303: null },
    errors: ['not_found'],
    handle: async (deps, { cookies, origin }) => {
      const found = await downloadData(deps, cookies, { origin })
      return found ? { ...ok(found), headers: downloadHeaders } : leadTo('/account/data')
    },
  }),
  route({
    ...page,
    method: 'GET',
    path: connectionPath,
    summary: 'Receive the browser of a person who connects an account at a provider',
    description:
      'The callback of a provider leads here. Only the browser session that began goes on, within ten minutes of its proof of ' +
      'identity.',
    navigation: true,
    cookies: { reads, sets: [] },
    query: connectionQuery,
    responses: { 303: null, 400: z.string() },
    errors: ['not_found'],
    handle: async (deps, { query, cookies, origin }) => reply(await answerConnection(deps, query, cookies, { origin })),
  }),
  // Password managers open it (https://w3c.github.io/webappsec-change-password-url/).
  route({
    method: 'GET',
    path: '/.well-known/change-password',
    summary: 'Lead to the page where people change their password',
    auth: 'public',
    offline: true,
    responses: { 302: null },
    errors: ['not_found'],
    handle: async (deps) => {
      assertPagesOn(deps)
      return { status: 302, headers: { Location: '/account/password' } }
    },
  }),
  route({
    method: 'GET',
    path: scriptPath,
    summary: 'The script of the pages, which asks the browser for a passkey',
    auth: 'public',
    offline: true,
    // The query changes with the script.
    query: z.object({ v: z.string().optional() }),
    responses: { 200: z.string() },
    handle: async () => ({ ...ok(script), headers: scriptHeaders }),
  }),
])

const downloadHeaders = { 'Content-Disposition': 'attachment; filename="account.json"' }
const scriptHeaders = { 'Content-Type': 'text/javascript; charset=utf-8', 'Cache-Control': 'public, max-age=86400' }
