// A role that is taken away, and one that is given, while the help desk works.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { assignRole } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { until } from '../support/mail-server.ts'
import { auditEvents, everyRow } from '../support/rows.ts'
import { buildUser, type Json, type Reply, testDatabase } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({ AUTH_ADMIN_APP_CODES: 'authctl' })
const shop = appFixture(service)

async function buildHelper(): Promise<{ user: Json; token: string }> {
  const { user } = await buildUser(service, shop)
  await assignRole(service, user.id, 'help_desk')
  await service.admin('POST', `/admin/users/${user.id}/apps/authctl`)
  return { user, token: (await service.login(user.email, 'authctl')).body.access_token }
}

const headers = { 'x-audit-reason': 'because' }
const reset = (token: string, userId: string): Promise<Reply> =>
  service.call('DELETE', `/admin/users/${userId}/2fa`, { token, headers })

/** One after the other, because each moves the clock. */
async function buildUsers(count: number): Promise<Json[]> {
  const users: Json[] = []
  for (let made = 0; made < count; made++) {
    const { user, access_token } = await buildUser(service, shop)
    await enableTwoFactor(service, access_token)
    users.push(user)
  }
  return users
}

test('a call while the role is removed is either done and audited or refused without effect', async () => {
  const users = await buildUsers(20)
  const helper = await buildHelper()
  const [taken, ...replies] = await Promise.all([
    service.admin('DELETE', `/admin/users/${helper.user.id}/roles/help_desk`),
    ...users.map(({ id }) => reset(helper.token, id)),
  ])
  expect(taken.status).toBe(204)
  for (const [at, { id }] of users.entries()) {
    const { status, body } = replies[at]!
    const isDone = status === 204
    if (!isDone) expect(['system_admin_required', 'token_revoked']).toContain(body.code)
    expect((await service.admin('GET', `/admin/users/${id}`)).body.two_factor).toBe(!isDone)
    const events = await auditEvents(service, { event: 'two_factor.removed', user_id: id })
    expect(events.map(({ audit_reason }) => audit_reason)).toEqual(isDone ? ['because'] : [])
  }
  const [last] = await buildUsers(1)
  expect(['system_admin_required', 'token_revoked']).toContain((await reset(helper.token, last!.id)).body.code)
})

test('a second factor is reset before its user gets a role, or not at all', async () => {
  const users = await buildUsers(10)
  const helper = await buildHelper()
  for (const { id } of users)
    await service.deps.db('users').where({ id }).update({ mailbox_proven_at: 1, email_verified_at: 1, first_verified_at: 1 })
  await Promise.all(
    users.map(async ({ id }) => {
      const [given, { status, body }] = await Promise.all([
        service.admin('POST', `/admin/users/${id}/roles`, { body: { role_code: 'auditor' } }),
        reset(helper.token, id),
      ])
      expect(given.status).toBe(201)
      if (status !== 204) expect(body.code).toBe('system_admin_required')
    }),
  )
  for (const { id } of users) expect((await reset(helper.token, id)).body.code).toBe('system_admin_required')
})

/** Waits until a call waits for a lock. On SQLite it waits before it has read anything. */
async function someoneWaits(): Promise<void> {
  if (testDatabase() === 'sqlite') return
  const waiting = () =>
    service.deps.db('pg_stat_activity').where({ wait_event_type: 'Lock' }).whereRaw('datname = current_database()').first('pid')
  await until(waiting, 'a call that waits')
}

/** A mail to a user that was given up. Returns its id. */
async function giveUpMail({ id: user_id, email: destination }: Json): Promise<string> {
  const now = Date.now()
  const id = randomUUID()
  const message = { id, kind: 'mail', name: 'password_changed', app_id: shop.id, user_id, destination, payload: '{}' } as const
  const times = { created_at: now, next_attempt_at: now, finished_at: now }
  await service.deps.db('outbox').insert({ ...message, ...times, status: 'failed', attempts: 7 })
  return id
}

test.each([
  ['POST', 'unlock'],
  ['POST', 'logout'],
  ['DELETE', '2fa'],
  ['POST', 'resend'],
] as const)('%s …/%s is refused if it waits until its user has become an admin', async (method, action) => {
  const helper = await buildHelper()
  const [user] = await buildUsers(1)
  await service.login(user!.email, shop.code, { password: 'a wrong one' })
  const path = action === 'resend' ? `mails/${await giveUpMail(user!)}/resend` : `users/${user!.id}/${action}`
  const tables = ['sessions', 'lockouts', 'second_factors', 'recovery_codes', 'outbox']
  const held = async () => Object.entries(await everyRow(service)).filter(([table]) => tables.includes(table))
  const before = await held()
  expect(before).toHaveLength(tables.length)
  let helping: Promise<Reply> | undefined
  await transaction(service.deps, async ({ db }) => {
    await db('users').where({ id: user!.id }).update({ first_name: 'Carol' })
    helping = service.call(method, `/admin/${path}`, { token: helper.token, headers })
    await someoneWaits()
    await db('user_roles').insert({ user_id: user!.id, role_code: 'system_admin', created_at: 1 })
  })
  expect((await helping)!.body).toMatchObject({ status: 403, code: 'system_admin_required' })
  expect(await held()).toEqual(before)
})
