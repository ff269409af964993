// A user's own sessions, ended one by one or all at once.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildUser, claimsOf, type Json } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)
const other = appFixture(service)

const me = async (token: string) => (await service.call('GET', '/auth/me', { token })).status
const refresh = async (refresh_token: string) => (await service.call('POST', '/auth/refresh', { body: { refresh_token } })).status

test('a user sees their living sessions, newest first, with the current one marked', async () => {
  const { user, access_token } = await buildUser(service, app)
  await buildUser(service, app)
  const second = (await service.login(user.email, other.code)).body
  const third = (await service.login(user.email, app.code)).body
  await service.call('POST', '/auth/logout', { body: { refresh_token: third.refresh_token } })

  const { status, body } = await service.call('GET', '/auth/sessions', { token: second.access_token })
  expect(status).toBe(200)
  expect(body.items.map(({ id, app, current }: Json) => ({ id, app: app.code, current }))).toEqual([
    { id: claimsOf(second.access_token).sid, app: other.code, current: true },
    { id: claimsOf(access_token).sid, app: app.code, current: false },
  ])
  expect(body.items[0]).toMatchObject({ auth_method: 'password', ip: '127.0.0.1', expires_at: expect.any(String) })

  const page = await service.call('GET', '/auth/sessions?limit=1', { token: second.access_token })
  const next = await service.call('GET', `/auth/sessions?limit=1&cursor=${page.body.next_cursor}`, { token: second.access_token })
  expect(next.body.items.map(({ id }: Json) => id)).toEqual([claimsOf(access_token).sid])
  expect(next.body.next_cursor).toBeNull()
})

test('ending a session ends only its own tokens, and a session of another user is 404', async () => {
  const { user, access_token, refresh_token } = await buildUser(service, app)
  const second = (await service.login(user.email, app.code)).body
  const stranger = await buildUser(service, app)
  const path = `/auth/sessions/${claimsOf(access_token).sid}`
  expect((await service.call('DELETE', path, { token: stranger.access_token })).status).toBe(404)
  expect((await service.call('DELETE', `/auth/sessions/${randomUUID()}`, { token: second.access_token })).status).toBe(404)

  expect((await service.call('DELETE', path, { token: second.access_token })).status).toBe(204)
  expect(await me(access_token)).toBe(401)
  expect(await refresh(refresh_token)).toBe(401)
  expect(await me(second.access_token)).toBe(200)
  expect((await service.call('DELETE', path, { token: second.access_token })).status).toBe(404)
})

// covers user-token-version claim-version auth-version auth-logout-everywhere
test('logout-all ends every session in every app, and a new login works', async () => {
  const { user, access_token, refresh_token } = await buildUser(service, app)
  const second = (await service.login(user.email, other.code)).body
  const stranger = await buildUser(service, app)
  expect((await service.call('POST', '/auth/logout-all', { token: second.access_token })).status).toBe(204)
  expect([await me(access_token), await me(second.access_token)]).toEqual([401, 401])
  expect([await refresh(refresh_token), await refresh(second.refresh_token)]).toEqual([401, 401])
  expect(await me(stranger.access_token)).toBe(200)
  const { access_token: next } = (await service.login(user.email, app.code)).body
  expect(await me(next)).toBe(200)
  expect([access_token, second.access_token, next].map((token) => claimsOf(token).tv)).toEqual([0, 0, 1])
  const rows = await service.deps.db('revocations').where({ user_id: user.id }).select('app_id', 'session_id', 'min_tv')
  expect(rows).toEqual([{ app_id: null, session_id: null, min_tv: 1 }])
})

test('an admin signs a user out everywhere', async () => {
  const { user, access_token } = await buildUser(service, app)
  expect((await service.admin('POST', `/admin/users/${user.id}/logout`)).status).toBe(204)
  expect(await me(access_token)).toBe(401)
  expect((await service.admin('POST', `/admin/users/${randomUUID()}/logout`)).status).toBe(404)
  const events = await service.deps.db('audit_events').where({ user_id: user.id, event: 'logout.all' })
  expect(events).toHaveLength(1)
})

test('a login that races with logout-all survives only if it comes after it', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { user, access_token } = await buildUser(service, app)
    const [, ...logins] = await Promise.all([
      service.call('POST', '/auth/logout-all', { token: access_token }),
      ...Array.from({ length: 6 }, () => service.login(user.email, app.code)),
    ])
    const { min_token_version: floor } = await service.deps.db('users').where({ id: user.id }).first('min_token_version')
    for (const { body } of logins) {
      const came = claimsOf(body.access_token).tv >= floor
      expect(await me(body.access_token)).toBe(came ? 200 : 401)
      expect(await refresh(body.refresh_token)).toBe(came ? 200 : 401)
    }
  }
})
