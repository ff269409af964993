// Many callers at once on one server, more than it has connections. The tests assert the final state, not who won.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { asPool } from '../../packages/server/src/db/handle.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { atOnce, chance } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { addMember, buildInvitation, buildOrganization, buildRole } from '../support/factories.ts'
import { mailingFixture, serviceFixture } from '../support/fixtures.ts'
import { becomeFirst } from '../support/former-audit.ts'
import { until } from '../support/mail-server.ts'
import { auditEvents, countRows, whereStored } from '../support/rows.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  claimsOf,
  type Json,
  type Reply,
  someEmail,
  testDatabase,
  unique,
} from '../support/service.ts'

// Fifty attempts for one address are what these two limits exist to stop.
const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '1000' })
const mailing = mailingFixture({}, { frozen: true })

const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
const grantPath = (user: { id: string }, app: { id: string }) => `/admin/users/${user.id}/apps/${app.id}`

function tally(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Asserts that no token in these replies works any more. Replies without tokens were refusals. */
async function expectNothingLives(replies: readonly Reply[]): Promise<void> {
  const given = replies.filter((reply) => reply.body.access_token)
  const tries = await Promise.all(
    given.flatMap(({ body }) => [service.call('GET', '/auth/me', { token: body.access_token }), refresh(body.refresh_token)]),
  )
  for (const { status } of tries) expect([401, 403]).toContain(status)
}

describe('registrations', () => {
  test('forty registrations of ten addresses through two apps with overlapping pool sets create ten users', async () => {
    const shared = `pool-${randomUUID()}`
    const apps = [
      await buildApp(service, {
        registration_namespace: `pool-${randomUUID()}`,
        read_namespaces: [shared],
        auto_grant_on_signup: true,
      }),
      await buildApp(service, { registration_namespace: `pool-${randomUUID()}`, read_namespaces: [shared] }),
    ]
    const emails = Array.from({ length: 10 }, someEmail)
    const replies = await atOnce(40, (index) => service.register(emails[index % 10]!, apps[Math.floor(index / 10) % 2]!.code))
    expect(tally(replies)).toEqual({ 201: 10, 409: 30 })
    const users: Json[] = await service.deps.db('users').whereIn('email', emails)
    expect(users.map((user) => user.email).sort()).toEqual([...emails].sort())
    for (const user of users) {
      expect(await countRows(service, 'user_namespaces', { user_id: user.id })).toBe(1)
      expect(await countRows(service, 'user_roles', { user_id: user.id })).toBe(1)
      expect(await countRows(service, 'audit_events', { event: 'user.registered', user_id: user.id })).toBe(1)
    }
  })

  test('registrations of one address through two apps with separate pool sets create two users', async () => {
    const apps = [await buildApp(service, { registration_namespace: `pool-${randomUUID()}` }), await buildApp(service)]
    const email = someEmail()
    const replies = await atOnce(20, (index) => service.register(email, apps[index % 2]!.code))
    expect(tally(replies)).toEqual({ 201: 2, 409: 18 })
    expect(await countRows(service, 'users', { email })).toBe(2)
  })

  test('thirty calls of register_or_login for one new address create one user, and all succeed', async () => {
    const organization = await buildOrganization(service)
    const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const email = someEmail()
    const replies = await atOnce(30, () => service.register(email, app.code, { mode: 'register_or_login' }))
    expect(tally(replies)).toEqual({ 200: 29, 201: 1 })
    const ids = new Set(replies.map((reply) => reply.body.user.id))
    expect(ids.size).toBe(1)
    expect(await countRows(service, 'organization_memberships', { user_id: [...ids][0] })).toBe(1)
    expect(await countRows(service, 'user_apps', { user_id: [...ids][0] })).toBe(1)
  })

  test('registrations that fail late leave no users and no organizations, even if others succeed', async () => {
    const app = await buildApp(service)
    const { id: organizationId } = await buildOrganization(service)
    const token = await buildInvitation(service, { organizationId })
    const emails = Array.from({ length: 20 }, someEmail)
    const replies = await atOnce(40, (index) => service.register(emails[index % 20]!, app.code, { invite_code: token }))
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1)
    const left: string[] = await service.deps.db('users').whereIn('email', emails).pluck('id')
    expect(left).toEqual(replies.filter((reply) => reply.status === 201).map((reply) => reply.body.user.id))
    expect(await countRows(service, 'organization_memberships', { organization_id: organizationId })).toBe(1)
  })
})

describe('first logins', () => {
  test('fifty first logins of one user provision once', async () => {
    const organization = await buildOrganization(service)
    const linked = await buildApp(service)
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      linked_app_codes: [linked.code],
    })
    const { user } = await buildUser(service, await buildApp(service))
    const replies = await atOnce(50, () => service.login(user.email, app.code))
    expect(tally(replies)).toEqual({ 200: 50 })
    const { body } = await service.admin('GET', `/admin/users/${user.id}`)
    expect(body.apps).toHaveLength(2)
    expect(body.organizations).toEqual([{ ...organization, role_codes: ['org_member'] }])
    expect(await countRows(service, 'audit_events', { event: 'grant.created', user_id: user.id })).toBe(2)
    expect(new Set(replies.map((reply) => claimsOf(reply.body.access_token).sid)).size).toBe(50)
  })

  test('first logins with different overrides apply those of one request, and nothing of another', async () => {
    const organization = await buildOrganization(service)
    const links = await Promise.all(Array.from({ length: 4 }, () => buildApp(service)))
    const roles = await Promise.all(Array.from({ length: 4 }, () => buildRole(service, 'org')))
    const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const { user } = await buildUser(service, await buildApp(service))
    const overrides = links.map((link, index) => ({ role_code: roles[index], linked_app_codes: [link.code] }))
    const replies = await atOnce(16, (index) => service.login(user.email, app.code, overrides[index % 4]))
    expect(tally(replies)).toEqual({ 200: 16 })
    const { body } = await service.admin('GET', `/admin/users/${user.id}`)
    const linked = body.apps.map((grant: Json) => grant.app_code).filter((code: string) => code !== app.code)
    const taken = overrides.find((each) => each.linked_app_codes[0] === linked[0])
    expect(linked).toEqual(taken?.linked_app_codes)
    expect(body.organizations).toEqual([{ ...organization, role_codes: [taken?.role_code] }])
    expect(await auditEvents(service, { event: 'override.applied', user_id: user.id })).toHaveLength(2)
  })

  test('first logins through apps that link one another never block one another', async () => {
    const apps = await Promise.all(Array.from({ length: 4 }, () => buildApp(service, { auto_grant_on_signup: true })))
    for (const app of apps) {
      const linked_app_codes = apps.map((each) => each.code).filter((code) => code !== app.code)
      await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { linked_app_codes } })
    }
    const outside = await buildApp(service)
    for (let repeat = 0; repeat < 4; repeat += 1) {
      const { user } = await buildUser(service, outside)
      const replies = await atOnce(16, (index) => service.login(user.email, apps[index % 4]!.code))
      expect(tally(replies)).toEqual({ 200: 16 })
      expect(await countRows(service, 'user_apps', { user_id: user.id })).toBe(4)
    }
  })

  test('first logins and grants by an admin for the same app leave one row', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    for (let seed = 1; seed <= 5; seed += 1) {
      const { next, soon } = chance(seed)
      const { user } = await buildUser(service, await buildApp(service))
      const replies = await atOnce(12, () =>
        soon(4, () => (next() < 0.5 ? service.login(user.email, app.code) : service.admin('POST', grantPath(user, app)))),
      )
      for (const { status } of replies) expect([200, 201]).toContain(status)
      expect(await countRows(service, 'user_apps', { user_id: user.id, status: 'active' })).toBe(1)
    }
  })
})

describe('refreshes', () => {
  test('fifty refreshes of one token leave one live chain', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const first = await buildUser(service, app)
    const replies = await atOnce(50, () => refresh(first.refresh_token))
    expect(tally(replies)).toEqual({ 200: 50 })
    expect(new Set(replies.map((reply) => reply.body.refresh_token)).size).toBe(1)
    const session_id = claimsOf(first.access_token).sid
    expect(await countRows(service, 'refresh_tokens', { session_id, used_at: null })).toBe(1)
    expect(await countRows(service, 'refresh_tokens', { session_id })).toBe(2)
    expect((await refresh(replies[0]!.body.refresh_token)).status).toBe(200)
  })

  test('refreshes of a token and of its successor leave one live chain or none', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    for (let seed = 1; seed <= 5; seed += 1) {
      const { next, soon } = chance(seed)
      const first = await buildUser(service, app)
      const second = (await refresh(first.refresh_token)).body
      const replies = await atOnce(16, () => soon(5, () => refresh(next() < 0.5 ? first.refresh_token : second.refresh_token)))
      const session = await service.deps
        .db('sessions')
        .where({ id: claimsOf(first.access_token).sid })
        .first('ended_at')
      if (session.ended_at === null) {
        expect(await countRows(service, 'refresh_tokens', { session_id: claimsOf(first.access_token).sid, used_at: null })).toBe(
          1,
        )
      } else {
        await expectNothingLives(replies)
      }
      const reuses = await auditEvents(service, { event: 'token.reuse_detected', user_id: first.user.id })
      expect(reuses).toHaveLength(session.ended_at === null ? 0 : 1)
    }
  })

  test('refreshes that race a logout leave nothing alive', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    for (let seed = 1; seed <= 6; seed += 1) {
      const { soon } = chance(seed)
      const first = await buildUser(service, app)
      const logout = () => service.call('POST', '/auth/logout', { body: { refresh_token: first.refresh_token } })
      const [ended, ...replies] = await Promise.all([
        soon(6, logout),
        ...Array.from({ length: 8 }, () => soon(6, () => refresh(first.refresh_token))),
      ])
      expect(ended.status).toBe(204)
      await expectNothingLives([{ status: 200, body: first, headers: ended.headers }, ...replies])
      expect(await countRows(service, 'revocations', { user_id: first.user.id })).toBe(1)
    }
  })
})

describe('revocations', () => {
  test('a revocation that races refreshes leaves nothing alive', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    for (let seed = 1; seed <= 8; seed += 1) {
      const { soon } = chance(seed)
      const first = await buildUser(service, app)
      const second = (await service.login(first.user.email, app.code)).body
      const revoke = soon(8, () => service.admin('DELETE', grantPath(first.user, app)))
      const replies = await atOnce(10, (index) => soon(8, () => refresh((index % 2 ? first : second).refresh_token)))
      expect((await revoke).status).toBe(200)
      await expectNothingLives(replies)
      await service.admin('POST', grantPath(first.user, app))
      await expectNothingLives(replies)
    }
  })

  test('a revocation that races logins leaves nothing alive, also once access is granted again', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    for (let seed = 1; seed <= 8; seed += 1) {
      const { soon } = chance(seed)
      const { user } = await buildUser(service, app)
      const revoke = soon(12, () => service.admin('DELETE', grantPath(user, app)))
      const replies = await atOnce(10, () => soon(12, () => service.login(user.email, app.code)))
      expect((await revoke).status).toBe(200)
      for (const { status } of replies) expect([200, 403]).toContain(status)
      await expectNothingLives(replies)
      await service.admin('POST', grantPath(user, app))
      await expectNothingLives(replies)
    }
  })

  test('one of twenty revocations of one grant succeeds and raises the token version once', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const replies = await atOnce(20, () => service.admin('DELETE', grantPath(user, app)))
    expect(tally(replies)).toEqual({ 200: 1, 404: 19 })
    expect((await service.deps.db('users').where({ id: user.id }).first('token_version')).token_version).toBe(1)
    expect(await countRows(service, 'revocations', { user_id: user.id })).toBe(1)
    const grants = await atOnce(20, () => service.admin('POST', grantPath(user, app)))
    expect(tally(grants)).toEqual({ 200: 19, 201: 1 })
  })

  test('revocations and grants in any order leave a row that decides about access, and every old token dead', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    for (let seed = 1; seed <= 5; seed += 1) {
      const { next, soon } = chance(seed)
      const first = await buildUser(service, app)
      await service.admin('DELETE', grantPath(first.user, app))
      const replies = await atOnce(14, () =>
        soon(4, () => service.admin(next() < 0.5 ? 'POST' : 'DELETE', grantPath(first.user, app))),
      )
      for (const { status } of replies) expect([200, 201, 404]).toContain(status)
      await expectNothingLives([{ ...replies[0]!, body: first }])
      const { items } = (await service.admin('GET', `/admin/users/${first.user.id}/apps`)).body
      expect(items).toHaveLength(1)
      const login = await service.login(first.user.email, app.code)
      expect(login.status).toBe(items[0].status === 'active' ? 200 : 403)
    }
  })
})

test('forty changes of the names of a user all take effect, and each name is the last one that was given', async () => {
  const { user, access_token: token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  const replies = await atOnce(40, (index) => {
    // Half of the changes of the first name are made by an admin.
    if (index % 4 === 3) return service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: `first ${index}` } })
    const body = index % 2 ? { first_name: `first ${index}` } : { last_name: `last ${index}` }
    return service.call('PATCH', '/auth/me', { token, body })
  })
  expect(tally(replies)).toEqual({ 200: 40 })
  const { body: last } = await service.call('GET', '/auth/me', { token })
  const details = (await auditEvents(service, { user_id: user.id, event: 'user.updated' })).map((event) => event.details)
  for (const name of ['first_name', 'last_name']) {
    // Each change starts from what the previous one left.
    const changes = details.filter(({ after }) => name in after)
    expect(changes).toHaveLength(20)
    const left = new Set<string | null>(changes.map(({ after }) => after[name]))
    for (const { before } of changes) if (before[name] !== null) expect(left.delete(before[name])).toBe(true)
    expect([...left]).toEqual([last.user[name]])
  }
})

test('two org_admins who remove each other at once leave one of them', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const admins = await Promise.all(Array.from({ length: 2 }, () => buildUser(service, app)))
  for (let round = 0; round < 20; round += 1) {
    const organization = await buildOrganization(service)
    const path = `organizations/${organization.id}/members`
    for (const { user } of admins) await addMember(service, organization.id, user.id, ['org_admin'])
    const replies = await atOnce(2, (index) =>
      service.call('DELETE', `/${path}/${admins[1 - index]!.user.id}`, { token: admins[index]!.access_token }),
    )
    const { items } = (await service.admin('GET', `/admin/${path}`)).body
    expect(items.map(({ role_codes }: Json) => role_codes)).toEqual([['org_admin']])
    expect(tally(replies)).toEqual({ 204: 1, 403: 1 })
  }
})

describe('erasures', () => {
  const erase = ({ id }: Json) => service.admin('DELETE', `/admin/users/${id}?erase=true`)

  test('twenty erasures of one user with many events touch no other user', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const bystander = await buildUser(service, app, { first_name: 'Bystander' })
    const now = service.deps.clock()
    const rows = Array.from({ length: 1_201 }, (_, index) => ({
      id: newId(now),
      event: 'login.failed',
      actor_type: 'anonymous',
      user_id: index % 3 === 0 ? user.id : null,
      details: JSON.stringify({ email: index % 2 ? user.email : bystander.user.email }),
      at: now,
    }))
    for (let start = 0; start < rows.length; start += 100)
      await service.deps.db('audit_events').insert(rows.slice(start, start + 100))
    const replies = await atOnce(20, () => erase(user))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([204]))
    expect(await whereStored(service, user.email)).toEqual([])
    expect(await auditEvents(service, { user_id: user.id, event: 'user.deleted' })).toHaveLength(1)
    expect(await auditEvents(service, { user_id: user.id, event: 'user.erased' })).toHaveLength(1)
    expect(await whereStored(service, bystander.user.email)).not.toEqual([])
    expect((await service.login(bystander.user.email, app.code)).status).toBe(200)
    expect((await service.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
  })

  test('erasures of two users who appear in the same events remove both from them', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const { user: other } = await buildUser(service, app)
    const at = service.deps.clock()
    const details = JSON.stringify({ email: user.email, before: { email: other.email } })
    const event = () => ({ id: newId(at), event: 'login.failed', actor_type: 'anonymous', user_id: null, details, at })
    await service.deps.db('audit_events').insert(Array.from({ length: 250 }, event))
    const replies = await Promise.all([user, other].map(erase))
    expect(replies.map(({ status }) => status)).toEqual([204, 204])
    expect(await whereStored(service, user.email, other.email)).toEqual([])
  })
})

describe('dry runs', () => {
  const dry = (path: string) => `${path}?dry_run=true`

  test('dry runs beside the real call leave one record', async () => {
    const body = { code: unique('role'), name: 'Raced', scope: 'global' }
    const replies = await atOnce(12, (index) =>
      service.admin('POST', index === 5 ? '/admin/roles' : dry('/admin/roles'), { body }),
    )
    const statuses = replies.map(({ status }) => status)
    expect(statuses[5]).toBe(201)
    for (const status of statuses) expect([201, 409]).toContain(status)
    expect(await service.deps.db('roles').where({ code: body.code })).toHaveLength(1)
  })
})

test('a platform role given while the account is taken over never goes to the stranger who registered the address first', async () => {
  const { service, mailbox } = mailing
  const app = await buildApp(service, { auto_grant_on_signup: true })
  for (let round = 0; round < 5; round += 1) {
    const { user, access_token: token } = await buildUser(service, app)
    await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: app.code } })
    const link = await mailbox.take(user.email, /^Sign in to/)
    const [given, entered] = await Promise.all([
      service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: 'super_admin' } }),
      service.call('POST', '/auth/magic-link/consume', { body: { token: link.token } }),
    ])
    expect(entered.status).toBe(200)
    if (given.status !== 201) expectError(given, 'account_unverified')
    // Either way the stranger is out: a role is given only after the account was taken over.
    expectError(await service.call('GET', '/auth/me', { token }), 'token_revoked')
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
  }
})

test('twenty sealers of the audit make one chain', async () => {
  const service = await buildService()
  const { db, clock } = service.deps
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  await becomeFirst(service)
  // More events than one sealer takes at a time, written as by a server without seals.
  for (let portion = 0; portion < 4; portion += 1) {
    const event = () => ({ id: newId(clock()), event: 'logout', actor_type: 'system', count: 1, at: clock() })
    await db('audit_events').insert(Array.from({ length: 500 }, event))
  }
  service.advance(120)
  const logins = atOnce(30, () => service.login(user.email, app.code))
  await atOnce(20, () => sealEvents(service.deps))
  await logins
  service.advance(120)
  await sealEvents(service.deps)
  const batches: Json[] = await db('audit_batches').orderBy('number')
  expect(batches.map(({ number }) => number)).toEqual(batches.map((_, index) => index + 1))
  const chained = await db('audit_events').whereNotNull('seal_position')
  const inBatches = batches.reduce((sum, { count }) => sum + count, 0)
  expect(inBatches).toBeGreaterThan(testDatabase() === 'sqlite' ? 20 : 2_000)
  expect(inBatches + chained.length).toBe(await countRows(service, 'audit_events'))
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await service.admin('GET', `/admin/audit/verify${cursor && `?cursor=${cursor}`}`)
    expect(body).toMatchObject({ fault: null, unsealed: 0 })
    cursor = body.next_cursor
  }
})

// The transaction of the test holds one connection, the second sealer another.
test.runIf(testDatabase() === 'postgres' && process.env.TEST_POOL_MAX !== '1')(
  'a sealer that is overtaken by the one that begins the chain does not report its end as gone',
  async () => {
    const service = await buildService()
    const { deps } = service
    await buildUser(service, await buildApp(service))
    await becomeFirst(service)
    service.advance(120)
    const { position, overtaken } = await deps.db.transaction(async (first) => {
      await first.raw('lock table audit_events in access exclusive mode')
      const overtaken = sealEvents(deps)
      // It has found no chain and waits to read the events.
      await until(async () => {
        const { rows } = await deps.db.raw(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        return rows.length > 0
      })
      return { ...(await sealEvents({ ...deps, db: asPool(first) })), overtaken }
    })
    expect(position).toBeGreaterThan(0)
    expect(await overtaken).toMatchObject({ position, sealed: 0 })
  },
)

test('each grant that is revoked while its app is deleted ends revoked or gone, and no two calls deadlock', async () => {
  const home = await buildApp(service, { auto_grant_on_signup: true })
  const people = await Promise.all(Array.from({ length: 6 }, async () => (await buildUser(service, home)).user.id))
  for (let round = 0; round < 10; round += 1) {
    const app = await buildApp(service)
    await service.admin('POST', `/admin/apps/${app.id}/grants`, { body: { users: people } })
    const [deleted, ...revoked] = await Promise.all([
      service.admin('DELETE', `/admin/apps/${app.id}?force=true`),
      ...people.map((id) => service.admin('DELETE', `/admin/users/${id}/apps/${app.id}`)),
      service.admin('POST', `/admin/apps/${app.id}/grants/revoke`, { body: { users: people } }),
    ])
    expect(deleted.status).toBe(204)
    for (const { status } of revoked) expect([200, 404]).toContain(status)
    expect(await service.deps.db('user_apps').where({ app_id: app.id })).toEqual([])
  }
})

test('sixty callers with more work than connections all get an answer', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, access_token } = await buildUser(service, app)
  const replies = await atOnce(60, (index) => {
    if (index % 4 === 0) return service.register(someEmail(), app.code, { organization_name: 'Crowd' })
    if (index % 4 === 1) return service.login(user.email, app.code)
    if (index % 4 === 2) return service.call('GET', '/auth/me', { token: access_token })
    return service.admin('PATCH', `/admin/apps/${app.id}`, { body: { description: `change ${index}` } })
  })
  expect(tally(replies)).toEqual({ 200: 45, 201: 15 })
})
