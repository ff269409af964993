import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { accountPath, accountSections } from '../../lib/account-sections.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { html } from '../../lib/html.ts'
import { canonicalLocale, languages } from '../../lib/locale.ts'
import { App } from '../../models/app.ts'
import { UserApp } from '../../models/user-app.ts'
import { checkbox, field, nameOf, select, shown } from '../../pages/fields.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { callerOfBrowser, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { exportSelf } from '../../resources/user-exports/user-exports.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { deleteSelf, updateOnPage } from '../profile/profile.ts'
import { foreseeEntry } from '../sign-in/enter.ts'
import { assertPagesOn } from '../sign-in/page-answer.ts'
import type { AccountForm } from './schema.ts'
import { paragraph, refuseChange, type Section, sectionForm } from './section.ts'

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

/**
 * The app that a person came from: one that they can enter, and that has exactly this redirect URL. It is the app of the page, one
 * that the person was let into, or one that lets them in without a grant. Undefined for any other URL, so that nobody is led to the
 * site of a stranger.
 */
async function findAppToReturnTo(
  deps: Deps,
  { user, app, returnTo }: { user: PooledUser; app: App | undefined; returnTo: string },
  actor: Actor,
): Promise<App | undefined> {
  if (returnTo === '' || returnTo.includes('*')) return undefined
  const catalog = await readCatalog(deps)
  const granted = await UserApp.listStates(deps.db, user.id)
  const open = await App.listOpen(deps.db)
  const ids = new Set([...(app ? [app.id] : []), ...granted.map(({ app_id: id }) => id), ...open.map(({ id }) => id)])
  for (const id of ids) {
    const candidate = await catalog.findApp({ id })
    if (!candidate?.allowed_redirect_urls.includes(returnTo)) continue
    // What the person has still to show or to set up is no reason to keep them here: the app asks for it.
    const shown = { method: 'password', second: 'shown' as const, shownAt: deps.clock() }
    const { refusal } = await foreseeEntry(deps, { user, app: candidate, organizationId: undefined, shown }, actor)
    if (refusal === undefined) return candidate
  }
  return undefined
}

const namesOfLanguages = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  it: 'Italiano',
  pt: 'Português',
} satisfies Record<(typeof languages)[number], string>

/** The names, and the language of pages and mails. */
export const profile: Section = {
  name: 'profile',
  title: ({ account }) => account.sections.profile,
  async show(_, person) {
    const { texts, user, isFresh, refusal } = person
    const { fields, account } = texts
    const name = { type: 'text', isOptional: true, isFixed: !isFresh } as const
    const own = user.locale !== null && !languages.some((language) => language === user.locale) ? [user.locale] : []
    const options = [
      { value: '', label: account.profile.anyLanguage },
      ...languages.map((language) => ({ value: language, label: namesOfLanguages[language] })),
      // Another tag than those, such as `pt-BR`, that an app has stored.
      ...own.map((locale) => ({ value: locale, label: locale })),
    ]
    const parts = [
      field(
        texts,
        { ...name, name: 'first_name', label: fields.firstName, autocomplete: 'given-name', value: user.first_name ?? '' },
        refusal,
      ),
      field(
        texts,
        { ...name, name: 'last_name', label: fields.lastName, autocomplete: 'family-name', value: user.last_name ?? '' },
        refusal,
      ),
    ]
    if (!isFresh) return { body: html`${parts}` }
    const language = select({ name: 'locale', label: account.profile.language, value: user.locale ?? '' }, options)
    return { body: sectionForm('profile', person, { step: 'save', button: account.save }, ...parts, language) }
  },
  steps: {
    async save(deps, form, _, actor) {
      await updateOnPage(deps, profileFields(form), actor.caller, actor)
      return { done: 'saved' }
    },
  },
}

/** The names and the locale of a form. What is empty is cleared. */
function profileFields(form: AccountForm) {
  return { first_name: nameIn(form, 'first_name'), last_name: nameIn(form, 'last_name'), locale: localeIn(form) }
}

function nameIn(form: AccountForm, field: 'first_name' | 'last_name'): string | null {
  const name = form[field].trim()
  if (name.length > MAX_NAME) throw fieldError(field, 'too_long', `must have at most ${MAX_NAME} characters`)
  return name || null
}

function localeIn({ locale }: AccountForm): string | null {
  if (locale.trim() === '') return null
  const tag = canonicalLocale(locale)
  if (tag === undefined) throw fieldError('locale', 'invalid_value', 'must be a language tag of BCP 47')
  return tag
}

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
