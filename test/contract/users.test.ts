import { describe, expect, test } from 'vitest'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { addMember, buildOrganization, buildRole } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, someEmail, somePool } from '../support/service.ts'
import { totpAt } from '../support/totp.ts'

const service = serviceFixture({ AUTH_PASSWORD_BLOCKLIST: 'on' })
/** Grants access to every user. */
const app = appFixture(service)

const create = (body: Json) => service.admin('POST', '/admin/users', { body })
const show = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body
const patch = (id: string, body: Json) => service.admin('PATCH', `/admin/users/${id}`, { body })
const remove = (id: string, query = '') => service.admin('DELETE', `/admin/users/${id}${query}`)
const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
const appOver = (registration_namespace: string, ...read_namespaces: string[]) =>
  buildApp(service, { auto_grant_on_signup: true, registration_namespace, read_namespaces })

/** What is audited about a user, oldest first. */
async function audited(id: string): Promise<Json[]> {
  const events = await auditEvents(service, { user_id: id })
  return events.map(({ event, actor_type, details }) => ({ event, actor_type, details }))
}

async function versionOf(id: string): Promise<number> {
  return (await service.deps.db('users').where({ id }).first('token_version')).token_version
}

async function expectDead(tokens: Json): Promise<void> {
  expectError(await service.call('GET', '/auth/me', { token: tokens.access_token }), 'token_revoked')
  expect((await refresh(tokens.refresh_token)).status).toBe(401)
}

/**
 * Asserts that the sessions of these tokens are marked as ended. A session that began in a race is not: only the minimum token version ends it.
 */
async function expectEnded(...all: Json[]): Promise<void> {
  for (const { access_token } of all)
    expect(await countRows(service, 'sessions', { id: claimsOf(access_token).sid, ended_at: null })).toBe(0)
}

describe('creating a user', () => {
  test('a created user has all given values, and can sign in', async () => {
    const role = await buildRole(service, 'global')
    const email = someEmail()
    const reply = await create({
      email: `  ${email.toUpperCase()} `,
      password: PASSWORD,
      first_name: ' Ada ',
      last_name: 'Lovelace',
      namespace: 'staff',
      tags: ['staff-b', 'staff-a', 'staff-b', 'staff'],
      email_verified: true,
      roles: [role, 'base_user'],
    })
    expect(reply.status).toBe(201)
    expectHeaders(reply)
    expect(reply.body).toEqual({
      id: expect.any(String),
      email,
      email_verified: true,
      first_name: 'Ada',
      last_name: 'Lovelace',
      namespace: 'staff',
      namespaces: ['staff', 'staff-a', 'staff-b'],
      status: 'active',
      created_at: expect.any(String),
      apps: [],
      roles: ['base_user', role],
      organizations: [],
      locale: null,
      two_factor: false,
      passkeys: 0,
      identities: [],
      locked_until: null,
      last_login_at: null,
      made_by: 'admin',
    })
    expect(await show(reply.body.id)).toEqual(reply.body)
    const login = await service.login(email, (await appOver('staff')).code)
    expect([login.status, login.body.user.id]).toEqual([200, reply.body.id])
    expect((await audited(reply.body.id))[0]).toEqual({
      event: 'user.created',
      actor_type: 'user',
      details: { before: null, after: reply.body },
    })
    expect(JSON.stringify(await audited(reply.body.id))).not.toMatch(/\$2[aby]\$|correct horse/)
  })

  test('a created user needs only an e-mail address, and cannot sign in without a password', async () => {
    const email = someEmail()
    const { status, body } = await create({ email, first_name: '', last_name: null })
    expect(status).toBe(201)
    expect(body).toMatchObject({ email_verified: false, first_name: null, namespaces: ['default'], roles: ['base_user'] })
    for (const password of ['', 'null', PASSWORD]) {
      const reply = await service.login(email, app.code, { password })
      expect(reply.body.code).toBe(password === '' ? 'validation_failed' : 'invalid_credentials')
    }
  })

  test('creating a user sends nothing and grants nothing', async () => {
    const hooked = await buildApp(service, { webhooks: [{ name: 'crm', url: 'https://crm.example.com/hook' }] })
    await create({ email: someEmail() })
    expect(await countRows(service, 'outbox')).toBe(0)
    expect(await countRows(service, 'user_apps', { app_id: hooked.id })).toBe(0)
  })

  test('creating a user is 409 if the address is in one of the pools, as home or tag, and 201 if it is in others', async () => {
    const [home, tag, other] = [somePool(), somePool(), somePool()]
    const email = someEmail()
    expect((await create({ email, namespace: home, tags: [tag] })).status).toBe(201)
    for (const body of [
      { email, namespace: home },
      { email: email.toUpperCase(), namespace: tag },
      { email, namespace: other, tags: [home] },
      { email, namespace: other, tags: [other, tag] },
    ])
      expectError(await create(body), 'email_exists_in_pool')
    expect((await create({ email, namespace: other })).status).toBe(201)
    expect(await countRows(service, 'users', { email })).toBe(2)
  })

  test('creating a user names each wrong field, and never the password', async () => {
    const reply = await create({
      email: 'nobody',
      namespace: 'No Pool',
      tags: ['a', ''],
      roles: ['Not A Role'],
      email_verified: 1,
    })
    expectError(reply, 'validation_failed')
    expect(new Set(reply.body.errors.map((error: Json) => error.path))).toEqual(
      new Set(['email', 'namespace', 'tags.1', 'roles.0', 'email_verified']),
    )
    const email = someEmail()
    for (const [password, code] of [
      ['short12', 'too_short'],
      [email, 'invalid_value'],
      ['Password123', 'too_common'],
      ['x'.repeat(1_025), 'too_long'],
    ] as const) {
      const refused = await create({ email, password })
      expect(faultsOf(refused)).toEqual([`password: ${code}`])
      expect(JSON.stringify(refused.body)).not.toContain(password)
    }
    const org = await buildRole(service, 'org')
    expect(faultsOf(await create({ email, roles: ['base_user', org, 'nothing'] }))).toEqual([
      'roles.1: invalid_value',
      'roles.2: invalid_value',
    ])
    expect(await countRows(service, 'users', { email })).toBe(0)
  })

  test('twenty creations and registrations of one address over overlapping pools leave one user in each pool', async () => {
    const pools = [somePool(), somePool(), somePool()]
    const apps = [await appOver(pools[0]!, pools[1]!), await appOver(pools[1]!, pools[2]!)]
    const email = someEmail()
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        index % 2
          ? service.register(email, apps[index % 4 === 1 ? 0 : 1]!.code)
          : create({ email, namespace: pools[index % 3], tags: [pools[(index + 1) % 3]] }),
      ),
    )
    for (const { status } of replies) expect([201, 409]).toContain(status)
    // Each of these users would be in two of three pools, so any two would collide.
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await countRows(service, 'users', { email })).toBe(1)
  })
})

describe('updating a user', () => {
  test('an update changes the names, and clears them with null or an empty string', async () => {
    const { user } = await buildUser(service, app, { first_name: 'Ada', last_name: 'Byron' })
    const reply = await patch(user.id, { last_name: ' Lovelace ' })
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({ first_name: 'Ada', last_name: 'Lovelace', email: user.email })
    expect(await show(user.id)).toEqual(reply.body)
    expect((await patch(user.id, { first_name: null, last_name: '' })).body).toMatchObject({ first_name: null, last_name: null })
    expect(await audited(user.id)).toMatchObject([
      ...(await audited(user.id)).slice(0, -2),
      { event: 'user.updated', details: { before: { last_name: 'Byron' }, after: { last_name: 'Lovelace' } } },
      {
        event: 'user.updated',
        details: {
          before: { first_name: 'Ada', last_name: 'Lovelace' },
          after: { first_name: null, last_name: null },
        },
      },
    ])
  })

  test('an update to the present values writes nothing', async () => {
    const { user } = await buildUser(service, app, { first_name: 'Ada' })
    const before = await service.deps.db('users').where({ id: user.id }).first()
    service.advance(5)
    for (const body of [{}, { first_name: 'Ada', last_name: null, email: ` ${user.email.toUpperCase()}`, status: 'active' }])
      expect((await patch(user.id, body)).status).toBe(200)
    expect(await service.deps.db('users').where({ id: user.id }).first()).toEqual(before)
    expect(await auditEvents(service, { user_id: user.id, event: 'user.updated' })).toEqual([])
  })

  test('an update refuses any other field', async () => {
    const { user } = await buildUser(service, app)
    const reply = await patch(user.id, {
      namespace: 'x',
      password: PASSWORD,
      roles: [],
      status: 'deleted',
      email: null,
      id: user.id,
      secret: 1,
    })
    expect(faultsOf(reply).sort()).toEqual(
      ['email: invalid_type', 'password: unknown_field', 'secret: unknown_field', 'status: invalid_value'].sort(),
    )
    const others = faultsOf(await patch(user.id, { namespace: 'x', roles: [], id: user.id, first_name: 'X' }))
    expect(others.sort()).toEqual(['namespace: invalid_value', 'roles: invalid_value'])
  })

  test.each(['status', 'email'])('an update with null or "" for %s is 400 and changes nothing', async (field) => {
    const { user } = await buildUser(service, app)
    await patch(user.id, { status: 'suspended' })
    const before = await show(user.id)
    for (const blank of [null, '']) {
      const reply = await patch(user.id, { first_name: 'X', [field]: blank })
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual([`${field}: ${blank === null ? 'invalid_type' : 'invalid_value'}`])
    }
    expect(await show(user.id)).toEqual(before)
  })

  test('an update of the e-mail address makes it unverified, moves the login there, and ends no session', async () => {
    const { user, access_token, refresh_token } = await buildUser(service, app)
    await markVerified(service, user.id)
    const email = someEmail()
    const reply = await patch(user.id, { email: email.toUpperCase() })
    expect(reply.body).toMatchObject({ email, email_verified: false })
    expect((await service.login(user.email, app.code)).body.code).toBe('invalid_credentials')
    expect((await service.login(email, app.code)).body.user.id).toBe(user.id)
    expect((await service.call('GET', '/auth/me', { token: access_token })).body.code).toBe('token_revoked')
    expect(claimsOf((await refresh(refresh_token)).body.access_token).email).toBe(email)
    expect(await versionOf(user.id)).toBe(1)
    expect((await audited(user.id)).find(({ event }) => event === 'user.updated')?.details).toEqual({
      before: { email: user.email, email_verified: true },
      after: { email, email_verified: false },
    })
    expect((await service.register(user.email, app.code)).status).toBe(201)
  })

  test('an update to an e-mail address that another user of one of the pools has is 409', async () => {
    const [home, tag] = [somePool(), somePool()]
    const { user } = await buildUser(service, await appOver(home, tag))
    const inHome = (await create({ email: someEmail(), namespace: home })).body
    const inTag = (await create({ email: someEmail(), namespace: somePool(), tags: [tag] })).body
    const elsewhere = (await create({ email: someEmail(), namespace: somePool() })).body
    for (const other of [inHome, inTag])
      expectError(await patch(user.id, { email: other.email, first_name: 'X' }), 'email_exists_in_pool')
    expect(await show(user.id)).toMatchObject({ email: user.email, first_name: null })
    expect((await patch(user.id, { email: elsewhere.email })).status).toBe(200)
    expectError(await patch(inHome.id, { email: elsewhere.email }), 'email_exists_in_pool')
  })

  test('concurrent updates that swap addresses leave each address one user', async () => {
    const pool = somePool()
    const emails = Array.from({ length: 3 }, someEmail)
    const users = await Promise.all(
      Array.from({ length: 6 }, async () => (await create({ email: someEmail(), namespace: pool })).body),
    )
    for (let round = 0; round < 3; round += 1) {
      const replies = await Promise.all(
        Array.from({ length: 30 }, (_, index) => patch(users[index % 6].id, { email: emails[(index + round) % 3] })),
      )
      for (const { status } of replies) expect([200, 409]).toContain(status)
    }
    const left: string[] = await service.deps.db('users').where({ namespace: pool }).pluck('email')
    expect(new Set(left).size).toBe(6)
    expect(left).toEqual(expect.arrayContaining(emails))
  })

  test('concurrent updates of different fields are all kept', async () => {
    const { user } = await buildUser(service, app)
    const email = someEmail()
    await Promise.all([patch(user.id, { first_name: 'A' }), patch(user.id, { last_name: 'B' }), patch(user.id, { email })])
    expect(await show(user.id)).toMatchObject({ first_name: 'A', last_name: 'B', email })
  })
})

describe('suspending a user', () => {
  test('suspending ends every session in every app and refuses logins, and activating revives no session', async () => {
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const first = await buildUser(service, app)
    const second = (await service.login(first.user.email, other.code)).body
    const reply = await patch(first.user.id, { status: 'suspended' })
    expect([reply.status, reply.body.status]).toEqual([200, 'suspended'])
    for (const tokens of [first, second]) await expectDead(tokens)
    await expectEnded(first, second)
    expectError(await service.login(first.user.email, app.code), 'account_suspended')
    expect((await service.login(first.user.email, app.code, { password: 'wrong password' })).body.code).toBe(
      'invalid_credentials',
    )
    expect(await service.deps.db('revocations').where({ user_id: first.user.id })).toMatchObject([
      { app_id: null, session_id: null, min_tv: 1 },
    ])

    expect((await patch(first.user.id, { status: 'suspended' })).status).toBe(200)
    expect(await versionOf(first.user.id)).toBe(1)
    expect((await patch(first.user.id, { status: 'active' })).body.status).toBe('active')
    for (const tokens of [first, second]) await expectDead(tokens)
    const again = await service.login(first.user.email, app.code)
    expect([again.status, claimsOf(again.body.access_token).tv]).toEqual([200, 1])
    const events = (await audited(first.user.id)).filter(({ event }) => /suspended|activated/.test(event))
    expect(events).toEqual([
      {
        event: 'user.suspended',
        actor_type: 'user',
        details: { before: { status: 'active' }, after: { status: 'suspended' } },
      },
      {
        event: 'user.activated',
        actor_type: 'user',
        details: { before: { status: 'suspended' }, after: { status: 'active' } },
      },
    ])
  })

  test('suspending leaves nothing alive, even with concurrent logins and refreshes', async () => {
    for (let round = 0; round < 5; round += 1) {
      const first = await buildUser(service, app)
      const [suspended, ...replies] = await Promise.all([
        patch(first.user.id, { status: 'suspended' }),
        ...Array.from({ length: 8 }, (_, index) =>
          index % 2 ? service.login(first.user.email, app.code) : refresh(first.refresh_token),
        ),
      ])
      expect(suspended.status).toBe(200)
      await patch(first.user.id, { status: 'active' })
      for (const { body } of replies) if (body.access_token) await expectDead(body)
    }
  })
})

describe('unlocking a user', () => {
  test('unlocking lifts the lock and forgets the failures of this user only', async () => {
    const locking = await buildService({ AUTH_LOCKOUT_THRESHOLD: '3' })
    const target = await buildApp(locking, { auto_grant_on_signup: true })
    const [one, two] = [await buildUser(locking, target), await buildUser(locking, target)]
    for (const { user } of [one, two]) {
      for (let count = 0; count < 3; count += 1) await locking.login(user.email, target.code, { password: 'wrong password' })
      expectError(await locking.login(user.email, target.code), 'account_locked')
    }
    const unlock = () => locking.admin('POST', `/admin/users/${one.user.id}/unlock`)
    expect((await unlock()).status).toBe(204)
    expect((await locking.login(one.user.email, target.code)).status).toBe(200)
    expectError(await locking.login(two.user.email, target.code), 'account_locked')
    expect(await auditEvents(locking, { event: 'user.unlocked' })).toMatchObject([
      { user_id: one.user.id, details: { before: { failures: 3, locked: true }, after: { failures: 0, locked: false } } },
    ])
    expect((await unlock()).status).toBe(204)
    expect(await auditEvents(locking, { event: 'user.unlocked' })).toHaveLength(1)
    // Failures that did not lock yet are forgotten too.
    for (let count = 0; count < 2; count += 1) await locking.login(one.user.email, target.code, { password: 'wrong password' })
    await unlock()
    for (let count = 0; count < 2; count += 1) await locking.login(one.user.email, target.code, { password: 'wrong password' })
    expect((await locking.login(one.user.email, target.code)).status).toBe(200)
  })
})

describe('deleting a user', () => {
  test('deleting ends everything that the user had and keeps the id', async () => {
    const other = await buildApp(service, { auto_grant_on_signup: true, read_namespaces: ['alumni'] })
    const first = await buildUser(service, other, { first_name: 'Ada' })
    const second = (await service.login(first.user.email, app.code)).body
    const { id: organizationId } = await buildOrganization(service)
    await addMember(service, organizationId, first.user.id, ['org_admin'])
    const before = await show(first.user.id)

    const reply = await remove(first.user.id)
    expect([reply.status, reply.body]).toEqual([204, ''])
    for (const tokens of [first, second]) await expectDead(tokens)
    await expectEnded(first, second)
    expectError(await service.login(first.user.email, other.code), 'invalid_credentials')
    const { body } = await service.admin('GET', `/admin/users/${first.user.id}`)
    expect(body).toEqual({
      ...before,
      namespaces: ['default'],
      status: 'deleted',
      roles: [],
      organizations: [],
      apps: before.apps.map((grant: Json) => ({ ...grant, status: 'revoked', effective: 'revoked' })),
    })
    const events = await audited(first.user.id)
    expect(events.at(-1)).toEqual({ event: 'user.deleted', actor_type: 'user', details: { before, after: null } })
    expect(await countRows(service, 'revocations', { user_id: first.user.id })).toBe(1)
    // The deleted user no longer counts as a use of them.
    expect((await service.admin('DELETE', `/admin/apps/${other.id}`)).status).toBe(204)
    expect((await service.admin('DELETE', `/admin/organizations/${organizationId}`)).status).toBe(204)
  })

  test('deleting frees the address, and a user who registers it has nothing of the first one', async () => {
    const { user } = await buildUser(service, app, { first_name: 'Ada' })
    await remove(user.id)
    const again = await service.register(user.email, app.code, { password: 'another password' })
    expect(again.status).toBe(201)
    expect(again.body.user).toMatchObject({ first_name: null, email_verified: false })
    expect(again.body.user.id).not.toBe(user.id)
    await remove(again.body.user.id)
    expect((await create({ email: user.email })).status).toBe(201)
    expect(await countRows(service, 'users', { email: user.email })).toBe(3)
  })

  test('deleting removes the second factor and the password', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const { secret } = (await service.call('POST', '/auth/2fa/setup', { token })).body
    await service.call('POST', '/auth/2fa/activate', { token, body: { code: totpAt(secret, service.deps.clock()) } })
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(10)
    await remove(user.id)
    for (const table of ['second_factors', 'recovery_codes'])
      expect(await countRows(service, table, { user_id: user.id })).toBe(0)
    expect(await countRows(service, 'users', { id: user.id, password_hash: null })).toBe(1)
  })

  test('every write to a deleted user is 404', async () => {
    const { user } = await buildUser(service, app)
    await remove(user.id)
    const path = `/admin/users/${user.id}`
    for (const [method, rest, body] of [
      ['PATCH', '', { first_name: 'X' }],
      ['PATCH', '', { status: 'active' }],
      ['PATCH', '', {}],
      ['DELETE', '', undefined],
      ['DELETE', '?erase=false', undefined],
      ['POST', '/unlock', undefined],
      ['POST', '/logout', undefined],
      ['PUT', '/namespace', { namespace: 'x' }],
      ['PUT', '/namespace', { namespace: 'default' }],
      ['PATCH', '/namespaces', { add: ['x'] }],
      ['POST', `/apps/${app.code}`, {}],
      ['POST', '/roles', { role_code: 'super_admin' }],
    ] as const)
      expectError(await service.admin(method, path + rest, { body }), 'not_found', `${method} ${rest}`)
  })

  test('one of twenty concurrent deletions succeeds', async () => {
    const { user } = await buildUser(service, app)
    const replies = await Promise.all(Array.from({ length: 20 }, () => remove(user.id)))
    expect(replies.map(({ status }) => status).sort()).toEqual([204, ...Array(19).fill(404)])
    expect(await countRows(service, 'audit_events', { user_id: user.id, event: 'user.deleted' })).toBe(1)
    expect(await versionOf(user.id)).toBe(1)
  })

  test('deleting leaves nothing of the old user alive, even with concurrent logins and registrations of the address', async () => {
    for (let round = 0; round < 5; round += 1) {
      const first = await buildUser(service, app)
      const [deleted, ...replies] = await Promise.all([
        remove(first.user.id),
        ...Array.from({ length: 9 }, (_, index) =>
          index % 3 === 0
            ? service.login(first.user.email, app.code)
            : index % 3 === 1
              ? refresh(first.refresh_token)
              : service.register(first.user.email, app.code),
        ),
      ])
      expect(deleted.status).toBe(204)
      for (const { body } of replies) if (body.access_token && body.user.id === first.user.id) await expectDead(body)
      const live = await service.deps.db('users').where({ email: first.user.email }).whereNot({ status: 'deleted' })
      expect(live.length).toBeLessThanOrEqual(1)
    }
  })
})
