// A role that is taken away, and one that is given, while the help desk works.
import { expect, test } from 'vitest'
import { assignRole } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildUser, type Json, type Reply } from '../support/service.ts'
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

test('of many calls while the role is taken away, each is done whole and audited, or refused and changes nothing', async () => {
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

test('while a user is given a role, a second factor is reset before that or not at all', async () => {
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
