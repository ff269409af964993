import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { buildOrganization, closeAccount } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildUser, PASSWORD } from '../support/service.ts'

const service = serviceFixture()

const origin = { headers: { 'user-agent': 'a browser of the tests' } }
const logIn = (email: string, app: { code: string }, extra: object = {}) =>
  service.call('POST', '/auth/login', { body: { email, password: PASSWORD, app_code: app.code, ...extra }, ...origin })

// covers login-audited audit-login-success
test('a login is audited with user, app, address, agent and request', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const { headers } = await logIn(user.email, app)
  expect(await auditEvents(service, { event: 'login.success', user_id: user.id })).toMatchObject([
    {
      app_id: app.id,
      actor_type: 'anonymous',
      reason: null,
      audit_reason: null,
      ip: '127.0.0.1',
      user_agent: 'a browser of the tests',
      request_id: headers.get('x-request-id'),
    },
  ])
  expect(await auditEvents(service, { event: 'login.failed', user_id: user.id })).toEqual([])
})

describe('the true reason of a failed login in the audit', () => {
  async function failedLogin(email: string, app: { code: string }, extra: object = {}) {
    const { headers } = await logIn(email, app, extra)
    const events = await auditEvents(service, { event: 'login.failed', request_id: headers.get('x-request-id') })
    expect(events).toHaveLength(1)
    return events[0]
  }

  // covers login-audited audit-login-failed
  test('the audit names a wrong password and an unknown user', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    expect(await failedLogin(user.email, app, { password: 'not this one' })).toMatchObject({
      reason: 'wrong_password',
      user_id: user.id,
      app_id: app.id,
    })
    const email = `${randomUUID()}@example.com`
    const unknown = await failedLogin(email.toUpperCase(), app)
    expect(unknown).toMatchObject({ reason: 'unknown_user', user_id: null, app_id: app.id, details: { email } })
  })

  test('the audit names a suspended account, missing access and a missing membership', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const organization = await buildOrganization(service)
    expect((await failedLogin(user.email, app)).reason).toBe('app_access_denied')
    expect((await failedLogin(user.email, app, { organization_id: organization.id })).reason).toBe(
      'organization_membership_required',
    )
    await closeAccount(service, user.id, 'suspended')
    expect(await failedLogin(user.email, app)).toMatchObject({ reason: 'account_suspended', user_id: user.id })
  })

  test('a failed register_or_login is audited like a failed login', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    await service.register(user.email, app.code, { mode: 'register_or_login', password: 'not this one' })
    await service.register(user.email, app.code, { mode: 'register_or_login' })
    expect(await auditEvents(service, { event: 'login.failed', user_id: user.id })).toMatchObject([{ reason: 'wrong_password' }])
    expect(await auditEvents(service, { event: 'login.success', user_id: user.id })).toHaveLength(1)
  })
})

test('a registration is audited with all that it created and with its caller, and a failed one is not audited', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app, { organization_name: 'Audited' })
  const events = await auditEvents(service, { user_id: user.id })
  for (const name of ['grant.created', 'organization.created', 'user.registered']) {
    expect(events.filter((event) => event.event === name)).toMatchObject([{ app_id: app.id, actor_type: 'anonymous' }])
  }

  const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app.code, mode: 'register_or_return' }
  const returned = await service.admin('POST', '/auth/register', { body })
  const [registered] = await auditEvents(service, { event: 'user.registered', user_id: returned.body.user.id })
  expect(registered).toMatchObject({ actor_type: 'user', actor_id: expect.any(String) })

  const count = (await auditEvents(service, { event: 'user.registered' })).length
  await service.register(user.email, app.code)
  await service.register(`${randomUUID()}@example.com`, app.code, { invite_code: 'no good' })
  expect(await auditEvents(service, { event: 'user.registered' })).toHaveLength(count)
})

test('the audit of a forged request id and of an endless user agent is bounded', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const headers = { 'user-agent': 'x'.repeat(5_000), 'x-request-id': 'no good id', 'x-forwarded-for': '203.0.113.9' }
  const body = { email: user.email, password: PASSWORD, app_code: app.code }
  expect((await service.call('POST', '/auth/login', { body, headers })).status).toBe(200)
  const [event] = await auditEvents(service, { event: 'login.success', user_id: user.id })
  expect(event.user_agent.length).toBeLessThanOrEqual(500)
  expect(event.request_id).toMatch(/^[A-Za-z0-9._-]{1,128}$/)
  expect(event.ip).toBe('127.0.0.1')
})

test('no audit event contains a password, a hash or a token', async () => {
  const text = JSON.stringify(await service.deps.db('audit_events'))
  expect(text).not.toContain(PASSWORD)
  expect(text).not.toContain('not this one')
  expect(text).not.toMatch(/\$2[aby]\$|eyJ[A-Za-z0-9_-]+\.|grt_/)
})
