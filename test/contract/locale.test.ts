// The language of a user (docs/administer/users.md#the-language-of-a-user).
import { describe, expect, test } from 'vitest'
import { faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildUser, PASSWORD, someEmail } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)

const me = (token: string) => service.call('GET', '/auth/me', { token })
const patch = (token: string, body: unknown) => service.call('PATCH', '/auth/me', { token, body })
const register = (extra: object, acceptLanguage?: string) =>
  service.call('POST', '/auth/register', {
    body: { email: someEmail(), password: PASSWORD, app_code: app.code, ...extra },
    headers: acceptLanguage === undefined ? {} : { 'Accept-Language': acceptLanguage },
  })

describe('the locale of a registration', () => {
  test.each([
    ['the one that was sent', { locale: 'de-AT' }, 'fr', 'de-AT'],
    ['the one that was sent, in its usual spelling', { locale: 'PT-br' }, undefined, 'pt-BR'],
    ['the one that was sent, also without texts in that language', { locale: 'zh-Hant-TW' }, 'fr', 'zh-Hant-TW'],
    ['that of the browser', {}, 'zh, es-MX;q=0.8, en;q=0.9', 'en'],
    ['that of the browser if a blank one was sent', { locale: ' ' }, 'it-CH', 'it-CH'],
    ['null if the browser names no language with texts', {}, 'zh, *;q=0.5', null],
    ['null if nothing was sent', {}, undefined, null],
  ])('the stored locale is %s', async (_, extra, acceptLanguage, locale) => {
    const { status, body } = await register(extra, acceptLanguage)
    expect(status).toBe(201)
    expect(body.user).not.toHaveProperty('locale')
    expect((await me(body.access_token)).body.locale).toBe(locale)
    expect((await service.admin('GET', `/admin/users/${body.user.id}`)).body.locale).toBe(locale)
  })

  test.each(['de_AT', 'german', '*', 'de,en', `de-${'x'.repeat(5_000)}`, 7, ['de'], {}])(
    'the locale %j is refused',
    async (locale) => {
      const reply = await register({ locale }, 'de')
      expect(faultsOf(reply)).toEqual([expect.stringMatching(/^locale: invalid_/)])
    },
  )

  test('a long Accept-Language header is ignored', async () => {
    const { status, body } = await register({}, `${'zz,'.repeat(2_000)}de`)
    expect(status).toBe(201)
    expect((await me(body.access_token)).body.locale).toBeNull()
  })
})

test('users change their locale, which is audited, and null and blank text clear it', async () => {
  const { user, access_token } = await buildUser(service, app, { locale: 'de' })
  const before = (await me(access_token)).body
  const changed = await patch(access_token, { locale: 'fr-ca' })
  expect(changed.body).toEqual({ ...before, locale: 'fr-CA' })
  expect((await patch(access_token, { locale: 'fr-CA', first_name: 'Ada' })).body.locale).toBe('fr-CA')
  for (const blank of [null, '', '  ']) {
    await patch(access_token, { locale: 'it' })
    expect((await patch(access_token, { locale: blank })).body.locale).toBeNull()
  }
  expect(faultsOf(await patch(access_token, { locale: 'fr_CA' }))).toEqual(['locale: invalid_value'])
  const [first, second] = await auditEvents(service, { user_id: user.id, event: 'user.updated' })
  expect(first.details).toEqual({ before: { locale: 'de' }, after: { locale: 'fr-CA' } })
  expect(second.details).toEqual({ before: { first_name: null }, after: { first_name: 'Ada' } })
})

test('an admin sets the locale of a user', async () => {
  const made = await service.admin('POST', '/admin/users', { body: { email: someEmail(), locale: 'es-mx' } })
  expect(made.body.locale).toBe('es-MX')
  const path = `/admin/users/${made.body.id}`
  expect((await service.admin('PATCH', path, { body: { locale: 'pt' } })).body.locale).toBe('pt')
  expect((await service.admin('PATCH', path, { body: { locale: null } })).body.locale).toBeNull()
  expect(faultsOf(await service.admin('PATCH', path, { body: { locale: 'x' } }))).toEqual(['locale: invalid_value'])
  expect(faultsOf(await service.admin('POST', '/admin/users', { body: { email: someEmail(), locale: '-' } }))).toEqual([
    'locale: invalid_value',
  ])
})

test('erasing a user erases the locale, in the audit too', async () => {
  const { user, access_token } = await buildUser(service, app, { locale: 'de-AT' })
  await patch(access_token, { locale: 'de-CH' })
  const path = `/admin/users/${user.id}?erase=true`
  expect((await service.admin('DELETE', path)).status).toBe(204)
  expect((await service.admin('GET', `/admin/users/${user.id}`)).body.locale).toBeNull()
  expect(await service.deps.db('users').where({ id: user.id }).first('locale')).toEqual({ locale: null })
  const events = JSON.stringify(await auditEvents(service, { user_id: user.id }))
  expect(events).not.toMatch(/de-AT|de-CH/)
})
