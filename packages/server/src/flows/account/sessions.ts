import { type Html, html } from '../../lib/html.ts'
import { dayOf, shown } from '../../pages/fields.ts'
import { endUserSession, listSessions, logOutElsewhere } from '../../resources/sessions/user-sessions.ts'
import { listTrustedBrowsers, revokeTrust } from '../../resources/trusted-browsers/trusted-browsers.ts'
import { browserName, idIn, type Person, paragraph, type Section, sectionForm } from './section.ts'

/** The newest ones. Nobody ends more by hand. */
const mostSessions = { limit: 50 }

type ListedSession = Awaited<ReturnType<typeof listSessions>>['items'][number]
type Trusted = Awaited<ReturnType<typeof listTrustedBrowsers>>['items'][number]

/** Where the person is signed in, and the browsers that are trusted. */
export const sessions: Section = {
  name: 'sessions',
  title: ({ account }) => account.sections.sessions,
  async show(deps, person) {
    const { texts, user, live, isFresh } = person
    const { endElsewhere, trusted: title, trustedText } = texts.account.sessions
    const { items } = await listSessions(deps, { userId: user.id, currentId: live.browser_session_id }, mostSessions)
    const trusted = (await listTrustedBrowsers(deps, user.id, mostSessions)).items
    const ownFirst = items.toSorted((one, other) => Number(other.current) - Number(one.current))
    const elsewhere = () => sectionForm('sessions', person, { step: 'end_elsewhere', button: endElsewhere, isHarmful: true })
    return {
      body: html`${ownFirst.map((session) => sessionItem(person, session))}${isFresh && items.length > 1 && elsewhere()}${
        trusted.length > 0 &&
        html`<h2>${title}</h2>
${paragraph(trustedText)}${trusted.map((browser) => trustedItem(person, browser))}`
      }`,
    }
  },
  steps: {
    async end(deps, form, _, actor) {
      await endUserSession(deps, { userId: actor.caller.userId, sessionId: idIn(form) }, actor)
      return { done: 'session_ended' }
    },
    async end_elsewhere(deps, _, { live }, actor) {
      return { done: 'signed_out_elsewhere', secrets: await logOutElsewhere(deps, live, actor) }
    },
    async forget(deps, form, _, actor) {
      await revokeTrust(deps, { userId: actor.caller.userId, browserId: idIn(form) }, actor)
      return { done: 'browser_forgotten' }
    },
  },
}

function sessionItem(person: Person, { id, current, app, user_agent, ip, created_at, last_used_at }: ListedSession): Html {
  const { texts, isFresh } = person
  const { thisBrowser, app: ofApp, since, lastUsed, end } = texts.account.sessions
  const name = browserName(texts, user_agent)
  const button = end(app ? `${app.code}, ${name}` : name)
  return html`<h2>${name}</h2>
${paragraph(
  current && thisBrowser,
  app ? ofApp(shown(app.code)) : undefined,
  since(dayOf(texts, Date.parse(created_at))),
  lastUsed(dayOf(texts, Date.parse(last_used_at))),
  ip !== null && html`IP ${shown(ip)}.`,
)}${isFresh && !current && sectionForm('sessions', person, { step: 'end', values: { id }, button, isQuiet: true })}`
}

function trustedItem(person: Person, { id, user_agent, ip, expires_at }: Trusted): Html {
  const { texts, isFresh } = person
  const { until, forget } = texts.account.sessions
  const name = browserName(texts, user_agent)
  const form = () => sectionForm('sessions', person, { step: 'forget', values: { id }, button: forget(name), isQuiet: true })
  return html`<h3>${name}</h3>
${paragraph(until(dayOf(texts, Date.parse(expires_at))), ip !== null && html`IP ${shown(ip)}.`)}${isFresh && form()}`
}
