// The reason that an admin gives in X-Audit-Reason is stored with the audit events, and blanked when the user is erased.
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildUser, type Json, someEmail } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)

const logOut = (userId: string, reason: string) =>
  service.admin('POST', `/admin/users/${userId}/logout`, { headers: { 'x-audit-reason': reason } })

test('the audit shows the reason as it was sent, and null if it was missing or blank', async () => {
  const { user } = await buildUser(service, app)
  const said = 'Größe ✓ “100 %”\nsecond line'
  for (const sent of [encodeURIComponent(said), 'ticket-42, plain', '', '%20'])
    expect((await logOut(user.id, sent)).status).toBe(204)
  await service.admin('POST', `/admin/users/${user.id}/logout`)
  const { items } = (await service.admin('GET', `/admin/audit?user_id=${user.id}&event=logout.all`)).body
  expect(items.map((event: Json) => event.audit_reason).reverse()).toEqual([said, 'ticket-42, plain', null, null, null])
  const [login] = (await service.admin('GET', `/admin/audit?user_id=${user.id}&event=user.registered`)).body.items
  expect(login.audit_reason).toBeNull()
})

test('a reason that is too long, malformed or sent twice is 400, and the call does nothing', async () => {
  const { user } = await buildUser(service, app)
  expect((await logOut(user.id, encodeURIComponent('✓'.repeat(500)))).status).toBe(204)
  const before = await auditEvents(service, { user_id: user.id })
  for (const [reason, fault] of [
    [encodeURIComponent('✓'.repeat(501)), 'too_long'],
    ['100%', 'invalid_value'],
    ['%ff', 'invalid_value'],
    ['a%00b', 'invalid_value'],
    ['caf\u00e9', 'invalid_value'],
  ] as const)
    expect([reason, faultsOf(await logOut(user.id, reason))]).toEqual([reason, [`X-Audit-Reason: ${fault}`]])
  expect(await sendTwice(`/admin/users/${user.id}/logout`)).toBe(400)
  expect(await auditEvents(service, { user_id: user.id })).toEqual(before)
})

async function sendTwice(path: string): Promise<number | undefined> {
  const login = await service.admin('GET', '/admin/settings')
  expect(login.status).toBe(200)
  const { access_token } = (await service.login('admin@example.com', 'authctl')).body
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${access_token}`, 'x-audit-reason': ['one', 'two'] }
    request(`${service.url}/api/v1${path}`, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .once('error', reject)
      .end()
  })
}

test('erasing a user blanks the reasons that were given about the user, and those that name an address of theirs', async () => {
  const { user } = await buildUser(service, app)
  const { user: other } = await buildUser(service, app)
  const secret = `Ada ${randomUUID()}`
  await logOut(user.id, encodeURIComponent(`${secret} asked`))
  await logOut(other.id, encodeURIComponent(`as ${user.email.toUpperCase()} asked`))
  await logOut(other.id, 'kept')
  const grant = `/admin/users/${user.id}/apps/${app.id}`
  await service.admin('POST', grant, { body: { reason: `for ${secret}` } })
  await service.admin('PATCH', `/admin/users/${user.id}`, { body: { email: someEmail() } })
  const erased = await service.admin('DELETE', `/admin/users/${user.id}?erase=true`, {
    headers: { 'x-audit-reason': 'asked-by-letter' },
  })
  expect(erased.status).toBe(204)
  const events = await auditEvents(service, { user_id: user.id })
  expect(JSON.stringify(events)).not.toContain(secret)
  expect(
    events.filter(({ audit_reason }) => audit_reason !== null).map(({ event, audit_reason }) => [event, audit_reason]),
  ).toEqual([['user.erased', 'asked-by-letter']])
  expect(await service.deps.db('user_apps').where({ user_id: user.id }).whereNotNull('reason')).toEqual([])
  const others = await auditEvents(service, { user_id: other.id, event: 'logout.all' })
  expect(others.map(({ audit_reason }) => audit_reason)).toEqual([null, 'kept'])
})
