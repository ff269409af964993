// What a search finds, with and without the index of pieces that Postgres makes of names and addresses.
import { randomUUID } from 'node:crypto'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrate, migrations } from '../../packages/server/src/db/migrate.ts'
import { chunksOf } from '../../packages/server/src/lib/collections.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { createDatabase } from '../support/database.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildService, type Json, PASSWORD, type TestService, testDatabase } from '../support/service.ts'

const onPostgres = testDatabase() === 'postgres'
const service = serviceFixture()

/** The addresses that a search for the text finds among users of a new pool. */
function searchIn(searched: TestService) {
  const namespace = `pool-${randomUUID()}`
  return {
    async add(email: string, names: Json = {}): Promise<void> {
      const body = { email, password: PASSWORD, namespace, ...names }
      expect((await searched.admin('POST', '/admin/users', { body })).status).toBe(201)
    },
    async find(text: string): Promise<string[]> {
      const { status, body } = await searched.admin('GET', `/admin/users?namespace=${namespace}&q=${encodeURIComponent(text)}`)
      expect(status).toBe(200)
      return body.items.map(({ email }: Json) => email).sort()
    },
  }
}

test('a text of three characters matches inside a name or an address, and a shorter one only at the beginning', async () => {
  const { add, find } = searchIn(service)
  await add('abel@example.com', { first_name: 'Zoé', last_name: 'O_Neill' })
  await add('mabel@example.com', { first_name: 'Abigail', last_name: 'Smith-100%' })
  await add('carl@example.com', { first_name: 'Carl', last_name: 'Čapek' })
  expect(await find('abel')).toEqual(['abel@example.com', 'mabel@example.com'])
  expect(await find('ABE')).toEqual(['abel@example.com', 'mabel@example.com'])
  expect(await find('ab')).toEqual(['abel@example.com', 'mabel@example.com'])
  expect(await find('be')).toEqual([])
  expect(await find('m')).toEqual(['mabel@example.com'])
  expect(await find('smi')).toEqual(['mabel@example.com'])
  expect(await find('mith-1')).toEqual(['mabel@example.com'])
  expect(await find('100%')).toEqual(['mabel@example.com'])
  expect(await find('00%')).toEqual(['mabel@example.com'])
  expect(await find('0%')).toEqual([])
  expect(await find('o_')).toEqual(['abel@example.com'])
  expect(await find('o-')).toEqual([])
  expect(await find('Zoé')).toEqual(['abel@example.com'])
  expect(await find('Čap')).toEqual(['carl@example.com'])
  expect(await find('@example')).toHaveLength(3)
  expect(await find('@')).toEqual([])
  expect(await find('\\')).toEqual([])
})

test('users who match a rare or a common text are listed in the same order, page by page, with and without a filter', async () => {
  const searched = await buildService()
  const now = searched.deps.clock()
  const held = { rare: 3, some: 1_500, common: 51_000 }
  const users = Array.from({ length: held.common + 200 }, (_, index) => ({
    id: newId(now - held.common + index),
    email: `${randomUUID()}@example.com`,
    // The users with the rarer names are the oldest, so a walk from the newest one on would meet them last.
    first_name: index < held.common ? 'Common' : 'Other',
    last_name: index < held.rare ? 'Rare-Some' : index < held.some ? 'Some' : 'None',
    namespace: 'default',
    status: index % 2 === 0 ? 'active' : 'suspended',
    created_at: now,
    updated_at: now,
  }))
  for (const chunk of chunksOf(users)) await searched.deps.db('users').insert(chunk)
  if (onPostgres) await searched.deps.db.raw('analyze users')
  const idsOf = (count: number, status?: string) =>
    users
      .slice(0, count)
      .filter((user) => status === undefined || user.status === status)
      .map(({ id }) => id)
      .reverse()
  for (const [text, count] of Object.entries(held)) {
    for (const status of [undefined, 'suspended']) {
      const expected = idsOf(count, status)
      let cursor = ''
      for (let page = 0; page < 3; page += 1) {
        const filter = status === undefined ? '' : `&status=${status}`
        const { body } = await searched.admin('GET', `/admin/users?limit=100&q=${text}${filter}${cursor}`)
        expect(body.items.map(({ id }: Json) => id)).toEqual(expected.slice(page * 100, page * 100 + 100))
        expect(body.next_cursor === null).toBe(expected.length <= page * 100 + 100)
        if (body.next_cursor === null) break
        cursor = `&cursor=${body.next_cursor}`
      }
    }
  }
})

test.runIf(onPostgres)('an index finds the beginning of a name or an address without the extension', async () => {
  const { url, drop } = await createDatabase('postgres', inject('templates'))
  onTestFinished(drop)
  const db = createKnex({ databaseUrl: url, dbPoolMax: 2 })
  try {
    await db.raw('drop schema public cascade')
    await db.raw('create schema public')
    const name = '0001-initial'
    await db.transaction(async (trx) => migrations.steps[name]!.up!(trx))
    await db.raw('create table schema_migrations (name text primary key, checksum text not null, applied_at bigint not null)')
    await db('schema_migrations').insert({ name, checksum: migrations.checksums[name], applied_at: 1 })
    await db.raw('drop index users_search, organizations_search')
    await migrate(db)
    const made: { rows: { name: string }[] } = await db.raw(
      "select indexname as name from pg_indexes where indexname like '%_prefix' order by 1",
    )
    expect(made.rows.map(({ name }) => name)).toEqual(
      ['organizations_name', 'organizations_slug', 'users_email', 'users_first_name', 'users_last_name'].map(
        (name) => `${name}_prefix`,
      ),
    )
  } finally {
    await db.destroy()
  }
  const bare = await buildService({ DATABASE_URL: url })
  expect((await bare.admin('GET', '/admin/settings')).body.finds_inside).toBe(false)
  const { add, find } = searchIn(bare)
  await add('abel@example.com', { first_name: 'Anna' })
  await add('mabel@example.com', { last_name: 'Abelson' })
  expect(await find('abel')).toEqual(['abel@example.com', 'mabel@example.com'])
  expect(await find('bel')).toEqual([])
  const plan = await bare.deps.db.transaction(async (trx) => {
    await trx.raw('set local enable_seqscan = off')
    return trx.raw<{ rows: Json[] }>(`explain select id from users where lower(email collate "C") like 'abel%' escape '\\'`)
  })
  expect(JSON.stringify(plan.rows)).toContain('users_email_prefix')
})
