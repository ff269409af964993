// In which language a mail is written (docs/sign-users-in/account-mail.md#languages).
import { expect, test } from 'vitest'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { buildApp, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { askFor, exchange, type Page, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture()
const shop = appFixture(service, {
  name: 'Shop',
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example/callback'],
})
const italian = appFixture(service, { name: 'Shop', auto_grant_on_signup: true, brand: { default_language: 'it' } })

const confirms = {
  en: /^Confirm /,
  de: /^Bestätigen Sie/,
  fr: /^Confirmez/,
  es: /^Confirma tu/,
  it: /^Conferma il/,
  pt: /^Confirme/,
}
const resets = { en: /^Set a new/, de: /^Legen Sie/, es: /^Elige una/, it: /^Scegli una/ }

async function register(app: Json, extra: object, acceptLanguage = '*') {
  const email = someEmail()
  const body = { email, password: PASSWORD, app_code: app.code, ...extra }
  const reply = await service.call('POST', '/auth/register', { body, headers: { 'Accept-Language': acceptLanguage } })
  expect(reply.status).toBe(201)
  return { email, mail: await mailbox.take(email), ...reply.body }
}

async function forgot(app: Json, email: string, acceptLanguage = '*') {
  const headers = { 'Accept-Language': acceptLanguage }
  const { status } = await service.call('POST', '/auth/password/forgot', { body: { email, app_code: app.code }, headers })
  expect(status).toBe(202)
  return mailbox.take(email)
}

test.each([
  ['the locale of the user', 'de', italian, { locale: 'de-AT' }, 'fr, es;q=0.5'],
  ['the browser, if the locale has no translation', 'fr', italian, { locale: 'zh' }, 'nl, fr-CA;q=0.7, en;q=0.3'],
  ['the browser', 'pt', italian, {}, 'pt-BR,pt;q=0.9,en;q=0.8'],
  ['the app', 'it', italian, {}, 'zh, ja;q=0.5'],
  ['the default, English', 'en', shop, {}, 'zh'],
  ['the default, English, after a garbage header', 'en', shop, {}, `;;q=,${'x'.repeat(4_000)}, de-`],
] as const)('the language of a mail comes from %s', async (_, language, app, extra, acceptLanguage) => {
  const { mail } = await register(app, extra, acceptLanguage)
  expect(mail.subject).toMatch(confirms[language])
  expect(mail.html).toContain(`<html lang="${language}">`)
})

test('a mail to an address is in the language of its user, or else in that of the request', async () => {
  const german = await register(italian, { locale: 'de' })
  expect((await forgot(italian, german.email, 'fr')).subject).toMatch(resets.de)
  await service.call('PATCH', '/auth/me', { token: german.access_token, body: { locale: 'es-MX' } })
  expect((await forgot(italian, german.email, 'fr')).subject).toMatch(resets.es)
  const silent = await register(italian, {})
  expect((await forgot(italian, silent.email, 'de;q=0.1, xx')).subject).toMatch(resets.de)
  expect((await forgot(italian, silent.email)).subject).toMatch(resets.it)
})

test("a notice about an admin's change is not in the language of the admin", async () => {
  const { user, email, access_token } = await register(italian, {})
  await enableTwoFactor(service, access_token)
  expect((await mailbox.take(email)).subject).toMatch(/^Autenticazione a due fattori attivata/)
  const headers = { 'Accept-Language': 'fr' }
  expect((await service.admin('DELETE', `/admin/users/${user.id}/2fa`, { headers })).status).toBe(204)
  expect((await mailbox.take(email)).text).toContain('Un amministratore ha disattivato')
})

test('an invitation is in the language of the app, or else of the inviter', async () => {
  const organization = (await service.admin('POST', '/admin/organizations', { body: { name: 'Acme' } })).body
  const invite = async (app_code: string | undefined) => {
    const email = someEmail()
    const body = { email, app_code, role_codes: ['org_member'] }
    const headers = { 'Accept-Language': 'fr' }
    const path = `/admin/organizations/${organization.id}/invitations`
    expect((await service.admin('POST', path, { body, headers })).status).toBe(201)
    return (await mailbox.take(email)).subject
  }
  expect(await invite(italian.code)).toBe('Hai ricevuto un invito da un’organizzazione su Shop')
  expect(await invite(shop.code)).toBe('Vous avez reçu une invitation à rejoindre une organisation sur Shop')
  expect(await invite(undefined)).toBe('Vous avez reçu une invitation à rejoindre une organisation sur localhost:4000')
})

/** Sends the form of a step, in whatever language the page is. */
function take(visitor: Visitor, page: Page, step: string, values: Record<string, string>, headers: Record<string, string>) {
  const form = page.forms.find((form) => form.values.step === step)
  return visitor.send({ ...page, forms: form ? [form] : [] }, [...(form?.buttons.keys() ?? [])][0] ?? '', values, headers)
}

test("a user who creates an account on the page gets mail in ui_locales, or else in the browser's language", async () => {
  const create = async (ui_locales: string | undefined, acceptLanguage: string) => {
    const headers = { 'Accept-Language': acceptLanguage }
    const visitor = visit(service)
    const asked = askFor(shop, { prompt: 'create', ui_locales })
    const email = someEmail()
    const fields = { email, password: PASSWORD }
    const { app } = await take(visitor, await visitor.get(asked.path, headers), 'register', fields, headers)
    const { subject } = await mailbox.take(email)
    const token = (await exchange(service, shop, asked, app)).body.access_token
    return { subject, locale: (await service.call('GET', '/auth/me', { token })).body.locale }
  }
  expect(await create('zh fr-CA', 'de')).toEqual({ subject: expect.stringMatching(confirms.fr), locale: 'fr-CA' })
  expect(await create(undefined, 'es-MX;q=0.5, pt-BR')).toEqual({ subject: expect.stringMatching(confirms.pt), locale: 'pt-BR' })
  expect(await create(undefined, 'zh')).toEqual({ subject: expect.stringMatching(confirms.en), locale: null })
})

test('a preview and a test mail exist in each language', async () => {
  const { code } = await buildApp(service, { name: 'Shop', brand: { default_language: 'es' } })
  const subjectOf = async (query: string) =>
    (await service.admin('GET', `/admin/apps/${code}/mails/password_changed${query}`)).body.subject
  expect(await subjectOf('')).toBe('Se ha cambiado tu contraseña de Shop')
  expect(await Promise.all(['en', 'de', 'fr', 'es', 'it', 'pt'].map((language) => subjectOf(`?language=${language}`)))).toEqual([
    'Your password for Shop was changed',
    'Ihr Passwort für Shop wurde geändert',
    'Votre mot de passe Shop a été modifié',
    'Se ha cambiado tu contraseña de Shop',
    'La tua password di Shop è stata cambiata',
    'Sua senha de Shop foi alterada',
  ])
  const to = someEmail()
  await service.admin('POST', `/admin/apps/${code}/test-mail`, { body: { to, language: 'de' } })
  expect((await mailbox.take(to)).subject).toBe('Test-E-Mail für Shop')
})
