// The last system_admin who can enter an admin app cannot be removed.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { createSystemAdmin, grantAdminApps } from '../../packages/server/src/flows/bootstrap/bootstrap.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { chance } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildOrganization } from '../support/factories.ts'
import { auditEvents, markVerified } from '../support/rows.ts'
import { startInstance } from '../support/server-instance.ts'
import {
  ADMIN_EMAIL,
  bootstrapAdmin,
  buildApp,
  buildService,
  claimsOf,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  somePool,
  type TestService,
  testDatabase,
} from '../support/service.ts'

let service: TestService
/** The system_admin that every service begins with. */
let first: string
beforeEach(async () => {
  service = await buildService()
  first = (await service.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0].id
})

/** Another system_admin, with a token. Created with `token`, if it is given. */
async function buildAdmin(token?: string): Promise<{ id: string; token: string; email: string }> {
  const email = `admin-${randomUUID()}@example.com`
  const call = token === undefined ? service.admin : service.call
  const newcomer = { email, password: PASSWORD, roles: ['system_admin'] }
  const { body } = await call('POST', '/admin/users', { body: newcomer, ...(token ? { token } : {}) })
  return { id: body.id, email, token: (await service.login(email, 'authctl')).body.access_token }
}

type Call = (method: string, path: string, options?: { body?: Json; token?: string }) => Promise<Reply>
const waysOut: Record<string, (call: Call, id: string, token?: string) => Promise<Reply>> = {
  suspending: (call, id, token) =>
    call('PATCH', `/admin/users/${id}`, { body: { status: 'suspended' }, ...(token ? { token } : {}) }),
  deleting: (call, id, token) => call('DELETE', `/admin/users/${id}`, token ? { token } : {}),
  erasing: (call, id, token) => call('DELETE', `/admin/users/${id}?erase=true`, token ? { token } : {}),
  demoting: (call, id, token) => call('DELETE', `/admin/users/${id}/roles/system_admin`, token ? { token } : {}),
}
const ways = Object.keys(waysOut)

test.each(ways)('%s the only system_admin is 409 and changes nothing', async (way) => {
  const before = (await service.admin('GET', `/admin/users/${first}`)).body
  expectError(await waysOut[way]!(service.admin, first), 'last_system_admin')
  expect((await service.admin('GET', `/admin/users/${first}`)).body).toEqual(before)
})

test.each(ways)('%s one of two system_admins works, and the last one cannot be removed in any way', async (way) => {
  const other = await buildAdmin()
  expect((await waysOut[way]!(service.admin, other.id)).status).toBeLessThan(300)
  for (const each of ways) expectError(await waysOut[each]!(service.admin, first), 'last_system_admin', each)
})

test('a suspended system_admin does not count, can be deleted, and counts again once active', async () => {
  const [other, third] = [await buildAdmin(), await buildAdmin()]
  for (const { id } of [other, third]) await service.admin('PATCH', `/admin/users/${id}`, { body: { status: 'suspended' } })
  expectError(await waysOut.deleting!(service.admin, first), 'last_system_admin')
  expect((await waysOut.deleting!(service.admin, other.id)).status).toBe(204)
  await service.admin('PATCH', `/admin/users/${third.id}`, { body: { status: 'active' } })
  expect((await waysOut.suspending!(service.admin, first)).status).toBe(200)
})

test('other changes to the last system_admin work', async () => {
  const email = `moved-${ADMIN_EMAIL}`
  const reply = await service.admin('PATCH', `/admin/users/${first}`, { body: { email, first_name: 'Ada', status: 'active' } })
  expect(reply.body).toMatchObject({ email, first_name: 'Ada', status: 'active' })
})

async function activeAdmins(): Promise<string[]> {
  return service.deps
    .db('users')
    .join('user_roles', 'user_roles.user_id', 'users.id')
    .where({ role_code: 'system_admin', status: 'active' })
    .pluck('users.id')
}

test.each([
  ['suspending', 'suspending'],
  ['deleting', 'deleting'],
  ['demoting', 'demoting'],
  ['suspending', 'deleting'],
  ['demoting', 'suspending'],
  ['erasing', 'demoting'],
] as const)('one of two system_admins who remove each other at once, by %s and %s, stays', async (one, two) => {
  let keeper: { id: string; token?: string } = { id: first }
  for (let round = 0; round < 4; round += 1) {
    const [a, b] = [await buildAdmin(keeper.token), await buildAdmin(keeper.token)]
    await waysOut.demoting!(service.call, keeper.id, a.token)
    const replies = await Promise.all([waysOut[one]!(service.call, b.id, a.token), waysOut[two]!(service.call, a.id, b.token)])
    // The second call is refused: it would remove the last admin, or its caller is no longer an admin.
    for (const { status } of replies) expect([200, 204, 401, 403, 409]).toContain(status)
    const left = await activeAdmins()
    expect(left).toHaveLength(1)
    keeper = left[0] === a.id ? a : b
    expect(left).toEqual([keeper.id])
  }
})

test('at least one of six system_admins who all suspend one another at once stays', async () => {
  const admins = await Promise.all(Array.from({ length: 6 }, () => buildAdmin()))
  await Promise.all(
    admins
      .flatMap(({ token }) => admins.map(({ id }) => waysOut.suspending!(service.call, id, token)))
      .concat(admins.map(({ token }) => waysOut.demoting!(service.call, first, token))),
  )
  expect((await activeAdmins()).length).toBeGreaterThanOrEqual(1)
})

test.runIf(testDatabase() === 'postgres')(
  'one of two system_admins who remove each other at once on two servers stays',
  async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      ...bootstrapAdmin,
    }
    const servers = await Promise.all([startInstance(settings), startInstance(settings)])
    let keeper = { email: ADMIN_EMAIL, token: (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token, id: '' }
    keeper.id = (await servers[0].call('GET', '/auth/me', { token: keeper.token })).body.user.id
    for (let round = 0; round < 8; round += 1) {
      const email = `admin-${round}@example.com`
      const body = { email, password: PASSWORD, roles: ['system_admin'] }
      const { id } = (await servers[0].call('POST', '/admin/users', { token: keeper.token, body })).body
      const rival = { id, email, token: (await servers[1].login(email, 'authctl')).body.access_token }
      const way = waysOut[['suspending', 'deleting', 'demoting'][round % 3]!]!
      await Promise.all([way(servers[0].call, rival.id, keeper.token), way(servers[1].call, keeper.id, rival.token)])
      const alive = await Promise.all(
        [keeper, rival].map(async (each) => {
          const { status } = await servers[round % 2]!.call('GET', '/admin/users', { token: each.token })
          return status === 200
        }),
      )
      expect(alive.filter(Boolean)).toHaveLength(1)
      keeper = alive[0] ? keeper : rival
    }
  },
)

/** A service that takes tokens of one app for its admin API, and its only admin, who may enter that app. */
async function buildConsole(): Promise<{ on: TestService; app: Json; id: string }> {
  const on = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl' })
  const app = (await on.admin('GET', '/admin/apps/authctl')).body
  const { id } = (await on.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
  return { on, app, id }
}

test('a change that leaves no system_admin who can enter an app of AUTH_ADMIN_APP_CODES is 409 and changes nothing', async () => {
  const { on, app, id } = await buildConsole()
  // A system_admin of another pool cannot enter that app, and so does not count.
  const outsider = { email: someEmail(), password: PASSWORD, namespace: somePool(), roles: ['system_admin'] }
  expect((await on.admin('POST', '/admin/users', { body: outsider })).status).toBe(201)
  const grant = `/admin/users/${id}/apps/${app.id}`
  expect((await on.admin('POST', grant)).status).toBe(201)
  const before = [(await on.admin('GET', `/admin/users/${id}`)).body, (await on.admin('GET', `/admin/apps/${app.id}`)).body]
  for (const [method, path, body] of [
    ['DELETE', grant],
    ['DELETE', `/admin/users/${id}/roles/system_admin`],
    ['PATCH', `/admin/users/${id}`, { status: 'suspended' }],
    ['DELETE', `/admin/users/${id}`],
    ['PUT', `/admin/users/${id}/namespace`, { namespace: somePool() }],
    ['PATCH', `/admin/apps/${app.id}`, { registration_namespace: somePool() }],
  ] as [string, string, Json?][])
    expectError(await on.admin(method, path, { body }), 'last_system_admin', `${method} ${path}`)
  expect([(await on.admin('GET', `/admin/users/${id}`)).body, (await on.admin('GET', `/admin/apps/${app.id}`)).body]).toEqual(
    before,
  )
})

test('an app and a pool tag by which the only system_admin enters cannot be removed', async () => {
  const on = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl,console' })
  const pool = somePool()
  const { body: app } = await on.admin('POST', '/admin/apps', {
    body: { code: 'console', name: 'Console', registration_namespace: pool },
  })
  const keeper = { email: someEmail(), password: PASSWORD, namespace: somePool(), roles: ['system_admin'] }
  const { id } = (await on.admin('POST', '/admin/users', { body: keeper })).body
  await on.admin('PATCH', `/admin/users/${id}/namespaces`, { body: { add: [pool] } })
  await on.admin('POST', `/admin/users/${id}/apps/console`)
  const token = (await on.login(keeper.email, 'console')).body.access_token
  const ask = (method: string, path: string, body?: Json) => on.call(method, path, { token, body })
  const first = (await on.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0].id
  expect((await ask('PATCH', `/admin/users/${first}`, { status: 'suspended' })).status).toBe(200)
  for (const [method, path, body] of [
    ['PATCH', `/admin/users/${id}/namespaces`, { remove: [pool] }],
    ['PATCH', `/admin/apps/${app.id}`, { status: 'inactive' }],
    ['DELETE', `/admin/apps/${app.id}?force=true`],
  ] as [string, string, Json?][])
    expectError(await ask(method, path, body), 'last_system_admin', `${method} ${path}`)
  expect((await ask('GET', '/admin/apps')).status).toBe(200)
})

describe('a system_admin', () => {
  // covers login-grant
  test('a system_admin enters an app like any user, with an active grant and not without one', async () => {
    const app = await buildApp(service)
    const { id, email } = await buildAdmin()
    const grant = `/admin/users/${id}/apps/${app.id}`
    expectError(await service.login(email, app.code), 'app_access_denied')
    const expires_at = new Date(service.deps.clock() + 60_000).toISOString()
    await service.admin('POST', grant, { body: { expires_at } })
    const { body } = await service.login(email, app.code)
    expect(claimsOf(body.access_token).exp * 1000).toBeLessThanOrEqual(Date.parse(expires_at))
    service.advance(61)
    expectError(await service.login(email, app.code), 'app_access_denied')
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } }), 'app_access_denied')
    await service.admin('POST', grant)
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })).status).toBe(200)
    await service.admin('DELETE', grant)
    expectError(await service.login(email, app.code), 'app_access_denied')
  })

  test('a system_admin enters authctl without a grant, and not with a revoked one', async () => {
    const { id, email } = await buildAdmin()
    const grant = `/admin/users/${id}/apps/authctl`
    expect((await service.login(email, 'authctl')).status).toBe(200)
    expect((await service.admin('GET', `/admin/users/${id}/apps`)).body.items).toEqual([])
    await service.admin('POST', grant)
    await service.admin('DELETE', grant)
    expectError(await service.login(email, 'authctl'), 'app_access_denied')
  })

  // covers provision-first-touch
  test('a system_admin is provisioned by an auto-granting app at the first entry, like any user', async () => {
    const linked = await buildApp(service)
    const organization = await buildOrganization(service)
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      linked_app_codes: [linked.code],
      default_organization_id: organization.id,
    })
    const { id, email } = await buildAdmin()
    expect((await service.login(email, app.code)).status).toBe(200)
    const { organizations } = (await service.admin('GET', `/admin/users/${id}`)).body
    const { items } = (await service.admin('GET', `/admin/users/${id}/apps`)).body
    expect(items.map((each: Json) => [each.app_code, each.granted_via]).sort()).toEqual(
      [
        [app.code, 'auto'],
        [linked.code, 'link'],
      ].sort(),
    )
    expect(organizations).toMatchObject([{ id: organization.id, role_codes: ['org_member'] }])
  })
})

test('a system_admin without the verified address that an app asks for does not count as one who can enter it', async () => {
  const on = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl' })
  const write = (body: Json) => on.admin('PATCH', '/admin/apps/authctl', { body })
  const { id } = (await on.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
  const move = (email: string) => on.admin('PATCH', `/admin/users/${id}`, { body: { email } })
  expect((await write({ require_verified_email: true })).status).toBe(200)
  expectError(await move(someEmail()), 'last_system_admin')
  const other = { email: someEmail(), password: PASSWORD, roles: ['system_admin'] }
  const made = (await on.admin('POST', '/admin/users', { body: other })).body
  // The address of the other one is not verified.
  for (const way of ways) expectError(await waysOut[way]!(on.admin, id), 'last_system_admin', way)
  expect((await write({ require_verified_email: false })).status).toBe(200)
  const { access_token: token } = (await on.login(other.email, 'authctl')).body
  expect((await waysOut.demoting!(on.call, id, token)).status).toBe(204)
  const enable = { token, body: { require_verified_email: true } }
  expectError(await on.call('PATCH', '/admin/apps/authctl', enable), 'last_system_admin')
  await markVerified(on, made.id)
  expect((await on.call('PATCH', '/admin/apps/authctl', enable)).status).toBe(200)
})

describe('an installation whose only admin app is not authctl', () => {
  /** A service whose only admin app is `console`, with a system_admin who may enter it, and a call in their name. */
  async function buildOwnConsole() {
    const on = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl' })
    const { body: app } = await on.admin('POST', '/admin/apps', { body: { code: 'console', name: 'Console' } })
    const { id } = (await on.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
    const grant = `/admin/users/${id}/apps/console`
    await on.admin('POST', grant)
    on.deps.config.adminAppCodes = ['console']
    const ask = async (method: string, path: string, body?: Json) => {
      // A grant that is shortened ends the tokens that it gave.
      const { access_token: token } = (await on.login(ADMIN_EMAIL, 'console')).body
      return on.call(method, path, { token, body })
    }
    return { on, app, id, grant, ask }
  }

  test('no change leaves the installation without a system_admin whose grant lasts', async () => {
    const { on, app, id, grant, ask } = await buildOwnConsole()
    const newcomer = { email: someEmail(), password: PASSWORD, roles: ['system_admin'] }
    const other = (await ask('POST', '/admin/users', newcomer)).body.id
    const theirs = `/admin/users/${other}/apps/console`
    const soon = () => ({ expires_at: new Date(on.deps.clock() + 3_600_000).toISOString() })
    const many = (users: string[]) => ask('POST', '/admin/apps/console/grants', { users, ...soon() })
    const refused = async () => {
      const before = (await ask('GET', grant.replace('/console', ''))).body
      for (const [method, path, body] of [
        ['DELETE', grant],
        ['POST', grant, soon()],
        ['PATCH', `/admin/users/${id}`, { status: 'suspended' }],
        ['DELETE', `/admin/users/${id}`],
        ['DELETE', `/admin/users/${id}/roles/system_admin`],
        ['PATCH', `/admin/apps/${app.id}`, { status: 'inactive' }],
        ['DELETE', `/admin/apps/${app.id}?force=true`],
      ] as [string, string, Json?][])
        expectError(await ask(method, path, body), 'last_system_admin', `${method} ${path}`)
      expectError(await many([id, other]), 'last_system_admin')
      expect((await ask('GET', grant.replace('/console', ''))).body).toEqual(before)
    }
    // The other one has no grant, one that expires, and a revoked one.
    await refused()
    await ask('POST', theirs, soon())
    await refused()
    await ask('DELETE', theirs)
    await refused()

    await ask('POST', theirs)
    expectError(await many([id, other]), 'last_system_admin')
    expect((await ask('POST', grant, soon())).status).toBe(200)
    for (const [method, body] of [
      ['DELETE', undefined],
      ['POST', soon()],
    ] as const)
      expectError(await ask(method, theirs, body), 'last_system_admin')
  })

  test('one of two system_admins keeps their grant if both grants are revoked or shortened at once', async () => {
    const { on, id, grant, ask } = await buildOwnConsole()
    const newcomer = { email: someEmail(), password: PASSWORD, roles: ['system_admin'] }
    const other = (await ask('POST', '/admin/users', newcomer)).body.id
    const theirs = `/admin/users/${other}/apps/console`
    await ask('POST', theirs)
    const expires_at = new Date(on.deps.clock() + 3_600_000).toISOString()
    await Promise.all([ask('DELETE', grant), ask('POST', theirs, { expires_at })])
    const lasting = await on.deps.db('user_apps').where({ status: 'active', expires_at: null }).whereIn('user_id', [id, other])
    expect(lasting).toHaveLength(1)
  })

  test('concurrent changes by two system_admins never deadlock, and one of them can still administer', async () => {
    const on = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl', AUTH_RATE_LIMIT_IP: 'off' })
    const { next } = chance(42)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
    for (let round = 0; round < 8; round += 1) {
      on.deps.config.adminAppCodes = ['authctl']
      const apps = [await buildApp(on), await buildApp(on)]
      const makeAdmin = async () => {
        const newcomer = { email: someEmail(), password: PASSWORD, roles: ['system_admin'], email_verified: true }
        const { id } = (await on.admin('POST', '/admin/users', { body: newcomer })).body
        for (const app of apps) await on.admin('POST', `/admin/users/${id}/apps/${app.code}`)
        const tokens = await Promise.all(apps.map(async ({ code }) => (await on.login(newcomer.email, code)).body.access_token))
        return { id, email: newcomer.email, tokens }
      }
      const admins = [await makeAdmin(), await makeAdmin()]
      on.deps.config.adminAppCodes = apps.map(({ code }) => code)
      const soon = { expires_at: new Date(on.deps.clock() + 3_600_000).toISOString() }
      const toAdmin = ({ id }: { id: string }): [string, string, Json?][] => [
        ['PATCH', `/admin/users/${id}`, { status: 'suspended' }],
        ['DELETE', `/admin/users/${id}`],
        ['DELETE', `/admin/users/${id}/roles/system_admin`],
        ['POST', `/admin/users/${id}/offboard`, {}],
        ['PUT', `/admin/users/${id}/namespace`, { namespace: somePool() }],
        ...apps.flatMap(({ code }): [string, string, Json?][] => [
          ['DELETE', `/admin/users/${id}/apps/${code}`],
          ['POST', `/admin/users/${id}/apps/${code}`, soon],
          ['POST', `/admin/apps/${code}/grants`, { users: admins.map((each) => each.id), ...soon }],
        ]),
      ]
      const toApp = ({ code }: Json): [string, string, Json?][] => [
        ['PATCH', `/admin/apps/${code}`, { status: 'inactive' }],
        ['DELETE', `/admin/apps/${code}?force=true`],
        ['PATCH', `/admin/apps/${code}`, { registration_namespace: somePool() }],
      ]
      const steps = Array.from({ length: 14 }, () => pick([...admins.flatMap(toAdmin), ...apps.flatMap(toApp)]))
      const replies = await Promise.all(
        steps.map(([method, path, body]) => on.call(method, path, { body, token: pick(pick(admins).tokens) })),
      )
      const told = JSON.stringify(steps.map((step, index) => [...step, replies[index]!.status, replies[index]!.body?.code]))
      for (const { status } of replies) expect([200, 201, 204, 400, 401, 403, 404, 409], told).toContain(status)
      const doors = admins.flatMap(({ email }) => apps.map(({ code }) => on.login(email, code)))
      const tokens = (await Promise.all(doors)).filter(({ status }) => status === 200).map(({ body }) => body.access_token)
      const administering = await Promise.all(tokens.map((token) => on.call('GET', '/admin/apps', { token })))
      expect(administering.filter(({ status }) => status === 200).length, told).toBeGreaterThan(0)
    }
    on.deps.config.adminAppCodes = ['authctl']
  })

  test('an operator on the machine can make a system_admin who enters the app, or give the grant back', async () => {
    const { on, id, grant } = await buildOwnConsole()
    const make = (email: string, promote: boolean) =>
      createSystemAdmin(on.deps, { email, password: PASSWORD, promote, unlessOneExists: false }, systemActor)
    const email = someEmail()
    expect(await make(email, false)).toBe('created')
    const { body, status } = await on.login(email, 'console')
    expect(status).toBe(200)
    const ask = (method: string, path: string) => on.call(method, path, { token: body.access_token })
    expect((await ask('DELETE', grant)).status).toBe(200)
    expectError(await on.login(ADMIN_EMAIL, 'console'), 'app_access_denied')
    expect(await make(ADMIN_EMAIL, true)).toBe('unchanged')
    expect((await on.login(ADMIN_EMAIL, 'console')).body.user.id).toBe(id)
  })
})

test.each(['authctl', '*'])(
  'an operator on the machine can give a revoked authctl grant back, with AUTH_ADMIN_APP_CODES %s',
  async (codes) => {
    const on = await buildService({ AUTH_ADMIN_APP_CODES: codes })
    const admin = { email: someEmail(), password: PASSWORD, roles: ['system_admin'], email_verified: true }
    const { id } = (await on.admin('POST', '/admin/users', { body: admin })).body
    const grant = `/admin/users/${id}/apps/authctl`
    await on.admin('POST', grant)
    await on.admin('DELETE', grant)
    expectError(await on.login(admin.email, 'authctl'), 'app_access_denied')
    const promoted = { email: admin.email, password: undefined, promote: true, unlessOneExists: false }
    expect(await createSystemAdmin(on.deps, promoted, systemActor)).toBe('unchanged')
    expect((await on.login(admin.email, 'authctl')).status).toBe(200)
  },
)

describe('the first start after an upgrade from a version without these grants', () => {
  async function upgraded(adminAppCodes: string) {
    const on = await buildService({ AUTH_ADMIN_APP_CODES: adminAppCodes })
    const apps = await Promise.all(
      [{}, {}, { status: 'inactive' }, { registration_namespace: somePool() }].map((settings) => buildApp(on, settings)),
    )
    const make = async (extra: Json) =>
      (await on.admin('POST', '/admin/users', { body: { email: someEmail(), password: PASSWORD, ...extra } })).body
    const [admin, user] = [await make({ roles: ['system_admin'] }), await make({})]
    const [one, other, inactive, foreign] = apps as [Json, Json, Json, Json]
    const grantsOf = async ({ id }: Json) =>
      Object.fromEntries(
        (await on.admin('GET', `/admin/users/${id}/apps`)).body.items.map((each: Json) => [each.app_code, each.status]),
      )
    await on.deps.db('service').update({ admin_grants_due: 1 })
    return { on, one, other, inactive, foreign, admin, user, grantsOf }
  }

  test('the start grants every system_admin the apps of AUTH_ADMIN_APP_CODES once, and leaves existing grants as they are', async () => {
    const { on, one, other, inactive, foreign, admin, user, grantsOf } = await upgraded('authctl')
    on.deps.config.adminAppCodes = ['authctl', one, other, inactive, foreign].map((app) =>
      typeof app === 'string' ? app : app.code,
    )
    await on.admin('POST', `/admin/users/${admin.id}/apps/${other.id}`)
    await on.admin('DELETE', `/admin/users/${admin.id}/apps/${other.id}`)
    const runs = await Promise.all(Array.from({ length: 6 }, () => grantAdminApps(on.deps)))
    // The system_admin that every service begins with gets three, the other one two: the third was revoked.
    expect(runs.sort().slice(-1)).toEqual([5])
    expect(runs.filter((count) => count > 0)).toHaveLength(1)
    expect(await grantsOf(admin)).toEqual({ [one.code]: 'active', [other.code]: 'revoked', [inactive.code]: 'active' })
    expect(await grantsOf(user)).toEqual({})
    expect(foreign.code).not.toBe(one.code)
    const [event] = await auditEvents(on, { event: 'grant.created', user_id: admin.id, app_id: one.id })
    expect(event).toMatchObject({ actor_type: 'system', details: { after: { granted_via: 'admin' } } })
    expect((await on.login(admin.email, one.code)).status).toBe(200)
    await on.admin('DELETE', `/admin/users/${admin.id}/apps/${one.id}`)
    // Nor does a system_admin of later times get them.
    const later = { email: someEmail(), password: PASSWORD, roles: ['system_admin'] }
    const { body: late } = await on.admin('POST', '/admin/users', { body: later })
    expect(await grantAdminApps(on.deps)).toBe(0)
    expect(await grantsOf(late)).toEqual({})
    expect(await grantsOf(admin)).toMatchObject({ [one.code]: 'revoked' })
  })

  test('the start grants nothing while no system_admin could enter, and the next start tries again with the new setting', async () => {
    const { on, one, admin, grantsOf } = await upgraded('authctl')
    on.deps.config.adminAppCodes = ['mistyped']
    expect([await grantAdminApps(on.deps), await grantAdminApps(on.deps)]).toEqual([0, 0])
    on.deps.config.adminAppCodes = [one.code]
    const runs = await Promise.all(Array.from({ length: 6 }, () => grantAdminApps(on.deps)))
    expect(runs.filter((count) => count > 0)).toEqual([2])
    on.deps.config.adminAppCodes = ['authctl']
    expect(await grantsOf(admin)).toEqual({ [one.code]: 'active' })
  })

  test('the start grants every active app if the setting is *', async () => {
    const { on, one, other, admin, grantsOf } = await upgraded('*')
    expect(await grantAdminApps(on.deps)).toBe(4)
    expect(await grantsOf(admin)).toEqual({ [one.code]: 'active', [other.code]: 'active' })
  })
})
