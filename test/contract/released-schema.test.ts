// A database of each engine as the released 0001-initial made it, with a row or more in the main tables. All later migrations are
// tested from it: what is stored must work after them as before, and the schema is that of a new database.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrations } from '../../packages/server/src/db/migrate.ts'
import { testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'

const stored = (name: string) => gunzipSync(readFileSync(new URL(`../fixtures/${name}.gz`, import.meta.url)))

async function releasedDatabase(): Promise<string> {
  if (testDatabase() === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-released-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'released.db')
    writeFileSync(file, stored('released-0001.db'), { mode: 0o600 })
    return `sqlite:${file}`
  }
  const database = await createDatabase('postgres', inject('templates'))
  onTestFinished(() => database.drop())
  const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
  try {
    await db.raw('drop schema public cascade')
    await db.raw('create schema public')
    // Escaped, because knex takes a question mark in a text for a binding.
    await db.raw(stored('released-0001.sql').toString().replaceAll('?', '\\?'))
  } finally {
    await db.destroy()
  }
  return database.url
}

test('a database of the first release is brought up to date, passes the check, and its users log in', async () => {
  const settings = { DATABASE_URL: await releasedDatabase() }
  const [, ...later] = Object.keys(migrations.steps)
  expect(await runGatehouse(['migrate'], settings)).toMatchObject({ code: 0, stdout: `applied ${later.join(', ')}\n` })
  const check = await runGatehouse(['check', '--deep'], settings)
  const sound = { code: 0, stdout: 'settings: ok\ndatabase: ok\nencryption key: ok\nrows: ok\naudit: ok\n' }
  expect(check).toMatchObject(sound)

  const server = await startInstance(settings)
  const login = await server.login('ada@example.com', 'notes')
  expect(login).toMatchObject({ status: 200, body: { user: { first_name: 'Ada' } } })
  const { refresh_token } = login.body
  expect((await server.call('POST', '/auth/refresh', { body: { refresh_token } })).status).toBe(200)
  // The audit events of the first release get sealed.
  await expect.poll(() => countEvents(settings.DATABASE_URL, 'seal_position is null'), { timeout: 60_000 }).toBe(0)
  expect(await countEvents(settings.DATABASE_URL, "mac like '%.adopted.%'")).toBeGreaterThan(0)
  expect(await runGatehouse(['check', '--deep'], settings)).toMatchObject(sound)

  const fresh = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => fresh.drop())
  expect(await schemaOf(settings.DATABASE_URL)).toEqual(await schemaOf(fresh.url))
})

async function countEvents(databaseUrl: string, condition: string): Promise<number> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    return Number((await db('audit_events').whereRaw(condition).count({ n: '*' }))[0]!.n)
  } finally {
    await db.destroy()
  }
}

const sqliteSchema =
  "select type, tbl_name, name, sql from sqlite_master where name not like 'sqlite_%' order by type, tbl_name, name"
const postgresSchema = `
  select table_name as owner, column_name as name, concat_ws(' ', data_type, collation_name, is_nullable, column_default) as made
  from information_schema.columns where table_schema = 'public'
  union all select tablename, indexname, indexdef from pg_indexes where schemaname = 'public'
  union all select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
  order by 1, 2, 3`

/** Tables, columns, indexes and constraints. */
async function schemaOf(databaseUrl: string): Promise<unknown[]> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    return testDatabase() === 'sqlite' ? await db.raw(sqliteSchema) : (await db.raw(postgresSchema)).rows
  } finally {
    await db.destroy()
  }
}
