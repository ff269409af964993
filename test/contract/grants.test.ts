import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization, closeAccount } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json } from '../support/service.ts'

const service = serviceFixture()

const grantPath = (user: { id: string }, app: { id: string }) => `/admin/users/${user.id}/apps/${app.id}`
const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
const me = (token: string) => service.call('GET', '/auth/me', { token })
const revocationsOf = (userId: string): Promise<Json[]> =>
  service.deps.db('revocations').where({ user_id: userId }).orderBy('cursor')
/** Who grants in these tests. */
const adminId = async () => (await service.admin('GET', '/auth/me')).body.user.id
const inSeconds = (seconds: number) => new Date(service.deps.clock() + seconds * 1000).toISOString()

async function expectAlive(tokens: Json): Promise<Json> {
  expect((await me(tokens.access_token)).status).toBe(200)
  const { status, body } = await refresh(tokens.refresh_token)
  expect(status).toBe(200)
  return body
}

async function expectDead(tokens: Json): Promise<void> {
  expect((await me(tokens.access_token)).body).toMatchObject({ status: 401, code: 'token_revoked' })
  expect((await refresh(tokens.refresh_token)).body).toMatchObject({ status: 401, code: 'invalid_refresh_token' })
}

// covers service-access-is-a-grant state-grant-admin state-grant-revoked
test('a grant opens the app, and a revocation closes it and ends its tokens at once', async () => {
  const app = await buildApp(service)
  const { user, access, access_token } = await buildUser(service, app)
  expect(access).toBe('pending')
  expect(access_token).toBeUndefined()
  expect((await service.login(user.email, app.code)).body).toMatchObject({ status: 403, code: 'app_access_denied' })

  await markVerified(service, user.id)
  const path = grantPath(user, app)
  const granted = await service.admin('POST', path)
  expect(granted.status).toBe(201)
  expect(granted.body).toEqual({
    user_id: user.id,
    app_id: app.id,
    app_code: app.code,
    status: 'active',
    effective: 'active',
    granted_via: 'admin',
    granted_by: await adminId(),
    reason: null,
    granted_at: expect.any(String),
    expires_at: null,
    revoked_at: null,
  })
  const again = await service.admin('POST', path)
  expect(again.status).toBe(200)
  expect(again.body).toEqual(granted.body)

  const login = (await service.login(user.email, app.code)).body
  expect((await me(login.access_token)).status).toBe(200)

  const revoked = await service.admin('DELETE', path)
  expect(revoked.status).toBe(200)
  expect(revoked.body).toEqual({ ...granted.body, status: 'revoked', effective: 'revoked', revoked_at: expect.any(String) })
  await expectDead(login)
  expect((await service.login(user.email, app.code)).body.code).toBe('app_access_denied')
  expect((await service.admin('DELETE', path)).body).toMatchObject({ status: 404, code: 'not_found' })
})

// covers state-revoke-version grant-row
test('a repeated grant opens the app for new tokens, and old access and refresh tokens stay dead', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const path = grantPath(user, app)
  const dead: Json[] = []
  for (let round = 0; round < 3; round += 1) {
    expect((await service.admin('POST', path)).status).toBe(201)
    for (const tokens of dead) await expectDead(tokens)
    const tokens = (await service.login(user.email, app.code)).body
    expect(claimsOf(tokens.access_token).tv).toBe(round)
    dead.push(await expectAlive(tokens))
    await service.admin('DELETE', path)
  }
  for (const tokens of dead) await expectDead(tokens)
  // Their order does not matter: a minimum token version only rises.
  const revocations = (await revocationsOf(user.id)).sort((a, b) => a.min_tv - b.min_tv)
  expect(revocations.map((row: Json) => [row.app_id, row.session_id, row.min_tv])).toEqual([
    [app.id, null, 1],
    [app.id, null, 2],
    [app.id, null, 3],
  ])
  expect(await countRows(service, 'user_apps', { user_id: user.id })).toBe(1)
})

// covers state-revoke-others state-revoke-version
test('a revocation leaves the tokens and sessions of other apps and other users alone', async () => {
  const [app, other] = [
    await buildApp(service, { auto_grant_on_signup: true }),
    await buildApp(service, { auto_grant_on_signup: true }),
  ]
  const { user } = await buildUser(service, app)
  const neighbour = await buildUser(service, app)
  const [here, there] = [await service.login(user.email, app.code), await service.login(user.email, other.code)]
  await service.admin('DELETE', grantPath(user, app))
  await expectDead(here.body)
  const next = await expectAlive(there.body)
  await expectAlive(neighbour)
  expect(claimsOf(next.access_token).tv).toBe(claimsOf(there.body.access_token).tv + 1)
  expect((await service.login(user.email, other.code)).status).toBe(200)
  await service.admin('DELETE', grantPath(user, other))
  await expectDead(next)
})

test('a session left open below the minimum token version of a revocation stays dead, also after a new grant', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const tokens = await buildUser(service, app)
  await service.admin('DELETE', grantPath(tokens.user, app))
  await service.deps.db('sessions').where({ user_id: tokens.user.id }).update({ ended_at: null, ended_reason: null })
  await expectDead(tokens)
  await service.admin('POST', grantPath(tokens.user, app))
  await expectDead(tokens)
})

// covers state-revoke-next-request
test('a revocation ends every token of the app, however many sessions and rotations there were', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const first = await buildUser(service, app)
  const second = (await service.login(first.user.email, app.code)).body
  const rotated = (await refresh(second.refresh_token)).body
  await service.admin('DELETE', grantPath(first.user, app))
  for (const tokens of [first, second, rotated]) await expectDead(tokens)
  expect(await revocationsOf(first.user.id)).toHaveLength(1)
})

describe('the end of a grant, expires_at', () => {
  test('the end of a grant ends the access, and can be moved and cleared before that', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const path = grantPath(user, app)
    const soon = inSeconds(60)
    const granted = await service.admin('POST', path, { body: { expires_at: soon, reason: 'trial' } })
    expect(granted.body).toMatchObject({ status: 'active', expires_at: soon, reason: 'trial' })
    expect((await service.admin('POST', path)).body).toEqual(granted.body)
    const later = inSeconds(120)
    const moved = await service.admin('POST', path, { body: { expires_at: later } })
    expect([moved.status, moved.body.expires_at, moved.body.reason]).toEqual([200, later, 'trial'])
    service.advance(61)
    expect((await service.login(user.email, app.code)).status).toBe(200)
    service.advance(60)
    expect((await service.login(user.email, app.code)).body.code).toBe('app_access_denied')
    const renewed = await service.admin('POST', path)
    expect([renewed.status, renewed.body.expires_at, renewed.body.reason]).toEqual([201, null, null])
    expect((await service.login(user.email, app.code)).status).toBe(200)
    await service.admin('POST', path, { body: { expires_at: inSeconds(60) } })
    for (const expires_at of [null, '']) {
      expect((await service.admin('POST', path, { body: { expires_at } })).body.expires_at).toBeNull()
    }
  })

  test('the end is at least five seconds away, so that no token is dead on arrival', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const give = (expires_at: string) => service.admin('POST', grantPath(user, app), { body: { expires_at } })
    expectError(await give(inSeconds(4.9)), 'validation_failed')
    expect((await service.admin('GET', `/admin/users/${user.id}/apps`)).body.items).toEqual([])
    expect((await give(inSeconds(30))).status).toBe(201)
    expectError(await give(inSeconds(4)), 'validation_failed')
  })

  // covers grant-row
  test('a grant past its end reads `expired` everywhere, and `status` stays as stored', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    await service.admin('POST', grantPath(user, app), { body: { expires_at: inSeconds(60), reason: 'trial' } })
    const seen = async () => [
      (await service.admin('GET', `/admin/users/${user.id}/apps`)).body.items[0],
      (await service.admin('GET', `/admin/apps/${app.id}/users`)).body.items[0],
      (await service.admin('GET', `/admin/users/${user.id}`)).body.apps[0],
    ]
    expect(await seen()).toMatchObject(Array(3).fill({ status: 'active', effective: 'active' }))
    service.advance(61)
    expect(await seen()).toMatchObject(Array(3).fill({ status: 'active', effective: 'expired' }))
    const revoked = await service.admin('DELETE', grantPath(user, app))
    expect(revoked.body).toMatchObject({ status: 'revoked', effective: 'revoked', reason: 'trial', granted_by: await adminId() })
    expect(await seen()).toMatchObject(Array(3).fill({ status: 'revoked', effective: 'revoked' }))
  })

  test('a grant with less than a second left refuses login and refresh, so that no token is dead on arrival', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    await service.admin('POST', grantPath(user, app))
    const { refresh_token } = (await service.login(user.email, app.code)).body
    const endingIn = (ms: number) =>
      service.deps
        .db('user_apps')
        .where({ user_id: user.id, app_id: app.id })
        .update({ expires_at: service.deps.clock() + ms })
    // Some milliseconds pass before the call arrives: 900 leave room for them.
    await endingIn(900)
    expectError(await service.login(user.email, app.code), 'app_access_denied')
    await endingIn(900)
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token } }), 'app_access_denied')
    await endingIn(60_000)
    const { status, body } = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expect([status, body.expires_in >= 1]).toEqual([200, true])
  })

  test('the end accepts any offset and is shown in UTC', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const body = { expires_at: '2999-01-01T01:00:00.5+01:00' }
    expect((await service.admin('POST', grantPath(user, app), { body })).body.expires_at).toBe('2999-01-01T00:00:00.500Z')
  })

  test.for(['2020-01-01T00:00:00Z', 'tomorrow', '2999-01-01', '2999-02-30T00:00:00Z', 4102444800000, true, {}])(
    'the end %j is refused, and nothing is granted',
    async (expires_at) => {
      const app = await buildApp(service)
      const { user } = await buildUser(service, app)
      const { body } = await service.admin('POST', grantPath(user, app), { body: { expires_at } })
      expect(body).toMatchObject({ status: 400, code: 'validation_failed' })
      expect(body.errors[0].path).toBe('expires_at')
      expect((await service.admin('GET', `/admin/users/${user.id}/apps`)).body.items).toEqual([])
    },
  )

  test('the end and the reason of a revoked grant do not return with a new grant', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const path = grantPath(user, app)
    await service.admin('POST', path, { body: { expires_at: inSeconds(600), reason: 'trial' } })
    await service.admin('DELETE', path)
    expect((await service.admin('POST', path)).body).toMatchObject({
      status: 'active',
      expires_at: null,
      reason: null,
      revoked_at: null,
    })
  })
})

test('a grant shows who gave it: an admin, the admin who invited or imported, or null for an auto-grant', async () => {
  const linked = await buildApp(service)
  const open = await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [linked.code] })
  const invited = await buildApp(service)
  const imported = await buildApp(service)
  const { user, access_token: token } = await buildUser(service, open)
  const { id } = await buildOrganization(service)
  const invitation = await buildInvitation(service, { organizationId: id, appCode: invited.code })
  await service.call('POST', '/auth/invitations/accept', { token, body: { token: invitation } })
  await markVerified(service, user.id)
  const line = { email: user.email, apps: [imported.code] }
  await service.admin('POST', '/admin/users/import', {
    body: JSON.stringify(line),
    headers: { 'content-type': 'application/x-ndjson' },
  })
  const { items } = (await service.admin('GET', `/admin/users/${user.id}/apps`)).body
  const admin = await adminId()
  expect(Object.fromEntries(items.map((grant: Json) => [grant.granted_via, grant.granted_by]))).toEqual({
    auto: null,
    link: null,
    invitation: admin,
    import: admin,
  })
})

test('an unknown field is named, and nothing is granted', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const { body } = await service.admin('POST', grantPath(user, app), { body: { status: 'active' } })
  expect(body).toMatchObject({ status: 400, errors: [{ path: 'status', code: 'unknown_field' }] })
  expect((await service.login(user.email, app.code)).body.code).toBe('app_access_denied')
})

test('user and app are named by id, the app also by code, and an unknown, malformed or deleted one is 404', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  expect((await service.admin('POST', grantPath(user, { id: app.code }))).status).toBe(201)
  expect((await service.admin('DELETE', grantPath(user, { id: app.code }))).status).toBe(200)
  const gone = (await buildUser(service, app)).user
  await closeAccount(service, gone.id, 'deleted')
  const nowhere = [
    grantPath({ id: randomUUID() }, app),
    grantPath(user, { id: randomUUID() }),
    grantPath({ id: 'x' }, app),
    grantPath(user, { id: 'No-Such-App' }),
    grantPath({ id: user.email }, app),
    grantPath(gone, app),
  ]
  for (const path of nowhere) {
    for (const method of ['POST', 'DELETE']) {
      expect((await service.admin(method, path)).body, `${method} ${path}`).toMatchObject({ status: 404, code: 'not_found' })
    }
  }
})

// covers grant-callers
test('only a system_admin grants and revokes', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, access_token } = await buildUser(service, app)
  const other = await buildApp(service)
  for (const [method, target] of [
    ['POST', other],
    ['DELETE', app],
  ] as const) {
    const path = grantPath(user, target)
    expect((await service.call(method, path)).body).toMatchObject({ status: 401, code: 'token_missing' })
    expect((await service.call(method, path, { token: access_token })).body).toMatchObject({
      status: 403,
      code: 'system_admin_required',
    })
  }
  expect((await me(access_token)).status).toBe(200)
})

// covers grant-row
test('the grants of a user and of an app are listed newest first, with revoked ones', async () => {
  const apps = [await buildApp(service), await buildApp(service), await buildApp(service)]
  const { user } = await buildUser(service, apps[0])
  for (const app of apps) await service.admin('POST', grantPath(user, app))
  await service.admin('DELETE', grantPath(user, apps[1]))
  const { body } = await service.admin('GET', `/admin/users/${user.id}/apps`)
  expect(body.next_cursor).toBeNull()
  expect(body.items.map((grant: Json) => [grant.app_code, grant.status])).toEqual([
    [apps[2].code, 'active'],
    [apps[1].code, 'revoked'],
    [apps[0].code, 'active'],
  ])
  const of = await service.admin('GET', `/admin/apps/${apps[1].code}/users`)
  expect(body.items[1].user).toEqual(user)
  expect(of.body.items).toEqual([body.items[1]])
  const first = (await service.admin('GET', `/admin/users/${user.id}/apps?limit=2`)).body
  const second = (await service.admin('GET', `/admin/users/${user.id}/apps?limit=2&cursor=${first.next_cursor}`)).body
  expect([...first.items, ...second.items]).toEqual(body.items)
  expect(second.next_cursor).toBeNull()
})

test('lists of grants are filtered by current state and by end, page by page', async () => {
  const [app, home] = [await buildApp(service), await buildApp(service, { auto_grant_on_signup: true })]
  const users: Json[] = []
  for (const grant of [{}, { expires_at: inSeconds(60) }, { expires_at: inSeconds(3_600) }, {}, {}]) {
    const { user } = await buildUser(service, home)
    await service.admin('POST', grantPath(user, app), { body: grant })
    users.push(user)
  }
  await service.admin('DELETE', grantPath(users[3]!, app))
  service.advance(120)
  const find = async (query: string, path = `/admin/apps/${app.code}/users`) => {
    const { status, body } = await service.admin('GET', `${path}?${query}`)
    expect(status).toBe(200)
    return body.items.map(({ user_id, user }: Json) => users.findIndex(({ id }) => id === user_id && id === user.id))
  }
  expect(await find('effective=active')).toEqual([4, 2, 0])
  expect(await find('effective=expired')).toEqual([1])
  expect(await find('effective=revoked')).toEqual([3])
  expect(await find(`expires_before=${inSeconds(7_200)}`)).toEqual([2, 1])
  expect(await find(`expires_before=${inSeconds(7_200)}&effective=active`)).toEqual([2])
  expect(await find(`expires_before=${inSeconds(60)}`)).toEqual([1])
  expect(await find(`expires_before=${inSeconds(-90)}&effective=expired`)).toEqual([])
  expect(await find('effective=expired', `/admin/users/${users[1]!.id}/apps`)).toEqual([1])
  const { body: ofUser } = await service.admin('GET', `/admin/users/${users[1]!.id}/apps?effective=active`)
  expect(ofUser.items.map(({ app_code }: Json) => app_code)).toEqual([home.code])
  const { items, next_cursor } = (await service.admin('GET', `/admin/apps/${app.code}/users?effective=active&limit=2`)).body
  expect(items).toHaveLength(2)
  expect(await find(`effective=active&limit=2&cursor=${next_cursor}`)).toEqual([0])
  const wrong = await service.admin('GET', `/admin/apps/${app.code}/users?effective=open&expires_before=soon`)
  expect(faultsOf(wrong)).toEqual(['effective: invalid_value', 'expires_before: invalid_value'])
})

test('each change is audited once with the actor and the values, and a call that changes nothing is not audited', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const path = grantPath(user, app)
  const { headers } = await service.admin('POST', path, { body: { reason: 'asked' } })
  await service.admin('POST', path)
  await service.admin('DELETE', path)
  await service.admin('DELETE', path)
  const about = { user_id: user.id, app_id: app.id }
  const created = await auditEvents(service, { event: 'grant.created', ...about })
  expect(created).toMatchObject([
    {
      actor_type: 'user',
      request_id: headers.get('x-request-id'),
      details: { before: null, after: { status: 'active', reason: 'asked' } },
    },
  ])
  expect(await auditEvents(service, { event: 'grant.revoked', ...about })).toHaveLength(1)
})

test('the event of a revoked grant keeps the former values', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const path = grantPath(user, app)
  const body = { expires_at: '2099-01-31T18:00:00.000Z', reason: 'audit in March' }
  const { body: given } = await service.admin('POST', path, { body })
  const { body: revoked } = await service.admin('DELETE', path)
  const { warnings: _, ...before } = given
  expect(before).toMatchObject({ ...body, status: 'active', revoked_at: null })
  const [event] = await auditEvents(service, { event: 'grant.revoked', user_id: user.id, app_id: app.id })
  expect(event).toMatchObject({ details: { before, after: revoked } })
})
