// What an admin needs when something is wrong: whose token it is, what is locked, whose sessions are alive, and how to end them.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { atOnce } from '../support/chance.ts'
import { assertionOf } from '../support/consumer.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { addMember, assignRole, buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { auditEvents, countRows, isInvitationSpent } from '../support/rows.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  claimsOf,
  type Json,
  PASSWORD,
  someEmail,
  somePool,
  unique,
} from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({ AUTH_LOCKOUT_THRESHOLD: '2', AUTH_LOCKOUT_SECONDS: '100', AUTH_RATE_LIMIT_ACCOUNT: 'off' })
const app = appFixture(service)

const wrong = { password: 'not this password' }
const me = async (token: string) => (await service.call('GET', '/auth/me', { token })).status
const refresh = async (refresh_token: string) => (await service.call('POST', '/auth/refresh', { body: { refresh_token } })).status
const detail = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body

describe('the user record for admins', () => {
  test('a user record shows second factor, identities, lock and last login, and can be sent back', async () => {
    const { user, access_token } = await buildUser(service, app)
    const before = await detail(user.id)
    expect(before).toMatchObject({ two_factor: false, identities: [], locked_until: null, last_login_at: expect.any(String) })
    await enableTwoFactor(service, access_token)
    const provider = await buildSsoProvider(service, unique('idp'), { issuer: 'https://id.example.com' })
    const identity = { id: randomUUID(), user_id: user.id, provider_id: provider.id, subject: randomUUID(), created_at: 1 }
    await service.deps.db('user_identities').insert(identity)
    for (const _ of [1, 2]) await service.login(user.email, app.code, wrong)
    const after = await detail(user.id)
    expect(after).toMatchObject({
      two_factor: true,
      identities: [{ id: identity.id, provider: provider.code, created_at: new Date(1).toISOString() }],
    })
    expect(Date.parse(after.locked_until)).toBeGreaterThan(service.deps.clock())
    const sentBack = await service.admin('PATCH', `/admin/users/${user.id}`, { body: { ...after, first_name: 'Back' } })
    expect([sentBack.status, sentBack.body.first_name]).toEqual([200, 'Back'])
    const changed = await service.admin('PATCH', `/admin/users/${user.id}`, { body: { ...after, two_factor: false } })
    expect(faultsOf(changed)[0]).toMatch(/^two_factor/)
    await service.admin('POST', `/admin/users/${user.id}/unlock`)
    expect((await detail(user.id)).locked_until).toBeNull()
  })

  test('a user whom an admin created has no last login', async () => {
    const { body } = await service.admin('POST', '/admin/users', { body: { email: someEmail() } })
    expect(await detail(body.id)).toMatchObject({ last_login_at: null, locked_until: null })
  })
})

describe('sessions of a user', () => {
  test('an admin lists the sessions of a user and ends them one by one', async () => {
    const { user, access_token, refresh_token } = await buildUser(service, app)
    const second = (await service.login(user.email, app.code)).body
    const stranger = await buildUser(service, app)
    const path = `/admin/users/${user.id}/sessions`
    const ids = [second, { access_token }].map((tokens) => claimsOf(tokens.access_token).sid)
    const { body } = await service.admin('GET', path)
    expect(body.items.map(({ id, current }: Json) => ({ id, current }))).toEqual(ids.map((id) => ({ id, current: false })))
    expectError(await service.admin('GET', `/admin/users/${randomUUID()}/sessions`), 'not_found')
    expectError(await service.admin('DELETE', `${path}/${claimsOf(stranger.access_token).sid}`), 'not_found')
    expect((await service.admin('DELETE', `${path}/${ids[1]}`)).status).toBe(204)
    expectError(await service.admin('DELETE', `${path}/${ids[1]}`), 'not_found')
    expect([await me(access_token), await refresh(refresh_token)]).toEqual([401, 401])
    expect([await me(second.access_token), await me(stranger.access_token)]).toEqual([200, 200])
    const [event] = await auditEvents(service, { event: 'session.ended', user_id: user.id })
    expect(event).toMatchObject({ actor_type: 'user', details: { session_id: ids[1] } })
    expect(event.actor_id).not.toBe(user.id)
  })
})

describe('a single lock', () => {
  const locks = async (): Promise<Json[]> => (await service.admin('GET', '/admin/lockouts?limit=200')).body.items

  test('a lock is cleared by its key, even for an address without a user', async () => {
    const { user } = await buildUser(service, app)
    const before = new Set((await locks()).map(({ key }) => key))
    for (const email of [user.email, someEmail()]) for (const _ of [1, 2]) await service.login(email, app.code, wrong)
    expectError(await service.login(user.email, app.code), 'account_locked')
    const made = (await locks()).filter(({ key }) => !before.has(key))
    expect(made.map(({ email }) => email).sort()).toEqual([user.email, null].sort())
    for (const { key } of made) {
      expect((await service.admin('DELETE', `/admin/lockouts/${encodeURIComponent(key)}`)).status).toBe(204)
      expectError(await service.admin('DELETE', `/admin/lockouts/${encodeURIComponent(key)}`), 'not_found')
    }
    expect((await service.login(user.email, app.code)).status).toBe(200)
    const [event] = await auditEvents(service, { event: 'user.unlocked', user_id: user.id })
    expect(event.details).toMatchObject({ before: { failures: 2, locked: true }, after: { failures: 0, locked: false } })
  })

  test('one of several concurrent calls clears a lock', async () => {
    const { user } = await buildUser(service, app)
    await service.login(user.email, app.code, wrong)
    const { key } = (await locks()).find(({ email }) => email === user.email)!
    const replies = await atOnce(8, () => service.admin('DELETE', `/admin/lockouts/${encodeURIComponent(key)}`))
    expect(replies.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)])
    expect(await auditEvents(service, { event: 'user.unlocked', user_id: user.id })).toHaveLength(1)
  })
})

describe('the trace of a found token', () => {
  const trace = (token: string) => service.admin('POST', '/admin/tokens/trace', { body: { token } })
  const newAccount = async (body: Json = {}): Promise<Json> =>
    (await service.admin('POST', '/admin/service-accounts', { body: { name: unique('account'), service: 'notes', ...body } }))
      .body

  test('the trace of an access token shows its user, what it opens now, and how it ended', async () => {
    const { user, access_token, refresh_token } = await buildUser(service, app)
    const sid = claimsOf(access_token).sid
    const live = await trace(access_token)
    expect(live.status).toBe(200)
    expect(live.headers.get('cache-control')).toBe('no-store')
    expect(live.body).toMatchObject({
      kind: 'access',
      state: 'live',
      user: { id: user.id, email: user.email },
      session: { id: sid, alive: true, app: { code: app.code }, auth_method: 'password', organization: null },
      service_account: null,
      roles: ['base_user'],
      administers: false,
    })
    expect(JSON.stringify(live.body)).not.toContain(access_token.split('.')[2])
    // The roles shown are the current ones, not those in the token.
    await service.call('POST', '/auth/logout', { body: { refresh_token } })
    const over = (await trace(access_token)).body
    expect(over).toMatchObject({ state: 'ended', user: { id: user.id }, session: { id: sid, alive: false }, roles: [] })
    service.advance(3_600)
    expect((await trace(access_token)).body).toMatchObject({ state: 'expired', user: { id: user.id } })
  })

  test("the trace of an admin's token says that it administers, and that of an organization shows the roles", async () => {
    const { user } = await buildUser(service, app)
    await assignRole(service, user.id, 'system_admin')
    const admin = (await service.login(user.email, 'authctl')).body
    expect((await trace(admin.access_token)).body).toMatchObject({ administers: true, session: { app: { code: 'authctl' } } })
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_admin'])
    const member = (await service.login(user.email, app.code, { organization_id: organization.id })).body
    expect((await trace(member.access_token)).body).toMatchObject({
      roles: ['org_admin'],
      session: { organization: { id: organization.id, slug: organization.slug } },
    })
  })

  test('the trace of a token that was signed but never issued says that it is forged', async () => {
    const { user, access_token } = await buildUser(service, app)
    const claims = claimsOf(access_token)
    const strangers = await buildUser(service, app)
    for (const changes of [
      { sid: randomUUID() },
      { tv: claims.tv + 1 },
      { exp: claims.iat + 7_200 },
      { sid: claimsOf(strangers.access_token).sid },
    ]) {
      const { body } = await trace(forgeToken({ ...claims, ...changes }))
      expect(body).toMatchObject({ kind: 'access', state: 'forged', user: { id: user.id }, session: null, administers: false })
    }
    expect((await trace(forgeToken(claims, { secret: 'another secret, 32 characters or more' }))).body.state).toBe('unknown')
  })

  test('the trace of a token of a deleted app does not say that it is forged', async () => {
    const own = await buildApp(service, { auto_grant_on_signup: true })
    const { access_token } = await buildUser(service, own)
    await service.admin('DELETE', `/admin/apps/${own.code}?force=true`)
    expect((await trace(access_token)).body).toMatchObject({ state: 'ended', session: null })
  })

  test('a trace does not spend a refresh token, and for a spent one tells whether its session is alive', async () => {
    const { user, refresh_token } = await buildUser(service, app)
    expect((await trace(refresh_token)).body).toMatchObject({ kind: 'refresh', state: 'live', user: { id: user.id } })
    expect(await refresh(refresh_token)).toBe(200)
    expect((await trace(refresh_token)).body).toMatchObject({ state: 'spent', session: { alive: true }, roles: [] })
    expect(await auditEvents(service, { event: 'token.reuse_detected', user_id: user.id })).toEqual([])
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    expect((await trace(refresh_token)).body).toMatchObject({ state: 'spent', session: { alive: false } })
    const other = await buildUser(service, app)
    await service.admin('POST', `/admin/users/${other.user.id}/logout`)
    expect((await trace(other.refresh_token)).body).toMatchObject({ state: 'ended', session: { alive: false } })
  })

  test('the trace of a service token shows its account, scopes and apps, and does not count as a use', async () => {
    const { token, ...account } = await newAccount({ scopes: ['tokens:introspect'], app_codes: [app.code] })
    expect((await trace(token)).body).toMatchObject({
      kind: 'service_account',
      state: 'live',
      service_account: {
        id: account.id,
        name: account.name,
        scopes: ['tokens:introspect'],
        app_codes: [app.code],
        last_used_at: null,
      },
      user: null,
    })
    await service.admin('POST', `/admin/service-accounts/${account.id}/rotate`)
    expect((await trace(token)).body).toMatchObject({ kind: 'service_account', state: 'unknown', service_account: null })
    const soon = await newAccount({ expires_at: new Date(service.deps.clock() + 60_000).toISOString() })
    service.advance(61)
    expect((await trace(soon.token)).body.state).toBe('expired')
  })

  test('a trace is audited without the token, an unknown token is reported as such, and a bad request is 400', async () => {
    const { user, refresh_token } = await buildUser(service, app)
    const { headers } = await trace(refresh_token)
    const [event] = await auditEvents(service, { request_id: headers.get('x-request-id') })
    expect(event).toMatchObject({
      event: 'token.traced',
      user_id: user.id,
      app_id: app.id,
      details: { kind: 'refresh', state: 'live' },
    })
    expect(JSON.stringify(event)).not.toContain(refresh_token)
    for (const token of ['x', 'gsa_x', 'grt_x', assertionOf(app), `gin_${'a'.repeat(43)}`])
      expect((await trace(token)).body).toMatchObject({ state: 'unknown', user: null, session: null, service_account: null })
    const long = await trace('a'.repeat(16_385))
    expect([faultsOf(long), JSON.stringify(long.body).length < 1_000]).toEqual([['token: too_long'], true])
    for (const body of [{}, { token: '' }, { token: 1 }, { token: 'x', more: 1 }])
      expectError(await service.admin('POST', '/admin/tokens/trace', { body }), 'validation_failed')
  })
})

test('concurrent requests to redeliver all failed deliveries queue each delivery once', async () => {
  // This service sends nothing, so queued deliveries stay queued.
  const own = await buildApp(service, { webhooks: [{ name: 'crm', url: 'https://crm.example.com/hook' }] })
  await service.admin('POST', `/admin/apps/${own.code}/webhooks/test`)
  const failed = { status: 'failed', finished_at: 1, next_attempt_at: 1 }
  await service.deps.db('outbox').where({ app_id: own.id }).update(failed)
  const stored = await service.deps.db('outbox').where({ app_id: own.id }).first()
  // More than one portion of deliveries.
  const rows = Array.from({ length: 600 }, () => ({ ...stored, id: newId(service.deps.clock()) }))
  for (let at = 0; at < rows.length; at += 50) await service.deps.db('outbox').insert(rows.slice(at, at + 50))
  const body = { app: own.code }
  const counts = await atOnce(
    4,
    async () => (await service.admin('POST', '/admin/webhook-deliveries/redeliver', { body })).body.count,
  )
  expect(counts.reduce((total, count) => total + count, 0)).toBe(601)
  expect(await countRows(service, 'outbox', { app_id: own.id, status: 'pending' })).toBe(601)
  const told = await auditEvents(service, { event: 'webhook.redelivered', app_id: own.id })
  expect(told.reduce((total, { details }) => total + details.count, 0)).toBe(601)
})

describe('the offboarding of users', () => {
  const offboard = (id: string, body: Json = {}, query = '') =>
    service.admin('POST', `/admin/users/${id}/offboard${query}`, { body })

  async function somebody(): Promise<{
    user: Json
    tokens: Json
    organization: Json
    account: Json
    sent: string
    received: string
  }> {
    const tokens = await buildUser(service, app)
    const { user } = tokens
    await assignRole(service, user.id, 'system_admin')
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_admin'])
    const token = (await service.login(user.email, 'authctl')).body.access_token
    const body = { name: unique('account'), service: 'notes' }
    const account = (await service.call('POST', '/admin/service-accounts', { token, body })).body
    const invitation = { role_codes: ['org_member'] }
    const path = `/admin/organizations/${organization.id}/invitations`
    const sent = (await service.call('POST', path, { token, body: invitation })).body.token
    const asked = { email: user.email, password: PASSWORD, app_code: (await buildApp(service)).code }
    expect((await service.call('POST', '/auth/access-requests', { body: asked })).status).toBe(201)
    const received = await buildInvitation(service, { organizationId: (await buildOrganization(service)).id, email: user.email })
    return { user, tokens, organization, account, sent, received }
  }

  test('an offboarding ends all access of a user, reports what it did, and does it once', async () => {
    const { user, tokens, organization, account, sent, received } = await somebody()
    const planned = await offboard(user.id, {}, '?dry_run=true')
    const done = await offboard(user.id)
    expect(done.status).toBe(200)
    expect(done.body).toEqual({
      user: expect.objectContaining({ id: user.id, status: 'suspended' }),
      suspended: true,
      sessions: 2,
      grants: [app.code],
      organizations: [organization.slug],
      access_requests: 1,
      invitations: 2,
      service_accounts: [{ id: account.id, name: account.name, service: 'notes', deleted: true }],
      roles: ['system_admin'],
    })
    expect(planned.body).toEqual(done.body)
    expect([await me(tokens.access_token), await refresh(tokens.refresh_token)]).toEqual([401, 401])
    expect(await countRows(service, 'service_accounts', { id: account.id })).toBe(0)
    const joining = await buildUser(service, app)
    for (const token of [sent, received])
      expectError(
        await service.call('POST', '/auth/invitations/accept', { token: joining.access_token, body: { token } }),
        'invalid_invitation',
      )
    expectError(await service.login(user.email, app.code), 'account_suspended')
    const events = await auditEvents(service, { request_id: done.headers.get('x-request-id') })
    expect(events.map(({ event }) => event).sort()).toEqual(
      [
        'grant.request_denied',
        'grant.revoked',
        'invitation.deleted',
        'invitation.deleted',
        'membership.deleted',
        'service_account.deleted',
        'user.offboarded',
        'user.suspended',
      ].sort(),
    )
    const [revoked] = events.filter(({ event }) => event === 'grant.revoked')
    expect(revoked?.details).toMatchObject({ before: { app_code: app.code, status: 'active' }, after: { status: 'revoked' } })
    const revocations = await countRows(service, 'revocations')
    const again = await offboard(user.id)
    expect(again.body).toMatchObject({ suspended: false, sessions: 0, grants: [], organizations: [], invitations: 0 })
    expect(again.body.service_accounts).toEqual([])
    expect(await countRows(service, 'revocations')).toBe(revocations)
    expect(await auditEvents(service, { event: 'user.offboarded', user_id: user.id })).toHaveLength(1)
    // When the account is activated again, it gets nothing of this back.
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'active' } })
    expectError(await service.login(user.email, app.code), 'app_access_denied')
  })

  test('one of several concurrent offboardings does the work', async () => {
    const { user } = await somebody()
    const replies = await atOnce(6, () => offboard(user.id))
    expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect(replies.filter(({ body }) => body.suspended)).toHaveLength(1)
    expect(replies.flatMap(({ body }) => body.service_accounts)).toHaveLength(1)
    expect(await auditEvents(service, { event: 'user.offboarded', user_id: user.id })).toHaveLength(1)
  })

  test('an offboarding keeps service accounts on request, and those whose token another admin rotated', async () => {
    const { user, account } = await somebody()
    const kept = await offboard(user.id, { keep_service_accounts: true })
    expect(kept.body.service_accounts).toEqual([expect.objectContaining({ id: account.id, deleted: false })])
    expect(await countRows(service, 'service_accounts', { id: account.id })).toBe(1)
    await service.admin('POST', `/admin/service-accounts/${account.id}/rotate`)
    expect((await offboard(user.id)).body.service_accounts).toEqual([])
    expect(await countRows(service, 'service_accounts', { id: account.id })).toBe(1)
  })

  test('an offboarding finds an account that another user created and this user rotated', async () => {
    const { body: account } = await service.admin('POST', '/admin/service-accounts', {
      body: { name: unique('a'), service: 'notes' },
    })
    const { user } = await somebody()
    const token = (await service.login(user.email, 'authctl')).body.access_token
    await service.call('POST', `/admin/service-accounts/${account.id}/rotate`, { token })
    expect((await offboard(user.id)).body.service_accounts.map(({ id }: Json) => id)).toContain(account.id)
  })

  test('an offboarding keeps accepted invitations, other accounts of the same person, and strangers', async () => {
    const pool = somePool()
    const { user, organization } = await somebody()
    const token = await buildInvitation(service, { organizationId: organization.id })
    const friend = await buildUser(service, app)
    await service.call('POST', '/auth/invitations/accept', { token: friend.access_token, body: { token } })
    const { body: twin } = await service.admin('POST', '/admin/users', {
      body: { email: user.email, password: PASSWORD, namespace: pool },
    })
    await offboard(user.id)
    expect(await isInvitationSpent(service, token)).toBe(true)
    expect(await detail(twin.id)).toMatchObject({ status: 'active' })
    expect((await detail(friend.user.id)).organizations).toHaveLength(1)
  })

  test('the last system_admin cannot be offboarded and loses nothing', async () => {
    const own = await buildService()
    const { id } = (await own.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
    expectError(await own.admin('POST', `/admin/users/${id}/offboard`, { body: {} }), 'last_system_admin')
    expect((await own.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
  })

  const offboardMany = (body: Json, query = '') => service.admin('POST', `/admin/users/offboard${query}`, { body })
  const outcomes = ({ body }: { body: Json }) => body.items.map(({ outcome, code }: Json) => code ?? outcome)

  test('offboarding several users works as one call each, by e-mail in all pools, and skips unknown users', async () => {
    const [one, many, twin] = [await somebody(), await somebody(), await somebody()]
    const elsewhere = { email: many.user.email, password: PASSWORD, namespace: somePool() }
    const { body: other } = await service.admin('POST', '/admin/users', { body: elsewhere })
    const apart = { email: twin.user.email, password: PASSWORD, namespace: somePool() }
    const { body: stays } = await service.admin('POST', '/admin/users', { body: apart })
    const alone = await offboard(one.user.id)
    const users = [
      many.user.email,
      'nobody@example.com',
      `${twin.user.email}@@${twin.user.namespace}`,
      'bob',
      other.id.toUpperCase(),
    ]
    const planned = await offboardMany({ users }, '?dry_run=true')
    expect(await detail(many.user.id)).toMatchObject({ status: 'active' })
    const done = await offboardMany({ users })
    expect(planned.body).toEqual(done.body)
    expect(done.status).toBe(200)
    expect(outcomes(done)).toEqual(['offboarded', 'user_not_found', 'offboarded', 'invalid_user', 'unchanged'])
    expect(done.body.items.map(({ user }: Json) => user)).toEqual(users)
    const { accounts } = done.body.items[0]
    expect(accounts.map(({ user }: Json) => user.id).sort()).toEqual([many.user.id, other.id].sort())
    const plain = ({ user: _, organizations, service_accounts, ...counts }: Json) => ({
      ...counts,
      organizations: organizations.length,
      service_accounts: service_accounts.map(({ deleted }: Json) => deleted),
    })
    const own = accounts.find(({ user }: Json) => user.id === many.user.id)
    expect(plain(own)).toEqual(plain(alone.body))
    const eventsOf = async ({ user }: Json) => (await auditEvents(service, { user_id: user.id })).map(({ event }) => event).sort()
    expect(await eventsOf(many)).toEqual(await eventsOf(one))
    expect(await me(many.tokens.access_token)).toBe(401)
    expect(await detail(stays.id)).toMatchObject({ status: 'active' })
    expect(outcomes(await offboardMany({ users }))).toEqual([
      ...['unchanged', 'user_not_found', 'unchanged', 'invalid_user', 'unchanged'],
    ])
  })

  test('offboarding several users can keep service accounts, and a bad list is refused with 400', async () => {
    const { user, account } = await somebody()
    const kept = await offboardMany({ users: [user.id], keep_service_accounts: true })
    expect(kept.body.items[0].accounts[0].service_accounts).toEqual([expect.objectContaining({ id: account.id, deleted: false })])
    expect(await countRows(service, 'service_accounts', { id: account.id })).toBe(1)
    const one = [randomUUID()]
    for (const body of [{}, { users: [] }, { users: [''] }, { users: Array(101).fill(user.id) }, { users: one, apps: one }])
      expectError(await offboardMany(body), 'validation_failed')
  })

  test('offboarding several users spares the last system_admin', async () => {
    const own = await buildService()
    const admin = (await own.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
    const { body: leaver } = await own.admin('POST', '/admin/users', {
      body: { email: 'leaver@example.com', password: PASSWORD },
    })
    const { body: second } = await own.admin('POST', '/admin/users', {
      body: { email: 'second@example.com', password: PASSWORD },
    })
    await assignRole(own, second.id, 'system_admin')
    await own.admin('PATCH', `/admin/users/${second.id}`, { body: { status: 'active' } })
    const users = [second.id, admin.id, leaver.id]
    const planned = await own.admin('POST', '/admin/users/offboard?dry_run=true', { body: { users } })
    expect(outcomes(planned)).toEqual(['offboarded', 'last_system_admin', 'offboarded'])
    const done = await own.admin('POST', '/admin/users/offboard', { body: { users } })
    expect(done.body).toEqual(planned.body)
    expect(done.body.items[1]).toMatchObject({ accounts: [], message: expect.stringContaining('system_admin') })
    expect((await own.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
  })

  test('concurrent offboardings of the same users in any order offboard each user once', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, async () => (await buildUser(service, app)).user))
    const ids = people.map(({ id }) => id)
    const replies = await atOnce(8, (index) => offboardMany({ users: index % 2 === 0 ? ids : ids.toReversed() }))
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(replies.flatMap(outcomes).filter((outcome) => outcome === 'offboarded')).toHaveLength(6)
    for (const id of ids) expect(await auditEvents(service, { event: 'user.offboarded', user_id: id })).toHaveLength(1)
  })

  test('offboarding an unknown or deleted user is 404, and a body with unknown members is 400', async () => {
    expectError(await offboard(randomUUID()), 'not_found')
    const { user } = await buildUser(service, app)
    expectError(await offboard(user.id, { keep: true }), 'validation_failed')
    await service.admin('DELETE', `/admin/users/${user.id}`)
    expectError(await offboard(user.id), 'not_found')
  })
})
