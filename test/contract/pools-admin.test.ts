// Pool administration.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { DailyTask } from '../../packages/server/src/models/daily-task.ts'
import { SharedEmail } from '../../packages/server/src/models/shared-email.ts'
import { checkInvariants } from '../../packages/server/src/resources/system/system.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { atOnce } from '../support/chance.ts'
import { unique } from '../support/client.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json, PASSWORD, someEmail, somePool } from '../support/service.ts'

const service = serviceFixture()

const appOver = (registration_namespace: string, ...read_namespaces: string[]) =>
  buildApp(service, { auto_grant_on_signup: true, registration_namespace, read_namespaces })
const create = async (namespace: string, tags: string[] = [], email = someEmail()): Promise<Json> => {
  const reply = await service.admin('POST', '/admin/users', { body: { email, password: PASSWORD, namespace, tags } })
  expect(reply.status).toBe(201)
  return reply.body
}
const move = (user: Json, namespace: unknown) =>
  service.admin('PUT', `/admin/users/${user.id}/namespace`, { body: { namespace } })
const tag = (user: Json, body: Json) => service.admin('PATCH', `/admin/users/${user.id}/namespaces`, { body })
const show = async (user: Json): Promise<Json> => (await service.admin('GET', `/admin/users/${user.id}`)).body
const collisions = (name: string, other: string, rest = '') =>
  service.admin('GET', `/admin/namespaces/${name}/collisions?with=${other}${rest}`)

async function listPools(limit = 200): Promise<Json[]> {
  const items: Json[] = []
  let cursor: string | null = null
  do {
    const path = `/admin/namespaces?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`
    const { status, body }: Json = await service.admin('GET', path)
    expect(status).toBe(200)
    items.push(...body.items)
    cursor = body.next_cursor
  } while (cursor !== null)
  return items
}
const poolNamed = async (name: string) => (await listPools()).find(({ namespace }) => namespace === name)

describe('the list of pools', () => {
  // covers pool-virtual pools-listed
  test('the list has every pool that a user or an app names, with its users and apps', async () => {
    const [home, tagged, configured] = [somePool('home'), somePool('tagged'), somePool('configured')]
    const first = await buildApp(service, { code: `z-${home}`, registration_namespace: home, read_namespaces: [tagged, home] })
    const second = await buildApp(service, {
      code: `a-${home}`,
      registration_namespace: configured,
      read_namespaces: [home],
      status: 'inactive',
    })
    await create(home, [tagged])
    const suspended = await create(home)
    await service.admin('PATCH', `/admin/users/${suspended.id}`, { body: { status: 'suspended' } })
    const deleted = await create(home, [tagged])
    await service.admin('DELETE', `/admin/users/${deleted.id}`)
    const reply = await service.admin('GET', '/admin/namespaces')
    expectHeaders(reply)
    expect(await poolNamed(home)).toEqual({
      namespace: home,
      user_count: 2,
      tagged_user_count: 0,
      apps: [
        { id: second.id, code: second.code, as: 'read' },
        { id: first.id, code: first.code, as: 'registration' },
      ],
    })
    expect(await poolNamed(tagged)).toEqual({
      namespace: tagged,
      user_count: 0,
      tagged_user_count: 1,
      apps: [{ id: first.id, code: first.code, as: 'read' }],
    })
    expect(await poolNamed(configured)).toEqual({
      namespace: configured,
      user_count: 0,
      tagged_user_count: 0,
      apps: [{ id: second.id, code: second.code, as: 'registration' }],
    })
    expect((await poolNamed('default'))?.apps).toContainEqual({ id: expect.any(String), code: 'authctl', as: 'registration' })
    expectError(await service.admin('POST', '/admin/namespaces', { body: { namespace: somePool() } }), 'method_not_allowed')
  })

  test('the list is paged, each pool appears once, and names sort by character', async () => {
    const base = somePool('order')
    for (const suffix of ['-', '_', 'a', '0', '-a', '_a', 'a-', 'z', '9']) await create(`${base}${suffix}`)
    await appOver(`${base}b`, `${base}_b`)
    await create(`${base}tags`, [`${base}y`, `${base}_y`])
    const all = (await listPools()).map(({ namespace }) => namespace)
    expect(all).toEqual([...all].sort())
    expect(all.filter((name) => name.startsWith(base))).toEqual(
      ['-', '_', 'a', '0', '-a', '_a', 'a-', 'z', '9', 'b', '_b', 'tags', 'y', '_y'].map((suffix) => base + suffix).sort(),
    )
    for (const limit of [1, 2, 3, 7]) expect(await listPools(limit)).toEqual(await listPools())
  })

  test('the counts are right after everything that moves users, before and after the cleanup', async () => {
    const [home, other] = [somePool('home'), somePool('other')]
    const sizes = async () =>
      [await poolNamed(home), await poolNamed(other)].map((pool) => [pool?.user_count ?? 0, pool?.tagged_user_count ?? 0])
    const email = someEmail()
    const first = await create(home, [other], email)
    const second = await create(home)
    const lines = [
      { email: someEmail(), namespace: home, tags: [other] },
      { email, namespace: other },
    ]
    expect((await tag(first, { remove: [other] })).status).toBe(200)
    const body = lines.map((line) => JSON.stringify(line)).join('\n')
    const headers = { 'content-type': 'application/x-ndjson' }
    expect((await service.admin('POST', '/admin/users/import', { body, headers })).body).toMatchObject({ imported: 2 })
    expect(await sizes()).toEqual([[3, 0], [1, 1]]) // biome-ignore format: two pools
    expect((await collisions(home, other)).body.items).toHaveLength(1)
    await removeExpired(service.deps)
    expect(await countRows(service, 'pool_changes')).toBe(0)
    expect(await sizes()).toEqual([[3, 0], [1, 1]]) // biome-ignore format: two pools
    await move(second, other)
    await service.admin('DELETE', `/admin/users/${first.id}?erase=true`)
    expect(await sizes()).toEqual([[1, 0], [2, 1]]) // biome-ignore format: two pools
    expect(await countRows(service, 'shared_emails', { email })).toBe(0)
    await removeExpired(service.deps)
    expect(await sizes()).toEqual([[1, 0], [2, 1]]) // biome-ignore format: two pools
    expect(await checkInvariants(service.deps)).toEqual([])
  })

  test('counts that an older server did not update are corrected once a day', async () => {
    const namespace = somePool('old')
    const [id, email] = [randomUUID(), someEmail()]
    await create(somePool(), [], email)
    await service.deps.db('users').insert({ id, email, namespace, made_by: 'admin', created_at: 1, updated_at: 1 })
    await service.deps.db('user_roles').insert({ user_id: id, role_code: 'base_user', created_at: 1 })
    expect((await poolNamed(namespace))?.user_count).toBe(0)
    const [last, day] = [Date.UTC(2030, 0, 1, 12), 86_400_000]
    const sinceLast = (ms: number) => removeExpired({ ...service.deps, clock: () => last + ms })
    await service.deps.db('daily_tasks').update({ done_at: last })
    await sinceLast(day - 1)
    expect((await poolNamed(namespace))?.user_count).toBe(0)
    await Promise.all([0, 1, 2].map((ms) => sinceLast(day + ms)))
    expect((await poolNamed(namespace))?.user_count).toBe(1)
    expect(await countRows(service, 'shared_emails', { email })).toBe(1)
    expect(await checkInvariants(service.deps)).toEqual([])
  })

  test('a daily task is done by the first server whose cleanup comes a day later, and by no other', async () => {
    const day = 86_400_000
    let now = Date.UTC(2030, 0, 1, 23, 55)
    await service.deps.db('daily_tasks').update({ done_at: now })
    const isDue = (at: number) => transaction(service.deps, ({ db }) => DailyTask.claim(db, 'recount_pools', at))
    const interval = 3_607_000
    for (let days = 0; days < 5; days += 1) {
      const before = now
      do now += interval
      while (!(await isDue(now)))
      expect(now - before).toBeGreaterThanOrEqual(day)
      expect(now - before).toBeLessThan(day + interval)
    }
    const claims = await atOnce(8, (index) => isDue(now + day + index))
    expect(claims.filter(Boolean)).toHaveLength(1)
    // A clock that was a year ahead delays nothing; one that is minutes behind does nothing twice.
    await service.deps.db('daily_tasks').update({ done_at: now + 365 * day })
    expect([await isDue(now), await isDue(now - 600_000)]).toEqual([true, false])
    // What fails is tried again.
    const fails = transaction(service.deps, async ({ db }) => {
      await DailyTask.claim(db, 'recount_pools', now + day)
      throw new Error('stop')
    })
    await expect(fails).rejects.toThrow('stop')
    expect(await isDue(now + day)).toBe(true)
  })

  // covers pool-virtual
  test('a pool that is no longer named disappears from the list', async () => {
    const [home, tagged] = [somePool(), somePool()]
    const user = await create(home, [tagged])
    await service.admin('DELETE', `/admin/users/${user.id}`)
    expect(await poolNamed(home)).toBeUndefined()
    expect(await poolNamed(tagged)).toBeUndefined()
    expectError(await collisions(home, 'default'), 'not_found')
  })

  test('the list refuses a cursor of another list', async () => {
    await create(somePool('aaa'))
    const { next_cursor } = (await service.admin('GET', '/admin/users?limit=1')).body
    expectError(await service.admin('GET', `/admin/namespaces?cursor=${next_cursor}`), 'validation_failed')
    const nul = Buffer.from('name:a\0').toString('base64url')
    expectError(await service.admin('GET', `/admin/namespaces?cursor=${nul}`), 'validation_failed')
  })
})

describe('a move to another home pool', () => {
  // covers pool-home pools-move user-token-version claim-version
  test('a move ends all sessions, changes the claim and the apps that find the user, and keeps no tag', async () => {
    const [from, to] = [somePool(), somePool()]
    const [old, next] = [await appOver(from), await appOver(to)]
    const first = await buildUser(service, old)
    const reply = await move(first.user, to)
    expect(reply.status).toBe(200)
    expectHeaders(reply)
    expect(reply.body).toEqual({ ...first.user, namespace: to, namespaces: [to] })
    expectError(await service.call('GET', '/auth/me', { token: first.access_token }), 'token_revoked')
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token: first.refresh_token } })).status).toBe(401)
    expectError(await service.login(first.user.email, old.code), 'invalid_credentials')
    const login = await service.login(first.user.email, next.code)
    expect(claimsOf(login.body.access_token)).toMatchObject({ uid: first.user.id, namespace: to, tv: 1 })
    expect(await service.deps.db('revocations').where({ user_id: first.user.id })).toMatchObject([{ app_id: null, min_tv: 1 }])
    expect(await auditEvents(service, { user_id: first.user.id, event: 'user.namespace_changed' })).toMatchObject([
      {
        actor_type: 'user',
        details: { before: { namespace: from, namespaces: [from] }, after: { namespace: to, namespaces: [to] } },
      },
    ])
  })

  test('a move to the present pool changes nothing and ends no session', async () => {
    const pool = somePool()
    const { user, access_token: token } = await buildUser(service, await appOver(pool, 'extra'))
    const before = await service.deps.db('users').where({ id: user.id }).first()
    const reply = await move(user, pool)
    expect([reply.status, reply.body]).toEqual([200, user])
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
    expect(await service.deps.db('users').where({ id: user.id }).first()).toEqual(before)
    expect(await countRows(service, 'audit_events', { user_id: user.id, event: 'user.namespace_changed' })).toBe(0)
  })

  test('a move to a tagged pool removes that tag and keeps the others', async () => {
    const [home, one, two] = [somePool(), somePool('a'), somePool('b')]
    const user = await create(home, [one, two])
    expect((await move(user, one)).body).toMatchObject({ namespace: one, namespaces: [one, two] })
    expect((await move(user, home)).body).toMatchObject({ namespace: home, namespaces: [home, two] })
  })

  // covers pools-move-conflict error-pool-conflict
  test('a move is 409 if another user with the e-mail is there, by home or tag, and changes nothing', async () => {
    const [here, there] = [somePool(), somePool()]
    const email = someEmail()
    const user = await create(here, [], email)
    const rival = await create(somePool(), [there], email)
    expectError(await move(user, there), 'email_exists_in_pool')
    expectError(await move(user, rival.namespace), 'email_exists_in_pool')
    expect(await show(user)).toEqual(user)
    await service.admin('DELETE', `/admin/users/${rival.id}`)
    expect((await move(user, there)).status).toBe(200)
  })

  test('a move keeps a suspended user suspended', async () => {
    const user = await create(somePool())
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    expect((await move(user, somePool())).body.status).toBe('suspended')
  })

  // covers app-pool-names limit-pool-name
  test.each(['', 'Upper', 'a b', 'ä', 'a'.repeat(101), null, 5, ['a']])('a move refuses the invalid name %j', async (name) => {
    const user = await create('default')
    const reply = await move(user, name)
    expectError(reply, 'validation_failed')
    expect(new Set(reply.body.errors.map((error: Json) => error.path))).toEqual(new Set(['namespace']))
  })

  // covers limit-pool-name
  test('a move accepts a name of a hundred characters', async () => {
    const name = `${somePool()}${'x'.repeat(100)}`.slice(0, 100)
    expect((await move(await create('default'), name)).body.namespace).toBe(name)
  })
})

describe('pool tags', () => {
  // covers pool-tags pools-tags
  test('tags are added and removed in one call, listed by name after the home pool, and end no session', async () => {
    const [home, a, b, c] = [somePool(), somePool('a'), somePool('b'), somePool('c')]
    const { user, access_token, refresh_token } = await buildUser(service, await appOver(home, b))
    const reply = await tag(user, { add: [c, a, c], remove: [b, somePool()] })
    expect(reply.status).toBe(200)
    expectHeaders(reply)
    expect(reply.body).toEqual({ namespace: home, namespaces: [home, a, c] })
    expect((await show(user)).namespaces).toEqual([home, a, c])
    expectError(await service.call('GET', '/auth/me', { token: access_token }), 'token_revoked')
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expect(refreshed.body.user.namespaces).toEqual([home, a, c])
    expect((await service.login(user.email, (await appOver(c)).code)).status).toBe(200)
    expectError(await service.login(user.email, (await appOver(b)).code), 'invalid_credentials')
    expect(await auditEvents(service, { user_id: user.id, event: 'user.namespaces_changed' })).toMatchObject([
      {
        details: {
          before: { namespace: home, namespaces: [home, b] },
          after: { namespace: home, namespaces: [home, a, c] },
        },
      },
    ])
  })

  test('a change of tags without effect writes nothing, and the home pool cannot become a tag', async () => {
    const user = await create(somePool(), ['kept'])
    for (const body of [{}, { add: [], remove: [] }, { add: ['kept', user.namespace] }, { remove: ['none'] }]) {
      const reply = await tag(user, body)
      expect([reply.status, reply.body]).toEqual([200, { namespace: user.namespace, namespaces: [user.namespace, 'kept'] }])
    }
    expect(await countRows(service, 'audit_events', { user_id: user.id, event: 'user.namespaces_changed' })).toBe(0)
  })

  test('one call cannot remove the home pool, or add and remove the same tag', async () => {
    const user = await create(somePool(), ['kept'])
    expect(faultsOf(await tag(user, { add: ['x'], remove: ['kept', user.namespace] }))).toEqual(['remove.1: invalid_value'])
    expect(faultsOf(await tag(user, { add: ['x', 'y'], remove: ['y'] }))).toEqual(['remove.0: invalid_value'])
    expect(faultsOf(await tag(user, { add: ['Bad Name'], remove: 'kept' }))).toEqual([
      'add.0: invalid_value',
      'remove: invalid_type',
    ])
    expect(await show(user)).toEqual(user)
  })

  test('a tag is 409 if another user with the e-mail is in the pool, and the whole call changes nothing', async () => {
    const email = someEmail()
    const user = await create(somePool(), ['left'], email)
    const rival = await create(somePool(), [somePool()], email)
    for (const pool of rival.namespaces)
      expectError(await tag(user, { add: [somePool(), pool], remove: ['left'] }), 'email_exists_in_pool')
    expect(await show(user)).toEqual(user)
  })
})

describe('collisions between two pools', () => {
  test('collisions are the e-mails that two users would share if one app read both pools', async () => {
    const [one, two] = [somePool(), somePool()]
    const homes = [await create(one, [], `a-${someEmail()}`)]
    homes.push(await create(two, [], homes[0].email))
    const byTag = [await create(somePool(), [one], `b-${someEmail()}`)]
    byTag.push(await create(somePool(), [two], byTag[0].email))
    const mixed = [await create(one, [], `c-${someEmail()}`)]
    mixed.push(await create(somePool(), [two], mixed[0].email))
    // These do not collide: one user in both pools, an e-mail in only one of the pools, a deleted user.
    await create(one, [two])
    await create(somePool(), [one, two])
    const alone = await create(one)
    await create(somePool(), [], alone.email)
    const gone = await create(one)
    await create(two, [], gone.email)
    await service.admin('DELETE', `/admin/users/${gone.id}`)

    const plain = ({
      apps,
      roles,
      organizations,
      two_factor,
      identities,
      passkeys,
      locked_until,
      last_login_at,
      made_by,
      locale,
      ...user
    }: Json) => user
    const expected = [homes, byTag, mixed].map((users) => ({ email: users[0].email, users: users.map(plain) }))
    const reply = await collisions(one, two)
    expect(reply.status).toBe(200)
    expectHeaders(reply)
    expect(reply.body).toEqual({ items: expected, next_cursor: null })
    expect((await collisions(two, one)).body.items).toEqual(
      expected.map(({ email, users }) => ({ email, users: [...users].reverse() })),
    )
    expect((await collisions(one, 'no-such-pool')).body).toEqual({ items: [], next_cursor: null })
    expect((await collisions(one, one)).body.items).toEqual([])

    const paged: Json[] = []
    let cursor: string | null = null
    do {
      const { body }: Json = await collisions(one, two, `&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`)
      expect(body.items.length).toBeLessThanOrEqual(1)
      paged.push(...body.items)
      cursor = body.next_cursor
    } while (cursor !== null)
    expect(paged).toEqual(expected)
  })

  test('the list of collisions requires the other pool by a valid name', async () => {
    expect(faultsOf(await service.admin('GET', '/admin/namespaces/default/collisions'))).toEqual(['with: required'])
    expect(faultsOf(await collisions('default', 'No%20Pool'))).toEqual(['with: invalid_value'])
    expectError(await collisions(somePool(), 'default'), 'not_found')
    expectError(await collisions('No%20Pool', 'default'), 'not_found')
  })

  test('collisions are found even among more shared e-mails than one query reads', async () => {
    const [one, two, three] = [somePool(), somePool(), somePool()]
    const now = service.deps.clock()
    const row = (email: string, namespace: string) => ({
      id: randomUUID(),
      email,
      namespace,
      created_at: now,
      updated_at: now,
    })
    const emails = Array.from({ length: 1_100 }, (_, index) => `${String(index).padStart(4, '0')}@${one}.example`)
    const rows = emails.flatMap((email, index) => [row(email, one), row(email, index % 100 === 99 ? two : three)])
    for (let start = 0; start < rows.length; start += 90) await service.deps.db('users').insert(rows.slice(start, start + 90))
    await transaction(service.deps, (deps) => SharedEmail.add(deps.db, emails))
    const found = (await collisions(one, two)).body
    expect(found.items.map(({ email }: Json) => email)).toEqual(emails.filter((_, index) => index % 100 === 99))
    expect(found.next_cursor).toBeNull()
    const app = await buildApp(service, { registration_namespace: three })
    // Only the first thousand collisions are counted.
    const { warnings } = (await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { read_namespaces: [one, two] } })).body
    expect(warnings).toMatchObject([
      { namespaces: [three, one], count: 990 },
      { namespaces: [one, two], count: 10 },
    ])
    await service.deps.db('users').where('email', 'like', `%@${one}.example`).delete()
  })
})

describe("a change of an app's pools", () => {
  const patch = (app: Json, body: Json) => service.admin('PATCH', `/admin/apps/${app.id}`, { body })

  test('a change of pools warns only about e-mails that users of two pools share', async () => {
    const [one, two, three] = [somePool(), somePool(), somePool()]
    const email = someEmail()
    await create(one, [], email)
    await create(two, [], email)
    const other = await create(somePool(), [one])
    await create(somePool(), [two, three], other.email)
    const app = await buildApp(service, { registration_namespace: one })

    const reply = await patch(app, { read_namespaces: [two, one] })
    expect(reply.status).toBe(200)
    expect(reply.body.read_namespaces).toEqual([two, one])
    expect(reply.body.warnings).toEqual([
      { code: 'email_collisions', namespaces: [one, two], count: 2, message: expect.any(String) },
    ])
    expect((await patch(app, { read_namespaces: [two, three] })).body.warnings).toMatchObject([
      { namespaces: [one, two], count: 2 },
      { namespaces: [one, three], count: 1 },
    ])
    expect((await patch(app, { registration_namespace: three, read_namespaces: [one] })).body.warnings).toMatchObject([
      { namespaces: [three, one], count: 1 },
    ])
    for (const body of [
      { read_namespaces: [] },
      { read_namespaces: [somePool()] },
      { registration_namespace: two },
      { name: 'X' },
    ])
      expect((await patch(app, body)).body).not.toHaveProperty('warnings')
    expect((await service.admin('GET', `/admin/apps/${app.id}`)).body).not.toHaveProperty('warnings')
    const code = unique('born')
    const born = await service.admin('POST', '/admin/apps', {
      body: { code, name: code, registration_namespace: one, read_namespaces: [two] },
    })
    expect(born.body.warnings).toMatchObject([{ code: 'email_collisions', namespaces: [one, two], count: 2 }])
    // A warning is not repeated when other settings change.
    await patch(app, { read_namespaces: [one] })
    expect((await patch(app, { description: 'X' })).body).not.toHaveProperty('warnings')
    const [event] = (await auditEvents(service, { app_id: app.id, event: 'app.updated' })).slice(-1)
    expect(event.details.after).toEqual({ description: 'X', updated_at: expect.any(String) })
  })
})
