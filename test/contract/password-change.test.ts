// A user's change of the password.
import { createBrowserAuth } from '@gatehouse/sdk/browser'
import { expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { addMember, buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, somePool } from '../support/service.ts'

const NEW_PASSWORD = 'a new horse battery staple'

const service = serviceFixture()
const app = appFixture(service)

const me = async (token: string) => (await service.call('GET', '/auth/me', { token })).status
const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
const change = (token: string, body: Json = { current_password: PASSWORD, new_password: NEW_PASSWORD }) =>
  service.call('POST', '/auth/password/change', { token, body })

test('the session of the change continues with new tokens, other sessions end, and only the new password works', async () => {
  const { user, access_token, refresh_token } = await buildUser(service, app)
  const elsewhere = (await service.login(user.email, app.code)).body
  const { status, body } = await change(access_token)
  expect(status).toBe(200)
  expect(body).toMatchObject({ token_type: 'Bearer', user: { id: user.id }, app: { code: app.code }, organization: null })
  expect(claimsOf(body.access_token)).toMatchObject({ sid: claimsOf(access_token).sid, tv: claimsOf(access_token).tv + 1 })

  expect(await me(body.access_token)).toBe(200)
  expect([await me(access_token), await me(elsewhere.access_token)]).toEqual([401, 401])
  expect((await refresh(elsewhere.refresh_token)).status).toBe(401)
  expect((await refresh(refresh_token)).body.code).toBe('invalid_refresh_token')
  const next = await refresh(body.refresh_token)
  expect(next.status).toBe(200)
  expect(await me(next.body.access_token)).toBe(200)

  expect((await service.login(user.email, app.code)).body.code).toBe('invalid_credentials')
  expect((await service.login(user.email, app.code, { password: NEW_PASSWORD })).status).toBe(200)
})

test("a page that changes password and name with the SDK's fetch stays signed in and shows the new name", async () => {
  const { user } = await buildUser(service, app)
  const page = createBrowserAuth({ authUrl: service.url, appCode: app.code, storage: 'memory' })
  await page.login({ email: user.email, password: PASSWORD })
  const send = (method: string, path: string, body?: Json) =>
    page.fetch(`${service.url}/api/v1${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
  const passwords = { current_password: PASSWORD, new_password: NEW_PASSWORD }
  expect((await send('POST', '/auth/password/change', passwords)).status).toBe(200)
  expect((await send('PATCH', '/auth/me', { first_name: 'Augusta' })).status).toBe(200)
  expect(page.state).toMatchObject({ status: 'signed_in', user: { id: user.id, email: user.email, first_name: 'Augusta' } })
  expect((await send('GET', '/auth/me')).status).toBe(200)
  expect(page.state.status).toBe('signed_in')
  await page.logout()
})

test('a wrong current password changes nothing, and counts like a failed login', async () => {
  const strict = await buildService({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: '4/60' })
  const place = await buildApp(strict, { auto_grant_on_signup: true })
  const { user, access_token } = await buildUser(strict, place)
  const guess = () =>
    strict.call('POST', '/auth/password/change', {
      token: access_token,
      body: { current_password: 'a wrong guess', new_password: NEW_PASSWORD },
    })
  const codes: string[] = []
  for (let tries = 0; tries < 5; tries += 1) codes.push((await guess()).body.code)
  expect(codes).toEqual(['invalid_credentials', 'invalid_credentials', 'invalid_credentials', 'account_locked', 'rate_limited'])
  strict.advance(1_000)
  expect((await strict.login(user.email, place.code)).status).toBe(200)
})

test('a stranger who locks the password does not keep its signed-in user from changing it', async () => {
  const strict = await buildService({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: '5/300' })
  const place = await buildApp(strict, { auto_grant_on_signup: true })
  const { user, access_token: token } = await buildUser(strict, place)
  for (let count = 0; count < 6; count += 1) await strict.login(user.email, place.code, { password: 'a guess' })
  expectError(await strict.login(user.email, place.code), 'rate_limited')
  const body = { current_password: PASSWORD, new_password: NEW_PASSWORD }
  expect((await strict.call('POST', '/auth/password/change', { token, body })).status).toBe(200)
  // The lock of logins is as it was.
  strict.advance(301)
  expectError(await strict.login(user.email, place.code, { password: NEW_PASSWORD }), 'account_locked')
})

test('wrong current passwords lock only the session that sent them, until an unlock', async () => {
  const strict = await buildService({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: 'off' })
  const place = await buildApp(strict, { auto_grant_on_signup: true })
  const { user, access_token: guessing } = await buildUser(strict, place)
  const other = (await strict.login(user.email, place.code)).body.access_token
  const call = (token: string, current_password: string, new_password = NEW_PASSWORD) =>
    strict.call('POST', '/auth/password/change', { token, body: { current_password, new_password } })
  for (let count = 0; count < 3; count += 1) expectError(await call(guessing, 'a guess'), 'invalid_credentials')
  expectError(await call(guessing, PASSWORD), 'account_locked')
  expect((await strict.login(user.email, place.code)).status).toBe(200)
  const changed = await call(other, PASSWORD)
  expect(changed.status).toBe(200)
  const key = `session:${user.id}:${claimsOf(guessing).sid}`
  const { body } = await strict.admin('GET', '/admin/lockouts')
  expect(body.items).toMatchObject([{ key, email: user.email, pool: null, failures: 3 }])
  await strict.admin('POST', `/admin/users/${user.id}/unlock`)
  expect((await strict.admin('GET', '/admin/lockouts')).body.items).toEqual([])
})

/** The token as if it was issued after the loss that ended it. Any consumer can sign one, because it holds the secret. */
function afterwards(token: string): string {
  const claims = claimsOf(token)
  return forgeToken({ ...claims, tv: claims.tv + 1 })
}

test('a change is refused, like a refresh, if the user has left the pools of the app or the organization', async () => {
  const [home, elsewhere] = [somePool(), somePool()]
  const place = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: home })
  const other = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: elsewhere })
  const { user } = await buildUser(service, other)
  const tag = (body: Json) => service.admin('PATCH', `/admin/users/${user.id}/namespaces`, { body })
  await tag({ add: [home] })
  const here = (await service.login(user.email, place.code)).body
  await tag({ remove: [home] })
  expectError(await change(here.access_token), 'token_revoked')
  expectError(await change(afterwards(here.access_token)), 'app_access_denied')

  const organization = await buildOrganization(service)
  await addMember(service, organization.id, user.id, ['org_member'])
  const inside = (await service.login(user.email, other.code, { organization_id: organization.id })).body
  await service.admin('DELETE', `/admin/organizations/${organization.id}/members/${user.id}`)
  expectError(await change(inside.access_token), 'token_revoked')
  expectError(await change(afterwards(inside.access_token)), 'organization_membership_required')
  expect((await service.login(user.email, other.code)).status).toBe(200)
})

test.each([
  ['too short', 'short', 'too_short'],
  ['the e-mail address', undefined, 'invalid_value'],
])('a new password that is %s is refused, and the error names the field', async (_, candidate, code) => {
  const { user, access_token } = await buildUser(service, app)
  const { status, body } = await change(access_token, { current_password: PASSWORD, new_password: candidate ?? user.email })
  expect({ status, errors: body.errors }).toMatchObject({ status: 400, errors: [{ path: 'new_password', code }] })
  expect(await me(access_token)).toBe(200)
})

test('one of ten concurrent changes wins, and only its tokens are valid', async () => {
  const { user, access_token } = await buildUser(service, app)
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      change(access_token, { current_password: PASSWORD, new_password: `${NEW_PASSWORD} ${index}` }),
    ),
  )
  const won = answers.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  expect(await me(won[0]!.body.access_token)).toBe(200)
  const index = answers.indexOf(won[0]!)
  expect((await service.login(user.email, app.code, { password: `${NEW_PASSWORD} ${index}` })).status).toBe(200)
  const live = await service.deps
    .db('refresh_tokens')
    .join('sessions', 'sessions.id', 'session_id')
    .where({ user_id: user.id })
    .whereNull('used_at')
    .whereNull('ended_at')
  expect(live).toHaveLength(2)
})
