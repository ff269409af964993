import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isUniqueViolation } from '../../packages/server/src/lib/violations.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, PASSWORD, someEmail, somePool } from '../support/service.ts'

const service = serviceFixture()

/** An auto-granting app over these pools, home pool first. */
const appOver = (registration_namespace: string, ...read_namespaces: string[]) =>
  buildApp(service, { auto_grant_on_signup: true, registration_namespace, read_namespaces })

// covers app-registration-pool app-read-pools user-home-pool register-pool-set register-base-user
test("a new user's home pool is the app's registration pool, and every other pool of the set becomes a tag", async () => {
  const [home, b, a] = [somePool(), `${somePool()}-b`, `${somePool()}-a`]
  const app = await appOver(home, b, a, home)
  const { user } = await buildUser(service, app)
  expect(user.namespace).toBe(home)
  expect(user.namespaces[0]).toBe(home)
  expect([...user.namespaces].sort()).toEqual([home, a, b].sort())
  expect((await service.admin('GET', `/admin/users/${user.id}`)).body).toMatchObject({
    namespace: home,
    namespaces: user.namespaces,
  })
})

// covers app-registration-pool-default pool-default
test('an app that names no pool registers into default, without tags', async () => {
  const { user } = await buildUser(service, await buildApp(service))
  expect([user.namespace, user.namespaces]).toEqual(['default', ['default']])
})

// covers service-user-per-pool
test('one address belongs to separate users in two disjoint pools, each with its own password and data', async () => {
  const [one, two] = [await appOver(somePool()), await appOver(somePool())]
  const email = someEmail()
  const first = await service.register(email, one.code, { first_name: 'One' })
  const second = await service.register(email, two.code, { first_name: 'Two', password: 'another password' })
  expect([first.status, second.status]).toEqual([201, 201])
  expect(second.body.user.id).not.toBe(first.body.user.id)
  expect((await service.login(email, one.code)).body.user).toMatchObject({ id: first.body.user.id, first_name: 'One' })
  expect((await service.login(email, two.code, { password: 'another password' })).body.user.id).toBe(second.body.user.id)
  expect((await service.login(email, two.code)).body.code).toBe('invalid_credentials')
  expect((await service.login(email, one.code, { password: 'another password' })).body.code).toBe('invalid_credentials')
})

// covers user-email-unique
test('the database refuses a second user with one address in a pool, unless the first one is deleted', async () => {
  const { user } = await buildUser(service, await appOver(somePool()))
  const row = await service.deps.db('users').where({ id: user.id }).first()
  const heir = { ...row, id: randomUUID() }
  const refused = await service.deps
    .db('users')
    .insert(heir)
    .catch((error: unknown) => error)
  expect(isUniqueViolation(refused)).toBe(true)
  await service.deps.db('users').where({ id: user.id }).update({ status: 'deleted' })
  await service.deps.db('users').insert(heir)
  expect(await countRows(service, 'users', { email: user.email })).toBe(2)
})

// covers register-collision
describe('collisions across the whole pool set', () => {
  test.for([
    ['the home pool of the user is the registration pool', ['x'], ['x']],
    ['the home pool of the user is a pool that is read', ['x'], ['y', 'x']],
    ['a tag of the user is the registration pool', ['x', 'y'], ['y']],
    ['a tag of the user is a pool that is read', ['x', 'y'], ['z', 'y']],
  ] as [string, string[], string[]][])('a registration finds the existing user if %s', async ([, firstPools, secondPools]) => {
    const suffix = randomUUID().slice(0, 8)
    const over = ([home, ...read]: string[]) => appOver(`${home}-${suffix}`, ...read.map((pool) => `${pool}-${suffix}`))
    const [first, second] = [await over(firstPools), await over(secondPools)]
    const { user } = await buildUser(service, first)
    expect((await service.register(user.email, second.code)).body).toMatchObject({ status: 409, code: 'user_exists' })
    const login = await service.register(user.email, second.code, { mode: 'register_or_login' })
    expect([login.status, login.body.user.id]).toEqual([200, user.id])
    expect(await countRows(service, 'users', { email: user.email })).toBe(1)
  })

  // covers register-collision
  test('tags alone make no collision if the pool sets do not meet', async () => {
    const [x, y, z] = [somePool(), somePool(), somePool()]
    const { user } = await buildUser(service, await appOver(x, y))
    const other = await service.register(user.email, (await appOver(z)).code)
    expect(other.status).toBe(201)
    expect(other.body.user.id).not.toBe(user.id)
  })
})

// covers register-tags-new-only
test('an existing user who enters an app for the first time gains access but no pool tag', async () => {
  const [home, extra] = [somePool(), somePool()]
  const { user } = await buildUser(service, await appOver(home))
  const wide = await appOver(home, extra)
  expect((await service.login(user.email, wide.code)).body.user.namespaces).toEqual([home])
  const again = await service.register(user.email, wide.code, { mode: 'register_or_login' })
  expect(again.body.user.namespaces).toEqual([home])
})

// covers register-pools-move-nobody
test("changing an app's pools moves no users, and login uses the current pools", async () => {
  const [old, next] = [somePool(), somePool()]
  const app = await appOver(old)
  const { user } = await buildUser(service, app)
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { registration_namespace: next } })
  expect((await service.login(user.email, app.code)).body).toMatchObject({ status: 401, code: 'invalid_credentials' })
  expect((await service.admin('GET', `/admin/users/${user.id}`)).body.namespaces).toEqual([old])
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { read_namespaces: [old] } })
  expect((await service.login(user.email, app.code)).body.user.id).toBe(user.id)
})

describe('precedence among users who share an address', () => {
  /** Two users with the same address, each in other pools; the second has another password. */
  async function twoUsers(firstPools: [string, ...string[]], secondPools: [string, ...string[]]) {
    const email = someEmail()
    const first = await service.register(email, (await appOver(...firstPools)).code)
    const second = await service.register(email, (await appOver(...secondPools)).code, { password: 'another password' })
    expect([first.status, second.status]).toEqual([201, 201])
    return { email, first: first.body.user.id as string, second: second.body.user.id as string }
  }

  async function expectFirst(
    app: { code: string },
    users: { email: string; first: string },
    password: string,
    otherPassword: string,
  ) {
    const hit = await service.login(users.email, app.code, { password })
    expect(hit.body.user?.id).toBe(users.first)
    expect((await service.login(users.email, app.code, { password: otherPassword })).body.code).toBe('invalid_credentials')
    expect((await service.register(users.email, app.code)).body.code).toBe('user_exists')
  }

  // covers register-pool-set
  test('home pools rank in the order of the set', async () => {
    const [x, y] = [somePool(), somePool()]
    const { email, first, second } = await twoUsers([x], [y])
    await expectFirst(await appOver(x, y), { email, first }, PASSWORD, 'another password')
    await expectFirst(await appOver(y, x), { email, first: second }, 'another password', PASSWORD)
    await expectFirst(await appOver(somePool(), y, x), { email, first: second }, 'another password', PASSWORD)
  })

  test('a home pool ranks before a tag, wherever the two stand in the set', async () => {
    const [x, tag, y] = [somePool(), somePool(), somePool()]
    const { email, second } = await twoUsers([x, tag], [y])
    await expectFirst(await appOver(tag, y), { email, first: second }, 'another password', PASSWORD)
    await expectFirst(await appOver(y, tag), { email, first: second }, 'another password', PASSWORD)
  })

  test('tags rank in the order of the set', async () => {
    const [a, b] = [somePool(), somePool()]
    const { email, first, second } = await twoUsers([somePool(), a], [somePool(), b])
    await expectFirst(await appOver(a, b), { email, first }, PASSWORD, 'another password')
    await expectFirst(await appOver(b, a), { email, first: second }, 'another password', PASSWORD)
  })
})

// covers claim-namespace
test('the token names the home pool, except for default', async () => {
  const pool = somePool()
  const there = await buildUser(service, await appOver(pool, 'default'))
  expect(claimsOf(there.access_token).namespace).toBe(pool)
  const here = await buildUser(service, await appOver('default', pool))
  expect(claimsOf(here.access_token)).not.toHaveProperty('namespace')
})

// covers app-read-pools login-pool-set
test('a tagged user enters only apps that read the tag', async () => {
  const [home, tag] = [somePool(), somePool()]
  const { user } = await buildUser(service, await appOver(home, tag))
  expect((await service.login(user.email, (await appOver(tag)).code)).status).toBe(200)
  expect((await service.login(user.email, (await appOver(somePool(), tag)).code)).status).toBe(200)
  expect((await service.login(user.email, (await appOver(somePool())).code)).body.code).toBe('invalid_credentials')
})
