import { createHmac, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { AuthError, createAuth, refusal } from '@gatehouse/sdk'
import { beforeAll, describe, expect, test } from 'vitest'
import { errorCodes } from '../../packages/server/src/errors.ts'
import { kidOf } from '../support/consumer.ts'
import { expectError } from '../support/expect-reply.ts'
import { addMember, assignRole, buildOrganization, buildRole, registerPermissions } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { ACCESS_SECRET, buildApp, buildService, buildUser, claimsOf, type Json, type TestService } from '../support/service.ts'

let user: Json
let token: string
const service = serviceFixture()
beforeAll(async () => {
  const registered = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  user = registered.user
  token = registered.access_token
})

const me = (bearer: string, on: TestService = service) => on.call('GET', '/auth/me', { token: bearer })
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The user's token with other claims or another header, signed with the shared secret by default. */
function minted(claims: object = {}, header: object = {}, { secret = ACCESS_SECRET, hash = 'sha256' } = {}): string {
  const head = encode({ alg: 'HS256', typ: 'JWT', kid: kidOf(ACCESS_SECRET), ...header })
  const body = encode({ ...claimsOf(token), ...claims })
  return `${head}.${body}.${createHmac(hash, secret).update(`${head}.${body}`).digest('base64url')}`
}

test('a token that this file mints like the service is accepted', async () => {
  expect((await me(minted())).status).toBe(200)
})

describe('an invalid token', () => {
  const [head, body, signature] = ['aGVhZA', 'Ym9keQ', 'c2ln']
  test.for([
    ['no parts', () => 'x'],
    ['two parts', () => token.split('.').slice(0, 2).join('.')],
    ['four parts', () => `${token}.x`],
    ['parts that are not JSON', () => `${head}.${body}.${signature}`],
    ['no signature', () => `${token.split('.').slice(0, 2).join('.')}.`],
    ['a flipped signature', () => token.slice(0, -2) + (token.endsWith('AA') ? 'BB' : 'AA')],
    ['alg none and no signature', () => `${encode({ alg: 'none', typ: 'JWT' })}.${token.split('.')[1]}.`],
    [
      'alg none and the old signature',
      () => `${encode({ alg: 'none', typ: 'JWT' })}.${token.split('.')[1]}.${token.split('.')[2]}`,
    ],
    ['alg HS512', () => minted({}, { alg: 'HS512' }, { hash: 'sha512' })],
    ['alg hs256', () => minted({}, { alg: 'hs256' })],
    ['another secret', () => minted({}, {}, { secret: 'another secret of at least 32 characters' })],
    ['the kid as the secret', () => minted({}, {}, { secret: kidOf(ACCESS_SECRET) })],
    ['crit', () => minted({}, { crit: ['exp'] })],
    ['b64 false', () => minted({}, { b64: false })],
    ['another typ', () => minted({}, { typ: 'consumer+jwt' })],
    ['another issuer', () => minted({ iss: 'somebody' })],
    ['another audience', () => minted({ aud: 'authctl' })],
    ['a list of audiences', () => minted({ aud: ['authctl', claimsOf(token).aud] })],
    ['the app of another', () => minted({ app_id: randomUUID() })],
    ['no app', () => minted({ app_id: undefined })],
    ['another user', () => minted({ uid: randomUUID() })],
    ['no uid', () => minted({ uid: undefined })],
    ['a uid that is not a UUID', () => minted({ uid: "' or 1=1 --" })],
    ['no sid', () => minted({ sid: undefined })],
    ['a sid that is not a UUID', () => minted({ sid: 'x' })],
    ['no tv', () => minted({ tv: undefined })],
    ['a tv that is a text', () => minted({ tv: '0' })],
    ['a tv that is a fraction', () => minted({ tv: 0.5 })],
    ['a tv that no token of the user has yet', () => minted({ tv: claimsOf(token).tv + 1 })],
    ['a life of more than an hour', () => minted({ exp: claimsOf(token).iat + 3_601 })],
    ['no exp', () => minted({ exp: undefined })],
    ['an exp that is a text', () => minted({ exp: String(claimsOf(token).exp) })],
    ['an exp that is a fraction', () => minted({ exp: claimsOf(token).exp + 0.5 })],
    ['no iat', () => minted({ iat: undefined })],
    ['an nbf to come', () => minted({ nbf: claimsOf(token).iat + 600 })],
    ['an iat to come', () => minted({ iat: claimsOf(token).iat + 600 })],
  ] as [string, () => string][])('a token with %s is invalid', async ([, make]) => {
    const { status, body, headers } = await me(make())
    expect([status, body.code]).toEqual([401, 'token_invalid'])
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('a token that ends after its session is invalid', async () => {
    const on = await buildService({ JWT_SESSION_MAX_SECONDS: '600' })
    const { access_token } = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
    const claims = claimsOf(access_token)
    expect((await me(forgeToken(claims), on)).status).toBe(200)
    expect((await me(forgeToken({ ...claims, exp: claims.exp + 2 }), on)).body.code).toBe('token_invalid')
  })

  test('a token of a session that does not exist is token_revoked', async () => {
    expect((await me(minted({ sid: randomUUID() }))).body).toMatchObject({ status: 401, code: 'token_revoked' })
  })

  test('a token whose time is over is token_expired', async () => {
    expect((await me(minted({ exp: claimsOf(token).iat - 1 }))).body).toMatchObject({ status: 401, code: 'token_expired' })
  })
})

test('a token from before the lowest iat of the whole service is dead', async () => {
  const on = await buildService()
  const { access_token } = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
  const { iat } = claimsOf(access_token)
  for (const [min_iat, status] of [
    [iat + 1, 401],
    [iat, 200],
  ] as const) {
    await on.deps.db('service').update({ min_iat })
    expect((await me(access_token, on)).status).toBe(status)
  }
})

test('a token is valid until its last second and then token_expired', async () => {
  const on = await buildService()
  const { access_token } = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
  on.advance(880)
  expect((await me(access_token, on)).status).toBe(200)
  on.advance(20)
  expect((await me(access_token, on)).body).toMatchObject({ status: 401, code: 'token_expired' })
})

test('an accepted token does not vouch for another one with its signature', async () => {
  expect((await me(token)).status).toBe(200)
  const [head, , signature] = token.split('.')
  const forged = `${head}.${encode({ ...claimsOf(token), exp: claimsOf(token).exp + 60 })}.${signature}`
  for (const _ of ['once', 'again']) expectError(await me(forged), 'token_invalid')
  expect((await me(token)).status).toBe(200)
})

// covers auth-bearer
test('only the scheme Bearer carries a token, in upper or lower case', async () => {
  for (const authorization of [token, `Token ${token}`, `Basic ${token}`, 'Bearer', 'Bearer ', `Bearer ${token} x`, '']) {
    const { body } = await service.call('GET', '/auth/me', { headers: { authorization } })
    expect(body, authorization.slice(0, 20)).toMatchObject({ status: 401, code: 'token_missing' })
  }
  for (const scheme of ['bearer', 'BEARER']) {
    expect((await service.call('GET', '/auth/me', { headers: { authorization: `${scheme} ${token}` } })).status).toBe(200)
  }
})

describe('the rights of a caller', () => {
  test('roles that are forged into a token with the secret administer nothing', async () => {
    const forged = minted({ roles: ['system_admin', 'super_admin'], permissions: ['*'] })
    expect((await service.call('GET', '/admin/users', { token: forged })).body).toMatchObject({
      status: 403,
      code: 'system_admin_required',
    })
    expect((await me(forged)).body.roles).toEqual(['base_user'])
  })

  test('a role that was given or taken counts at the next call', async () => {
    const { user, access_token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
    const list = () => service.call('GET', '/admin/users', { token: access_token })
    expect((await list()).status).toBe(403)
    await assignRole(service, user.id, 'system_admin')
    expect((await list()).status).toBe(200)
    await service.deps.db('user_roles').where({ user_id: user.id, role_code: 'system_admin' }).delete()
    expect((await list()).status).toBe(403)
  })

  test('a super_admin does not administer the service', async () => {
    const { user, access_token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
    await assignRole(service, user.id, 'super_admin')
    expect((await service.call('GET', '/admin/users', { token: access_token })).body.code).toBe('system_admin_required')
  })

  test('AUTH_ADMIN_APP_CODES applies to the app of the session', async () => {
    const on = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl' })
    const app = await buildApp(on)
    const { user } = await buildUser(on, app)
    await assignRole(on, user.id, 'system_admin')
    await on.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
    const there = (await on.login(user.email, app.code)).body.access_token
    expect((await on.call('GET', '/admin/users', { token: there })).body).toMatchObject({
      status: 403,
      code: 'admin_app_not_allowed',
    })
    const here = (await on.login(user.email, 'authctl')).body.access_token
    expect((await on.call('GET', '/admin/users', { token: here })).status).toBe(200)
  })
})

describe('/auth/me', () => {
  test('/auth/me shows the account with its present roles, permissions and organizations', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true, service_codes: ['shop'], permission_scope: 'roles' })
    await registerPermissions(service, 'shop', ['orders:read', 'orders:write'])
    const { user, access_token } = await buildUser(service, app, { first_name: 'Ada' })
    const bare = await me(access_token)
    expect(bare.headers.get('cache-control')).toBe('no-store')
    expect(bare.body).toEqual({
      user,
      app: { id: app.id, code: app.code },
      roles: ['base_user'],
      permissions: ['users:read_self', 'users:update_self'],
      organizations: [],
      locale: null,
      two_factor: false,
    })
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, [await buildRole(service, 'org', ['orders:write'])])
    await assignRole(service, user.id, await buildRole(service, 'global', ['orders:read']))
    const full = (await me(access_token)).body
    expect(full.permissions).toEqual(['orders:read', 'users:read_self', 'users:update_self'])
    expect(full.organizations).toEqual([{ ...organization, role_codes: [expect.any(String)] }])
    const inside = (await service.login(user.email, app.code, { organization_id: organization.id })).body.access_token
    const there = (await me(inside)).body
    expect(there.roles).toEqual(full.organizations[0].role_codes)
    expect(there.permissions).toEqual(claimsOf(inside).permissions)
  })

  test('/auth/me without a token is 401 and names only the scheme', async () => {
    const { status, body, headers } = await service.call('GET', '/auth/me')
    expect([status, body.code]).toEqual([401, 'token_missing'])
    expect(headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"')
  })
})

describe('the words of a refusal', () => {
  const words = ({ body: { status, code, title } }: { body: Json }) => ({ status, code, title })

  test('a refusal has the same words at the service and at the guard of a consumer', async () => {
    const { app_code: appCode } = claimsOf(token)
    const auth = createAuth({ appCode, secret: ACCESS_SECRET, revocation: { mode: 'off' }, logger: false })
    const past = claimsOf(token).iat - 7_200
    for (const bearer of [undefined, minted({ exp: past }), minted({ tv: 'x' })]) {
      const { error } = await auth.safeVerify(bearer as string)
      const guard = refusal(error)!
      const served = await (bearer === undefined ? service.call('GET', '/auth/me') : me(bearer))
      expect(words(guard as { body: Json })).toEqual(words(served))
    }
  })

  test('the refusals of a guard are in the list of error codes', () => {
    const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
    for (const code of [
      'TOKEN_MISSING',
      'TOKEN_EXPIRED',
      'TOKEN_REVOKED',
      'APP_MISMATCH',
      'PERMISSION_DENIED',
      'REVOCATION_UNAVAILABLE',
    ] as const) {
      const { status, body } = refusal(new AuthError(code))!
      expect(page).toContain(`### ${body.code}\n\n${body.title}.`)
      expect(page).toContain(`## ${status} `)
      expect(errorCodes).toMatchObject({ [body.code]: { status, title: body.title } })
    }
  })
})

describe('a rotation of the secret', () => {
  const previous = 'the secret before, at least 32 characters long'
  test('tokens of either secret are valid, and new ones use the current secret', async () => {
    const on = await buildService({ JWT_ACCESS_SECRET_PREVIOUS: previous })
    const { access_token } = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
    expect(JSON.parse(Buffer.from(access_token.split('.')[0]!, 'base64url').toString()).kid).toBe(kidOf(ACCESS_SECRET))
    const sign = (kid: string, secret: string) => {
      const signed = `${encode({ alg: 'HS256', typ: 'JWT', kid })}.${access_token.split('.')[1]}`
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
    }
    expect((await me(access_token, on)).status).toBe(200)
    expect((await me(sign(kidOf(previous), previous), on)).status).toBe(200)
    expect((await me(sign(kidOf(previous), ACCESS_SECRET), on)).body.code).toBe('token_invalid')
    expect((await me(sign(kidOf(previous), previous), service)).body.code).toBe('token_invalid')
  })
})

test('a token alone names its account', async () => {
  expect((await me(token)).body.user).toEqual(user)
})
