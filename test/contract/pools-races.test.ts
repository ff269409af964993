// Many callers move, tag, re-address and register users of the same e-mail at once. The
// tests assert the final state, not who won.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { atOnce, chance } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { samples } from '../support/lane.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import {
  ADMIN_EMAIL,
  bootstrapAdmin,
  buildService,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  somePool,
  type TestService,
  testDatabase,
} from '../support/service.ts'

interface World {
  /** Calls any of the servers as a system_admin. */
  admin(index: number, method: string, path: string, body?: Json): Promise<Reply>
  register(index: number, email: string, app: string): Promise<Reply>
}

/** Asserts that no pool has two live users of the same e-mail, whether it is their home or a tag. */
async function expectOneUserPerPool(world: World, pools: readonly string[], emails: readonly string[]): Promise<void> {
  for (const email of emails) {
    const { items } = (await world.admin(0, 'GET', `/admin/users?limit=200&email=${email}`)).body
    const named: string[] = items.flatMap((user: Json) => user.namespaces)
    expect(named.length, `${email} in ${named}`).toBe(new Set(named).size)
    expect(pools).toEqual(expect.arrayContaining(named))
  }
}

async function race(world: World, seed: number): Promise<void> {
  const { next, soon } = chance(seed)
  const pools = [somePool(), somePool(), somePool(), somePool()]
  const pick = () => pools[Math.floor(next() * pools.length)]!
  const apps: string[] = []
  for (let index = 0; index < 3; index += 1) {
    const code = `app-${randomUUID()}`
    apps.push(code)
    const settings = { registration_namespace: pools[index], read_namespaces: [pools[index + 1]] }
    expect((await world.admin(0, 'POST', '/admin/apps', { code, name: code, ...settings })).status).toBe(201)
  }
  const [email, other] = [someEmail(), someEmail()]
  const users: Json[] = []
  for (const namespace of pools.slice(0, 3)) users.push((await world.admin(0, 'POST', '/admin/users', { email, namespace })).body)
  users.push((await world.admin(0, 'POST', '/admin/users', { email: other, namespace: pools[3] })).body)

  const acts: ((index: number, user: Json) => Promise<Reply>)[] = [
    (index, user) => world.admin(index, 'PUT', `/admin/users/${user.id}/namespace`, { namespace: pick() }),
    (index, user) => world.admin(index, 'PATCH', `/admin/users/${user.id}/namespaces`, { add: [pick()] }),
    (index, user) => world.admin(index, 'PATCH', `/admin/users/${user.id}/namespaces`, { add: [pick(), pick()] }),
    (index, user) => world.admin(index, 'PATCH', `/admin/users/${user.id}/namespaces`, { remove: [pick()] }),
    (index, user) => world.admin(index, 'PATCH', `/admin/users/${user.id}`, { email: next() < 0.5 ? email : other }),
    (index) => world.register(index, email, apps[Math.floor(next() * apps.length)]!),
    (index) => world.register(index, other, apps[Math.floor(next() * apps.length)]!),
    (index) => world.admin(index, 'POST', '/admin/users', { email, namespace: pick(), tags: [pick()] }),
  ]
  const replies = await atOnce(32, (index) => {
    const act = acts[Math.floor(next() * acts.length)]!
    return soon(3, () => act(index, users[index % users.length]))
  })
  for (const { status, body } of replies) {
    // Removing a pool that has become the home pool is 400.
    expect([200, 201, 400, 409], JSON.stringify(body)).toContain(status)
    if (status === 409) expect(['email_exists_in_pool', 'user_exists']).toContain(body.code)
  }
  await expectOneUserPerPool(world, pools, [email, other])
}

describe('races for pools on one server', () => {
  let service: TestService
  let world: World
  beforeAll(async () => {
    service = await buildService({}, onFileEnd)
    world = {
      admin: (_, method, path, body) => service.admin(method, path, { body }),
      register: (_, email, app) => service.register(email, app),
    }
  })

  test('concurrent moves, tags, new addresses and registrations leave one user per e-mail in each pool', async () => {
    for (let seed = 1; seed <= samples(12); seed += 1) await race(world, seed)
    // The same check by SQL, over everything that was created.
    const { db } = service.deps
    const homes = db('users').whereRaw("status <> 'deleted'").select('email', 'namespace')
    const tags = db('user_namespaces as t').join('users as u', 'u.id', 't.user_id').whereNot('u.status', 'deleted')
    const named = homes.unionAll(tags.select('u.email', 't.namespace'))
    const doubles = await db.from(named.as('named')).groupBy('email', 'namespace').havingRaw('count(*) > 1').select('email')
    expect(doubles).toEqual([])
    // And no user has the home pool as a tag.
    const doubled = await service.deps
      .db('users')
      .join('user_namespaces as t', (on) => on.on('t.user_id', 'users.id').andOn('t.namespace', 'users.namespace'))
      .select('users.id')
    expect(doubled).toEqual([])
  })

  test('one of twenty users with the same e-mail who move into one pool gets there', async () => {
    const [email, target] = [someEmail(), somePool()]
    const users = await Promise.all(
      Array.from(
        { length: 20 },
        async () => (await world.admin(0, 'POST', '/admin/users', { email, namespace: somePool() })).body,
      ),
    )
    const replies = await atOnce(20, (index) =>
      index % 2
        ? world.admin(0, 'PUT', `/admin/users/${users[index].id}/namespace`, { namespace: target })
        : world.admin(0, 'PATCH', `/admin/users/${users[index].id}/namespaces`, { add: [target] }),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)])
    expect((await world.admin(0, 'GET', `/admin/users?email=${email}&namespace=${target}`)).body.items).toHaveLength(1)
  })

  test('twenty concurrent moves of one user raise the token version once', async () => {
    const user = (await world.admin(0, 'POST', '/admin/users', { email: someEmail(), namespace: somePool() })).body
    const target = somePool()
    const replies = await atOnce(20, () => world.admin(0, 'PUT', `/admin/users/${user.id}/namespace`, { namespace: target }))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await service.deps.db('users').where({ id: user.id }).first('token_version')).token_version).toBe(1)
  })
})

describe.runIf(testDatabase() === 'postgres')('races for pools on two servers', () => {
  test('concurrent moves, tags, new addresses and registrations leave one user per e-mail in each pool', async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      DB_POOL_MAX: '5',
      ...bootstrapAdmin,
    }
    const start = (): Promise<ServerInstance> => startInstance(settings)
    const servers = await Promise.all([start(), start()])
    const token = (await servers[0]!.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const world: World = {
      admin: (index, method, path, body) => servers[index % 2]!.call(method, path, { body, token }),
      register: (index, email, app) =>
        servers[index % 2]!.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: app } }),
    }
    for (let seed = 101; seed <= 100 + samples(8); seed += 1) await race(world, seed)
  })
})
