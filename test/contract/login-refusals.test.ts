import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json, PASSWORD } from '../support/service.ts'

// Frozen, so that no minute ends between two tries.
const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: '3/300', AUTH_LOCKOUT_THRESHOLD: '2' }, { frozen: true })
const behindProxy = serviceFixture({ AUTH_TRUST_PROXY: '1', AUTH_RATE_LIMIT_ACCOUNT: '3/300' }, { frozen: true })

const someEmail = () => `${randomUUID()}@example.com`
const logIn = (email: string, app_code: string | null, password = PASSWORD) =>
  service.call('POST', '/auth/login', { body: { email, password, app_code } })

async function refusals(query: Record<string, string>): Promise<Json[]> {
  const { body } = await service.admin('GET', `/admin/audit?${new URLSearchParams({ event: 'login.failed', ...query })}`)
  const items = body.items.map(({ reason, count, app_id, user_id, details }: Json) => ({
    reason,
    count,
    app_id,
    user_id,
    details,
  }))
  // The clock stands still, so the events have no order.
  return items.sort((a: Json, b: Json) => a.reason.localeCompare(b.reason) || a.count - b.count)
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
    { ...nobodys, reason: 'app_code_required', details: { email } },
    { ...nobodys, reason: 'app_inactive', details: { email, app_code: app.code } },
    { ...nobodys, reason: 'app_not_found', details: { email, app_code: unknown } },
  ])
})

test('any number of refusals for one app and reason is one event a minute with a count', async () => {
  const app = await buildApp(service)
  await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { status: 'inactive' } })
  const email = someEmail()
  await Promise.all([logIn(email, app.code), ...Array.from({ length: 19 }, () => logIn(someEmail(), app.code))])
  const counts = async () => {
    const rows = await refusals({ limit: '200' })
    return rows.filter(({ details }) => details.app_code === app.code).map(({ count }) => count)
  }
  expect(await counts()).toEqual([20])
  service.advance(60)
  await logIn(email, app.code)
  expect(await counts()).toEqual([1, 20])
})

test('made-up app codes of any number and length from one IPv6 network are one small event a minute for each reason', async () => {
  const email = someEmail()
  const codes = Array.from({ length: 12 }, () => `${randomUUID()}`.padEnd(2_000, 'x'))
  await Promise.all(
    codes.map((app_code, index) =>
      behindProxy.call('POST', '/auth/login', {
        // Some are refused by the limit of the account.
        body: { email: index < 6 ? email : someEmail(), password: PASSWORD, app_code },
        headers: { 'x-forwarded-for': `2001:db8:1:2::${index + 1}` },
      }),
    ),
  )
  const rows: Json[] = await behindProxy.deps.db('audit_events').where({ event: 'login.failed' }).orderBy('reason')
  expect(rows.map(({ reason }) => reason)).toEqual(['app_not_found', 'rate_limited'].slice(0, rows.length))
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(12)
  for (const { details } of rows) expect(JSON.parse(details).app_code).toMatch(/^.{100}…$/)
})

test('overrides that a registration asks for and does not get are audited and logged, cut to a limited length', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const linked_app_codes = Array.from({ length: 50 }, () => randomUUID().padEnd(1_000, 'x'))
  const { status, body } = await service.call('POST', '/auth/register', {
    body: { email: someEmail(), password: PASSWORD, app_code: app.code, linked_app_codes, role_code: 'x'.repeat(2_000) },
  })
  expect(status).toBe(201)
  const rows: Json[] = await service.deps.db('audit_events').where({ event: 'override.refused', user_id: body.user.id })
  expect(JSON.parse(rows[0]!.details).linked_app_codes).toEqual(linked_app_codes.map((code) => `${code.slice(0, 100)}…`))
})

test('refusals by the limit of the account and by the lockout are audited with the user, and counted', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  for (let tries = 0; tries < 6; tries += 1) await logIn(user.email, app.code, 'the wrong one')
  const about = { app_id: app.id, user_id: user.id, details: { email: user.email } }
  expect(await refusals({ email: user.email })).toEqual([
    { ...about, reason: 'account_locked', count: 1 },
    { ...about, reason: 'rate_limited', count: 3 },
    { ...about, reason: 'wrong_password', count: 1 },
    { ...about, reason: 'wrong_password', count: 1 },
  ])
})

test('erasing a user removes the address from refusals, also where no user was known', async () => {
  const { user } = await buildUser(service, await buildApp(service))
  await logIn(user.email, `unknown-${randomUUID()}`)
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  expect(await refusals({ email: user.email })).toEqual([])
  expect(JSON.stringify(await service.deps.db('audit_events'))).not.toContain(user.email)
})
