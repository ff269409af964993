// The built-in roles `auditor` and `help_desk`: what they do, and to whom they may not do it.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createSystemAdmin } from '../../packages/server/src/flows/bootstrap/bootstrap.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { expectError } from '../support/expect-reply.ts'
import { assignRole, buildRole } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents, everyRow, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type Reply, type TestService } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({ AUTH_ADMIN_APP_CODES: 'authctl', AUTH_LOCKOUT_THRESHOLD: '2' })
const shop = fixture(() => buildApp(service, { auto_grant_on_signup: true }))

interface Holder {
  user: Json
  token: string
}

/** Somebody who holds the role and has signed in with authctl. */
async function buildHolder(role: string, of: TestService = service, through: Json = shop): Promise<Holder> {
  const { user } = await buildUser(of, through as { code: string })
  await assignRole(of, user.id, role)
  await of.admin('POST', `/admin/users/${user.id}/apps/authctl`)
  const login = await of.login(user.email, 'authctl')
  expect(login.body.user?.id).toBe(user.id)
  return { user, token: login.body.access_token }
}

const because = { 'x-audit-reason': 'Ticket%204711' }
/** A space, a no-break space, a zero-width space, a direction mark, a blank of Hangul, one of Braille, and an accent on nothing. */
const blanks = ['%20', '%C2%A0', '%E2%80%8B', '%E2%80%AE', '%E3%85%A4', '%E2%A0%80', '%CC%81']
type Call = (token: string, userId: string, options?: { headers?: Record<string, string>; query?: string }) => Promise<Reply>

const act =
  (method: string, path: (userId: string) => string | Promise<string>): Call =>
  async (token, userId, { headers = because, query = '' } = {}) =>
    service.call(method, `${await path(userId)}${query}`, { token, headers })

/** Everything that the help desk does to the account of a user, each with the event that records it. */
const acts: Record<string, { call: Call; event: string }> = {
  unlock: { call: act('POST', (id) => `/admin/users/${id}/unlock`), event: 'user.unlocked' },
  logout: { call: act('POST', (id) => `/admin/users/${id}/logout`), event: 'logout.all' },
  'end a session': {
    call: act('DELETE', async (id) => {
      const [session] = (await service.admin('GET', `/admin/users/${id}/sessions`)).body.items ?? []
      return `/admin/users/${id}/sessions/${session?.id ?? randomUUID()}`
    }),
    event: 'session.ended',
  },
  'reset the second factor': { call: act('DELETE', (id) => `/admin/users/${id}/2fa`), event: 'two_factor.removed' },
}

/** A user with a session, a second factor, and a lock after wrong passwords. */
async function buildTroubled(): Promise<Json> {
  const { user, access_token } = await buildUser(service, shop as { code: string })
  await enableTwoFactor(service, access_token)
  for (let tries = 0; tries < 3; tries++) await service.login(user.email, shop.code, { password: 'a wrong one' })
  return user
}

describe('the roles auditor and help_desk', () => {
  test.each(['auditor', 'help_desk'])('%s is built in, and only a user with a proven mailbox can get it', async (role) => {
    const { user } = await buildUser(service, shop as { code: string })
    const give = () => service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: role } })
    expectError(await give(), 'account_unverified')
    await markVerified(service, user.id)
    expect((await give()).body).toMatchObject({ code: role, scope: 'global', built_in: true })
    expect(await auditEvents(service, { event: 'role.assigned', user_id: user.id })).toHaveLength(1)
    expectError(await service.admin('DELETE', `/admin/roles/${role}`), 'built_in')
  })

  test.each(['auditor', 'help_desk'])('%s enters the built-in app only with a grant', async (role) => {
    const { user } = await buildUser(service, shop as { code: string })
    await assignRole(service, user.id, role)
    expectError(await service.login(user.email, 'authctl'), 'app_access_denied')
  })

  test.each(['auditor', 'help_desk'])(
    '%s reads from the next call on, and is refused at the next call after it was removed',
    async (role) => {
      const { user, token } = await buildHolder(role)
      const read = () => service.call('GET', '/admin/users', { token })
      expect((await read()).status).toBe(200)
      await service.deps.db('user_roles').where({ user_id: user.id, role_code: role }).delete()
      expectError(await read(), 'system_admin_required')
      await service.deps.db('user_roles').insert({ user_id: user.id, role_code: role, created_at: 1 })
      expect((await read()).status).toBe(200)
      await service.admin('DELETE', `/admin/users/${user.id}/roles/${role}`)
      expectError(await read(), 'token_revoked')
    },
  )

  test('a refused call names the role that it needs', async () => {
    const { token } = await buildHolder('auditor')
    const { body } = await service.call('DELETE', `/admin/users/${randomUUID()}`, { token })
    expect(body).toMatchObject({ code: 'system_admin_required', detail: 'auditor may not do this. Needed: system_admin' })
    const { body: apps } = await service.call('GET', '/admin/apps', { token: (await buildHolder('help_desk')).token })
    expect(apps.detail).toBe('help_desk may not do this. Needed: system_admin, or auditor, or admin:read')
  })

  test('the second-factor policy of the app through which the roles administer applies to them', async () => {
    const strict = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl' })
    const { user, token } = await buildHolder('auditor', strict, await buildApp(strict, { auto_grant_on_signup: true }))
    await strict.admin('PATCH', '/admin/apps/authctl', { body: { require_two_factor: 'admins' } })
    expect((await strict.login(user.email, 'authctl')).body.code).toBe('two_factor_enrollment_required')
    const { code } = await enableTwoFactor(strict, token)
    const { body } = await strict.login(user.email, 'authctl', { two_factor_code: code() })
    expect((await strict.call('GET', '/admin/apps', { token: body.access_token })).status).toBe(200)
  })

  test.each([
    ...['system_admin', 'auditor', 'help_desk'].flatMap((role) => [
      [role, 'given'],
      [role, 'imported'],
    ]),
    ['system_admin', 'given by create-admin'],
  ])(
    '%s, %s while the user has a session without the required second factor, gives that session no rights',
    async (role, way) => {
      const strict = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl' })
      await strict.admin('PATCH', '/admin/apps/authctl', { body: { require_two_factor: 'admins' } })
      const app = await buildApp(strict, { auto_grant_on_signup: true })
      const { user, access_token: elsewhere } = await buildUser(strict, app as { code: string })
      await strict.admin('POST', `/admin/users/${user.id}/apps/authctl`)
      const { body } = await strict.login(user.email, 'authctl')
      const read = () => strict.call('GET', '/admin/users', { token: body.access_token })
      expectError(await read(), 'system_admin_required')
      await markVerified(strict, user.id)
      const line = JSON.stringify({ email: user.email, roles: [role] })
      const headers = { 'content-type': 'application/x-ndjson' }
      const promoted = { email: user.email, password: undefined, promote: true, unlessOneExists: false }
      if (way === 'given') await assignRole(strict, user.id, role!)
      else if (way !== 'imported') expect(await createSystemAdmin(strict.deps, promoted, systemActor)).toBe('promoted')
      else expect((await strict.admin('POST', '/admin/users/import', { body: line, headers })).body.updated).toBe(1)
      expectError(await read(), 'token_revoked')
      const refresh = await strict.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
      expect(refresh.body.code).toBe('two_factor_enrollment_required')
      expect((await strict.call('GET', '/auth/me', { token: elsewhere })).status).toBe(200)
    },
  )

  test('a user with both roles has the rights of each', async () => {
    const { user, token } = await buildHolder('auditor')
    await assignRole(service, user.id, 'help_desk')
    expect((await service.call('GET', '/admin/apps', { token })).status).toBe(200)
    const troubled = await buildTroubled()
    expect((await acts.unlock!.call(token, troubled.id)).status).toBe(204)
  })
})

describe.each(Object.entries(acts))('the help desk, to %s,', (_, { call, event }) => {
  let helper: Holder
  beforeAll(async () => {
    helper = await buildHolder('help_desk')
  })

  test('the help desk gives a reason, which the audit keeps', async () => {
    const { id } = await buildTroubled()
    const before = await everyRow(service)
    for (const headers of [{}, ...blanks.map((blank) => ({ 'x-audit-reason': blank }))] as Record<string, string>[]) {
      for (const query of ['', '?dry_run=true']) {
        const refused = await call(helper.token, id, { headers, query })
        expectError(refused, 'validation_failed')
        expect(refused.body.errors).toMatchObject([{ path: 'X-Audit-Reason', code: 'required' }])
      }
    }
    expect(await everyRow(service)).toEqual(before)
    expect((await call(helper.token, id)).status).toBe(204)
    const [done] = await auditEvents(service, { event, user_id: id, actor_id: helper.user.id })
    expect(done).toMatchObject({ actor_type: 'user', audit_reason: 'Ticket 4711' })
  })

  test('the help desk may do a dry run', async () => {
    const { id } = await buildTroubled()
    expect((await call(helper.token, id, { query: '?dry_run=true' })).status).toBe(204)
    expect(await auditEvents(service, { event, user_id: id, actor_id: helper.user.id })).toEqual([])
  })

  test.each(['system_admin', 'super_admin', 'auditor', 'help_desk', 'another global role'])(
    'the help desk changes no holder of %s, and no other account with that address',
    async (role) => {
      const code = role === 'another global role' ? await buildRole(service, 'global') : role
      const holder = await buildTroubled()
      await assignRole(service, holder.id, code)
      const elsewhere = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: `pool-${randomUUID()}` })
      const { user: namesake } = (await service.register(holder.email, elsewhere.code)).body
      expect(namesake.id).not.toBe(holder.id)
      const { audit_events: _, ...before } = await everyRow(service)
      for (const { id } of [holder, namesake, ...(role === 'help_desk' ? [helper.user] : [])]) {
        const refused = await call(helper.token, id)
        expectError(refused, 'system_admin_required')
        expect(refused.body.detail).toMatch(/holds a global role/)
      }
      const { audit_events: __, ...after } = await everyRow(service)
      expect(after).toEqual(before)
      await service.admin('DELETE', `/admin/users/${holder.id}/roles/${code}`)
      expect([204, 404]).toContain((await call(helper.token, holder.id)).status)
    },
  )

  test('an unknown id is 404 to the help desk', async () => {
    const status = (await call(helper.token, randomUUID())).status
    expect(status).toBe(404)
  })
})

test('a system_admin helps any user without a reason', async () => {
  const holder = await buildTroubled()
  await assignRole(service, holder.id, 'auditor')
  expect((await service.admin('DELETE', `/admin/users/${holder.id}/2fa`)).status).toBe(204)
  expect((await service.login(holder.email, shop.code, { password: PASSWORD })).status).toBe(423)
})
