import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json, PASSWORD } from '../support/service.ts'

// Frozen, so that no minute ends between two tries.
const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: '3/300', AUTH_LOCKOUT_THRESHOLD: '2' }, { frozen: true })

const someEmail = () => `${randomUUID()}@example.com`
const logIn = (email: string, app_code: string | null, password = PASSWORD) =>
  service.call('POST', '/auth/login', { body: { email, password, app_code } })

async function refusals(query: Record<string, string>): Promise<Json[]> {
  const { body } = await service.admin('GET', `/admin/audit?${new URLSearchParams({ event: 'login.failed', ...query })}`)
  return body.items.map(({ reason, count, app_id, user_id, details }: Json) => ({ reason, count, app_id, user_id, details }))
}

test('a login without an app, with an unknown one and with an inactive one is audited', async () => {
  const email = someEmail()
  const app = await buildApp(service)
  await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { status: 'inactive' } })
  const unknown = `unknown-${randomUUID()}`
  expectError(await logIn(email, null), 'app_code_required')
  expectError(await logIn(email, unknown), 'app_not_found')
  expectError(await logIn(email, app.code), 'app_inactive')
  const nobodys = { count: 1, user_id: null, app_id: null }
  expect(await refusals({ email })).toEqual([
    { ...nobodys, reason: 'app_inactive', details: { email, app_code: app.code } },
    { ...nobodys, reason: 'app_not_found', details: { email, app_code: unknown } },
    { ...nobodys, reason: 'app_code_required', details: { email } },
  ])
})

test('any number at once for one app and reason is one event a minute, which counts them', async () => {
  const unknown = `unknown-${randomUUID()}`
  const email = someEmail()
  await Promise.all([logIn(email, unknown), ...Array.from({ length: 19 }, () => logIn(someEmail(), unknown))])
  const counts = async () => {
    const rows = await refusals({ limit: '200' })
    return rows.filter(({ details }) => details.app_code === unknown).map(({ count }) => count)
  }
  expect(await counts()).toEqual([20])
  service.advance(60)
  await logIn(email, unknown)
  expect(await counts()).toEqual([1, 20])
})

test('what the limit of the account and the lockout refuse is audited with its user, and counted too', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  for (let tries = 0; tries < 6; tries += 1) await logIn(user.email, app.code, 'the wrong one')
  const about = { app_id: app.id, user_id: user.id, details: { email: user.email } }
  expect(await refusals({ email: user.email })).toEqual([
    { ...about, reason: 'rate_limited', count: 3 },
    { ...about, reason: 'account_locked', count: 1 },
    { ...about, reason: 'wrong_password', count: 1 },
    { ...about, reason: 'wrong_password', count: 1 },
  ])
})

test('erasing a user takes the address out of what was refused, also where no user was known', async () => {
  const { user } = await buildUser(service, await buildApp(service))
  await logIn(user.email, `unknown-${randomUUID()}`)
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  expect(await refusals({ email: user.email })).toEqual([])
  expect(JSON.stringify(await service.deps.db('audit_events'))).not.toContain(user.email)
})
