import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { ADMIN_EMAIL, buildApp, buildService, buildUser, claimsOf, type TestService } from '../support/service.ts'

// Rights are read from the database at each admin call, because every consumer holds the secret that signs tokens.

const service = serviceFixture()
const app = appFixture(service)

const ask = (token: string) => service.call('GET', '/admin/apps', { token })

/** A user of the app who holds system_admin, with a token issued through that app. */
async function buildAdmin(): Promise<{ id: string; email: string; token: string }> {
  const { user } = await buildUser(service, app)
  await service.deps.db('user_roles').insert({ user_id: user.id, role_code: 'system_admin', created_at: service.deps.clock() })
  const { access_token: token } = (await service.login(user.email, app.code)).body
  expect((await ask(token)).status).toBe(200)
  return { id: user.id, email: user.email, token }
}

describe('the rights of an admin at the next call', () => {
  // covers auth-admin
  test('removing the role refuses the next call with 403, and giving it back allows it with 200', async () => {
    const { id, token } = await buildAdmin()
    await service.deps.db('user_roles').where({ user_id: id, role_code: 'system_admin' }).delete()
    expectError(await ask(token), 'system_admin_required')
    await service.deps.db('user_roles').insert({ user_id: id, role_code: 'system_admin', created_at: service.deps.clock() })
    expect((await ask(token)).status).toBe(200)
  })

  test('giving the role allows the next call with 200, with an older token', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    expectError(await ask(token), 'system_admin_required')
    await service.deps.db('user_roles').insert({ user_id: user.id, role_code: 'system_admin', created_at: service.deps.clock() })
    expect((await ask(token)).status).toBe(200)
  })

  test.each(['super_admin', 'base_user'])('the role %s administers nothing, and the next call is 403', async (role) => {
    const { user, access_token: token } = await buildUser(service, app)
    await service.deps
      .db('user_roles')
      .insert({ user_id: user.id, role_code: role, created_at: service.deps.clock() })
      .onConflict()
      .ignore()
    expectError(await ask(token), 'system_admin_required')
  })

  test('ending a session makes its tokens 401 and leaves another session alone', async () => {
    const { email, token } = await buildAdmin()
    const second = (await service.login(email, app.code)).body.access_token
    await service.deps
      .db('sessions')
      .where({ id: claimsOf(token).sid })
      .update({ ended_at: service.deps.clock() })
    expectError(await ask(token), 'token_revoked')
    expect((await ask(second)).status).toBe(200)
  })

  test('a token is 401 after a logout', async () => {
    const { email } = await buildAdmin()
    const { access_token: token, refresh_token } = (await service.login(email, app.code)).body
    expect((await service.call('POST', '/auth/logout', { body: { refresh_token } })).status).toBe(204)
    expectError(await ask(token), 'token_revoked')
  })

  test('a token is 401 after its session was deleted', async () => {
    const { token } = await buildAdmin()
    await service.deps
      .db('sessions')
      .where({ id: claimsOf(token).sid })
      .delete()
    expectError(await ask(token), 'token_revoked')
  })

  test.each(['suspended', 'deleted'])('a token is 401 after its user was %s', async (status) => {
    const { id, token } = await buildAdmin()
    await service.deps.db('users').where({ id }).update({ status })
    expectError(await ask(token), 'token_revoked')
    await service.deps.db('users').where({ id }).update({ status: 'active' })
    expect((await ask(token)).status).toBe(200)
  })

  // covers auth-version
  test('raising the minimum token version of the user makes older tokens 401', async () => {
    const { id, token } = await buildAdmin()
    await service.deps.db('users').where({ id }).update({ token_version: 7, min_token_version: 7 })
    expectError(await ask(token), 'token_revoked')
  })

  test('raising the minimum token version of this app makes its tokens 401, and that of another app does not', async () => {
    const { id, token } = await buildAdmin()
    const other = await buildApp(service)
    await service.admin('POST', `/admin/users/${id}/apps/${other.id}`)
    await service.deps.db('user_apps').where({ user_id: id, app_id: other.id }).update({ min_token_version: 9 })
    expect((await ask(token)).status).toBe(200)
    await service.deps.db('user_apps').where({ user_id: id, app_id: app.id }).update({ min_token_version: 9 })
    expectError(await ask(token), 'token_revoked')
  })

  test('an expired token is 401 token_expired, and one that claims to outlive its session is token_invalid', async () => {
    const own = await buildService({ JWT_SESSION_MAX_SECONDS: '600' })
    await buildApp(own)
    const { access_token: token } = (await own.login(ADMIN_EMAIL, 'authctl')).body
    const claims = claimsOf(token)
    own.advance(601)
    expectError(await own.call('GET', '/admin/apps', { token }), 'token_expired')
    const longer = forgeToken({ ...claims, exp: claims.exp + 900 })
    expectError(await own.call('GET', '/admin/apps', { token: longer }), 'token_invalid')
  })
})

describe('a token minted with the shared secret', () => {
  test('a minted token gains nothing by its claims of roles and permissions', async () => {
    const { access_token } = await buildUser(service, app)
    const claims = {
      ...claimsOf(access_token),
      roles: ['system_admin', 'super_admin'],
      permissions: ['*'],
      is_system_admin: true,
      isSystemAdmin: true,
    }
    expectError(await ask(forgeToken(claims)), 'system_admin_required')
  })

  test('a minted token that names an admin and another user’s session is refused', async () => {
    const { id, token } = await buildAdmin()
    const { access_token } = await buildUser(service, app)
    const mine = claimsOf(access_token)
    const theirs = claimsOf(token)
    expectError(await ask(forgeToken({ ...mine, uid: id, roles: ['system_admin'] })), 'token_invalid')
    expectError(await ask(forgeToken({ ...theirs, sid: mine.sid })), 'token_invalid')
    expectError(await ask(forgeToken({ ...mine, uid: theirs.uid, sid: randomUUID(), roles: ['system_admin'] })), 'token_revoked')
    expectError(await ask(forgeToken({ ...mine, sid: theirs.sid })), 'token_invalid')
  })

  test('a minted token that names another app than its session is refused', async () => {
    const narrow = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl,console' })
    const elsewhere = await buildApp(narrow, { auto_grant_on_signup: true })
    const authctl = claimsOf((await narrow.login(ADMIN_EMAIL, 'authctl')).body.access_token)
    const leaked = claimsOf((await narrow.login(ADMIN_EMAIL, elsewhere.code)).body.access_token)
    const { app_id, app_code, aud } = authctl
    for (const forged of [
      { ...leaked, app_id, app_code, aud },
      { ...leaked, app_code },
      { ...leaked, app_id: undefined, app_code: undefined },
    ]) {
      const reply = await narrow.call('GET', '/admin/apps', { token: forgeToken(forged) })
      expect(['token_invalid', 'admin_app_not_allowed']).toContain(reply.body.code)
    }
    expectError(await narrow.call('GET', '/admin/apps', { token: forgeToken(leaked) }), 'admin_app_not_allowed')
    expect((await narrow.call('GET', '/admin/apps', { token: forgeToken(authctl) })).status).toBe(200)
  })

  test('a minted token with a higher version does not outlive its session', async () => {
    const { id, token } = await buildAdmin()
    await service.deps.db('users').where({ id }).update({ token_version: 3, min_token_version: 3 })
    expectError(await ask(forgeToken({ ...claimsOf(token), tv: 3 })), 'token_revoked')
    expectError(await ask(forgeToken({ ...claimsOf(token), tv: 99 })), 'token_invalid')
  })

  test('a minted token with malformed ids is refused, and not answered with a server error', async () => {
    const { token } = await buildAdmin()
    const claims = claimsOf(token)
    for (const change of [
      { sid: '' },
      { sid: 5 },
      { sid: null },
      { sid: [claims.sid] },
      { sid: 'x'.repeat(10_000) },
      { sid: `${claims.sid}\u0000` },
      { uid: '' },
      { uid: 5 },
      { tv: '0' },
      { tv: 0.5 },
      { tv: null },
      { exp: 'never' },
      { exp: null },
      { iat: '1' },
      { nbf: 'x' },
    ]) {
      expectError(await ask(forgeToken({ ...claims, ...change })), 'token_invalid', JSON.stringify(change).slice(0, 50))
    }
  })
})

describe('AUTH_ADMIN_APP_CODES', () => {
  test('only tokens of the listed apps administer, and a token without an app does not', async () => {
    const narrow = await buildService({ AUTH_ADMIN_APP_CODES: 'console', AUTH_REQUIRE_APP_CODE: 'false' })
    await createApps(narrow, ['console', 'shop'])
    const statusOf = async (code: string | undefined) => {
      const { access_token: token } = (await narrow.login(ADMIN_EMAIL, code as string)).body
      return (await narrow.call('GET', '/admin/apps', { token })).body.code
    }
    expect(await statusOf('console')).toBeUndefined()
    for (const code of ['shop', 'authctl', undefined]) expect(await statusOf(code)).toBe('admin_app_not_allowed')
  })
})

/** Inserts apps and the admin's grants as rows, for a service whose admin API would refuse the admin's token. */
async function createApps(target: TestService, codes: readonly string[]): Promise<void> {
  await target.admin('GET', '/admin/apps')
  const [row] = await target.deps.db('apps').where({ code: 'authctl' })
  const { id: user_id } = await target.deps.db('users').where({ email: ADMIN_EMAIL }).first('id')
  for (const code of codes) {
    const app_id = newId()
    await target.deps.db('apps').insert({ ...row, id: app_id, code, built_in: 0 })
    const grant = { id: newId(), user_id, app_id, status: 'active', granted_via: 'admin', granted_at: 1 }
    await target.deps.db('user_apps').insert(grant)
  }
}
