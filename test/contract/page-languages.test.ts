// In which language a page is written (docs/sign-users-in/sign-in-page.md#languages).
import { expect, onTestFinished, test } from 'vitest'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { buildApp, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { type Arrival, askFor, type Page, type Visitor, visit } from '../support/sign-in-page.ts'

const { service, mailbox } = mailingFixture()
const open = { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] }
const shop = appFixture(service, { ...open, name: 'Shop' })
const italian = appFixture(service, { ...open, name: 'Shop', brand: { default_language: 'it' } })
const closed = appFixture(service, { name: 'Vault', allowed_redirect_urls: open.allowed_redirect_urls })

const titles = { en: 'Sign in', de: 'Anmelden', fr: 'Se connecter', es: 'Iniciar sesión', it: 'Accedi', pt: 'Entrar' }
const accepts = (languages: string) => ({ 'accept-language': languages })

/** The language of a page, by its document and its header. */
function languageOf({ html, headers }: Page): string | undefined {
  const language = /<html lang="(\w+)">/.exec(html)?.[1]
  expect(headers.get('content-language')).toBe(language)
  expect(headers.get('vary')).toContain('Accept-Language')
  return language
}

/** Sends the form of a step, in whatever language the page is. */
function take(visitor: Visitor, page: Page, step: string, values: Record<string, string> = {}, headers = {}): Promise<Arrival> {
  const form = page.forms.find((form) => form.values.step === step)
  return visitor.send({ ...page, forms: form ? [form] : [] }, [...(form?.buttons.keys() ?? [])][0] ?? '', values, headers)
}

async function build(app: Json, locale?: string) {
  const email = someEmail()
  const { body } = await service.call('POST', '/auth/register', {
    body: { email, password: PASSWORD, app_code: app.code, locale },
  })
  return { email, password: PASSWORD, token: body.access_token }
}

test.each([
  ['the request of the app', 'fr', italian, 'zh fr-CA de', 'es'],
  ['the browser, if no locale of the app has a translation', 'es', italian, 'zh x-klingon -- de_AT', 'nl, es-MX;q=0.5, de;q=0.2'],
  ['the browser', 'pt', italian, undefined, 'pt-BR,pt;q=0.9,en;q=0.8'],
  ['the app', 'it', italian, '', 'zh'],
  ['the default, English', 'en', shop, undefined, 'zh'],
  ['the default, English, after garbage headers', 'en', shop, ` ${'x'.repeat(3_000)}`, `;;q=,${'x'.repeat(4_000)}, de-`],
] as const)('the language of a page comes from %s', async (_, language, app, ui_locales, languages) => {
  const page = await visit(service).get(askFor(app, { ui_locales }).path, accepts(languages))
  expect([languageOf(page), page.title]).toEqual([language, titles[language]])
})

test("the language that the app asks for applies to all steps and refusals, even against the user's own", async () => {
  const user = await build(shop, 'de')
  const visitor = visit(service)
  const headers = accepts('es')
  const first = await visitor.get(askFor(closed, { ui_locales: 'fr' }).path, headers)
  const refused = await take(visitor, first, 'sign_in', { ...user, password: 'a slip of the finger' }, headers)
  expect([languageOf(refused), refused.html.includes('incorrect.')]).toEqual(['fr', true])
  const asking = await visitor.send(refused, 'Recevoir un code par e-mail', {}, headers)
  expect([languageOf(asking), asking.title]).toEqual(['fr', 'Se connecter par e-mail'])
  const mailed = await take(visitor, asking, 'ask_mail', { email: user.email }, headers)
  expect([languageOf(mailed), mailed.title]).toEqual(['fr', 'Consultez votre messagerie'])
  const back = await take(visitor, mailed, 'restart', {}, headers)
  const entered = await take(visitor, back, 'sign_in', user, headers)
  expect([languageOf(entered), entered.title]).toEqual(['fr', 'Vous n&#8217;avez pas encore accès'.replace('&#8217;', '’')])
})

test('a signed-in user reads their own language until they sign out', async () => {
  const user = await build(shop, 'de-AT')
  const visitor = visit(service)
  const headers = accepts('es')
  const { path } = askFor(closed)
  const refused = await take(visitor, await visitor.get(path, headers), 'sign_in', user, headers)
  expect([languageOf(refused), refused.title]).toEqual(['de', 'Sie haben noch keinen Zugriff'])
  const passkeys = await visitor.get(`/account/passkeys?app=${shop.code}`, headers)
  expect([languageOf(passkeys), passkeys.title]).toEqual(['de', 'Ihre Passkeys'])
  await service.call('PATCH', '/auth/me', { token: user.token, body: { locale: 'pt' } })
  expect(languageOf(await visitor.get(path, headers))).toBe('pt')
  const ask = await visitor.get('/oauth/logout', headers)
  const done = await visitor.send(ask, 'Sair', {}, headers)
  expect([languageOf(done), done.title]).toEqual(['pt', 'Você saiu'])
  expect(languageOf(await visitor.get(path, headers))).toBe('es')
  expect(languageOf(await visitor.get('/oauth/logout?ui_locales=it', headers))).toBe('it')
})

test("pages behind mail links are in the user's language, and a dead link is in the browser's", async () => {
  const { email } = await build(shop, 'fr')
  const link = new URL((await mailbox.take(email)).links[0] ?? '')
  const visitor = visit(service)
  const page = await visitor.get(link.pathname + link.search, accepts('de'))
  expect([languageOf(page), page.title]).toEqual(['fr', 'Confirmez votre adresse e-mail'])
  const refused = await visitor.send(page, 'Oui, la confirmer', {}, accepts('de'))
  expect([refused.status, languageOf(refused)]).toEqual([400, 'fr'])
  expect(refused.html).toContain('Mot de passe&#160;: ce champ est obligatoire')
  const confirmed = await visitor.send(page, 'Oui, la confirmer', { password: PASSWORD }, accepts('de'))
  expect([languageOf(confirmed), confirmed.title]).toEqual(['fr', 'Votre adresse e-mail est confirmée'])
  const dead = await visitor.get(link.pathname + link.search, accepts('de'))
  expect([dead.status, languageOf(dead), dead.title]).toEqual([400, 'de', 'Dieser Link funktioniert nicht'])
})

test("errors and the page at the root are in the browser's language", async () => {
  const visitor = visit(service)
  const headers = { ...accepts('it'), accept: 'text/html' }
  const root = await visitor.get('/', headers)
  expect([languageOf(root), root.title]).toEqual(['it', 'Qui accedi alle tue app'])
  const unknown = await visitor.get(askFor(shop, { client_id: 'unknown' }).path, headers)
  expect([unknown.status, languageOf(unknown), unknown.title]).toEqual([400, 'it', 'Questa app non è nota qui'])
  const forged = await visitor.post(`${service.url}/oauth/logout`, {}, { ...headers, 'sec-fetch-site': 'cross-site' })
  expect([forged.status, forged.headers.get('content-language')]).toEqual([403, 'it'])
  const start = await visitor.get('/api/v1/auth/sso/unknown/callback?state=unknown', headers)
  expect([languageOf(start), start.title]).toEqual(['it', 'Non ha funzionato'])
})

test('a form that is refused unread, by origin or limit, names its app and leads there', async () => {
  const app = await buildApp(service, {
    ...open,
    name: 'Notes',
    frontend_url: 'https://notes.example/',
    brand: { default_language: 'it' },
  })
  const visitor = visit(service)
  const { path } = askFor(app)
  const values = { query: path.slice(path.indexOf('?') + 1) }
  const sent = async (site: string) => {
    const reply = await visitor.post(`${service.url}/oauth/authorize`, values, { 'sec-fetch-site': site })
    return [reply.status, await reply.text()]
  }
  const named = [expect.stringContaining('<title>'), expect.stringContaining('Vai a <bdi>Notes</bdi>')]
  const [status, html] = await sent('cross-site')
  expect([status, html, html]).toEqual([403, ...named])
  const { config } = service.deps
  const { ipLimit } = config
  onTestFinished(() => void Object.assign(config, { ipLimit }))
  config.ipLimit = { count: 1, seconds: 60 }
  await sent('same-origin')
  const [limited, page] = await sent('same-origin')
  expect([limited, page, page]).toEqual([429, ...named])
  const passkeys = await visitor.post(`${service.url}/account/passkeys`, { app: app.code }, { 'sec-fetch-site': 'cross-site' })
  expect(await passkeys.text()).toContain('Vai a <bdi>Notes</bdi>')
  const logout = { query: new URLSearchParams({ client_id: app.code }).toString() }
  const leaving = await visitor.post(`${service.url}/oauth/logout`, logout, { 'sec-fetch-site': 'cross-site' })
  expect([leaving.status, await leaving.text()]).toEqual([403, expect.stringContaining('Vai a <bdi>Notes</bdi>')])
  const again = await visitor.post(`${service.url}/oauth/logout`, logout)
  expect([again.status, await again.text()]).toEqual([429, expect.stringContaining('Vai a <bdi>Notes</bdi>')])
  const nobody = await visitor.post(
    `${service.url}/oauth/authorize`,
    { query: 'client_id=unknown' },
    { 'sec-fetch-site': 'cross-site' },
  )
  expect(nobody.status).toBe(403)
})
