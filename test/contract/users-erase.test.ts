// `DELETE /admin/users/{id}?erase=true` blanks e-mail and names everywhere.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows, whereStored } from '../support/rows.ts'
import { buildUser, type Json } from '../support/service.ts'

const service = serviceFixture({ AUTH_LOCKOUT_THRESHOLD: '3' })
const app = appFixture(service)

const erase = (id: string) => service.admin('DELETE', `/admin/users/${id}?erase=true`)
const invite = async (organization: Json, email: string): Promise<Json> =>
  (
    await service.admin('POST', `/admin/organizations/${organization.id}/invitations`, {
      body: { email, role_codes: ['org_member'] },
    })
  ).body

async function insertOutbox(row: Json): Promise<string> {
  const now = service.deps.clock()
  const id = newId(now)
  await service.deps
    .db('outbox')
    .insert({ id, app_id: app.id, name: 'x', status: 'pending', next_attempt_at: now, created_at: now, ...row })
  return id
}

const webhookOf = (user: Json) => ({
  kind: 'webhook',
  user_id: user.id,
  destination: 'https://crm.example.com/hook',
  payload: JSON.stringify({
    id: 'evt',
    event: 'user.registered',
    user,
    registration: { email: ` ${user.email.toUpperCase()} `, first_name: user.first_name, nickname: 'Countess' },
  }),
})

test('an erased user leaves ids and nothing that identifies the person', async () => {
  const first = { first_name: `First${randomUUID()}`, last_name: `Last${randomUUID()}` }
  const { user } = await buildUser(service, app, first)
  const path = `/admin/users/${user.id}`
  const renamed = `Renamed${randomUUID()}`
  const newEmail = `new-${user.email}`
  const organization = await buildOrganization(service)
  const accepted = await invite(organization, user.email)
  const pending = await invite(organization, newEmail)
  const token = (await service.login(user.email, app.code)).body.access_token
  await service.call('POST', '/auth/invitations/accept', { token, body: { token: accepted.token } })
  for (let count = 0; count < 4; count += 1) await service.login(user.email, app.code, { password: 'wrong password' })
  await service.admin('POST', `${path}/unlock`)
  await service.admin('PATCH', path, { body: { email: newEmail, first_name: renamed } })
  // No user has the old address any more.
  await service.login(user.email, app.code, { password: 'wrong password' })
  await service.admin('PATCH', `${path}/namespaces`, { body: { add: ['erased-pool'] } })
  const outbox = {
    waiting: await insertOutbox(webhookOf({ ...user, ...first })),
    sent: await insertOutbox({ ...webhookOf({ ...user, ...first }), status: 'delivered' }),
    asked: await insertOutbox({ kind: 'mail', destination: newEmail, payload: '{"redirect_url":null}' }),
    mailed: await insertOutbox({ kind: 'mail', destination: user.email, status: 'delivered', payload: '{}' }),
    told: await insertOutbox({
      kind: 'mail',
      user_id: user.id,
      destination: `older-${user.email}`,
      payload: '{"ip":"127.0.0.1"}',
    }),
  }
  const events = await countRows(service, 'audit_events')
  expect((await whereStored(service, user.email, newEmail)).length).toBeGreaterThan(8)

  expect((await erase(user.id)).status).toBe(204)
  expect(await whereStored(service, user.email, newEmail, first.first_name, first.last_name, renamed, 'Countess')).toEqual([])
  expect((await service.admin('GET', path)).body).toMatchObject({
    id: user.id,
    email: '',
    email_verified: false,
    first_name: null,
    last_name: null,
    status: 'deleted',
    created_at: user.created_at,
  })
  // No event was lost. The new ones are user.deleted, user.erased, and those that list the blanked events.
  const listing = await countRows(service, 'audit_events', { event: 'audit.erased' })
  expect(listing).toBeGreaterThan(0)
  expect(await countRows(service, 'audit_events')).toBe(events + 2 + listing)
  const about = await auditEvents(service, { user_id: user.id })
  expect(about.find(({ event }) => event === 'user.updated').details).toEqual({
    before: { email: '', email_verified: true, first_name: null },
    after: { email: '', email_verified: false, first_name: null },
  })
  expect(about.find(({ event }) => event === 'user.deleted').details.before).toMatchObject({
    id: user.id,
    email: '',
    roles: ['base_user'],
  })
  expect(about.at(-1)).toMatchObject({ event: 'user.erased', details: null })

  expect(await service.deps.db('outbox').whereIn('id', Object.values(outbox)).orderBy('id').pluck('status')).toEqual([
    'failed',
    'delivered',
    'failed',
    'delivered',
    'failed',
  ])
  expect(await countRows(service, 'outbox', { user_id: user.id, status: 'pending' })).toBe(0)
  const { payload } = await service.deps.db('outbox').where({ id: outbox.sent }).first('payload')
  expect(JSON.parse(payload)).toMatchObject({ id: 'evt', user: { id: user.id, email: '', first_name: null }, registration: {} })
  // Blanking the address of a pending invitation has not opened it to everyone.
  const other = await buildUser(service, app)
  expectError(
    await service.call('POST', '/auth/invitations/accept', { token: other.access_token, body: { token: pending.token } }),
    'invalid_invitation',
  )
})

test('a deleted user can be erased later, and erased again', async () => {
  const { user } = await buildUser(service, app, { first_name: `First${randomUUID()}` })
  await service.admin('DELETE', `/admin/users/${user.id}`)
  expect((await whereStored(service, user.email)).length).toBeGreaterThan(0)
  for (let count = 0; count < 2; count += 1) expect((await erase(user.id)).status).toBe(204)
  expect(await whereStored(service, user.email, user.first_name)).toEqual([])
  expect(await auditEvents(service, { user_id: user.id, event: 'user.erased' })).toHaveLength(1)
  expectError(await service.admin('DELETE', `/admin/users/${user.id}`), 'not_found')
})

test('a user who now has the address of an erased one keeps everything', async () => {
  const { user } = await buildUser(service, app, { first_name: 'Ada' })
  await service.admin('DELETE', `/admin/users/${user.id}`)
  const again = await service.register(user.email, app.code, { first_name: 'Bea' })
  await service.login(user.email, app.code, { password: 'wrong password' })
  const organization = await buildOrganization(service)
  const invitation = await invite(organization, user.email)
  const mail = await insertOutbox({ kind: 'mail', destination: user.email, payload: '{"redirect_url":null}' })
  const sent = await insertOutbox({
    kind: 'mail',
    user_id: again.body.user.id,
    destination: user.email,
    status: 'delivered',
    payload: '{}',
  })
  const hook = await insertOutbox(webhookOf(again.body.user))

  expect((await erase(user.id)).status).toBe(204)
  expect((await service.admin('GET', `/admin/users/${again.body.user.id}`)).body).toMatchObject({
    email: user.email,
    first_name: 'Bea',
    status: 'active',
  })
  const failed = await auditEvents(service, { user_id: again.body.user.id, event: 'login.failed' })
  expect(failed).toMatchObject([{ details: { email: user.email } }])
  expect(await countRows(service, 'outbox', { id: mail, status: 'pending', destination: user.email })).toBe(1)
  // What belongs to the new user stays: the mail of the registration, and what was sent.
  for (const own of [
    { name: 'verify_email', status: 'pending' },
    { id: sent, status: 'delivered' },
  ])
    expect(await countRows(service, 'outbox', { ...own, user_id: again.body.user.id, destination: user.email })).toBe(1)
  expect((await service.deps.db('outbox').where({ id: hook }).first()).payload).toContain(user.email)
  const token = (await service.login(user.email, app.code)).body.access_token
  const joined = await service.call('POST', '/auth/invitations/accept', { token, body: { token: invitation.token } })
  expect([joined.status, joined.body.organization?.id]).toEqual([200, organization.id])
})
