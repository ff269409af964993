// A database of each engine as the released 0001-initial made it, with a row or more in the main tables. All later migrations are
// tested from it: what is stored must work after them as before, and the schema is that of a new database.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, inject, onTestFinished, test } from 'vitest'
import { divideByMonth } from '../../packages/server/src/db/audit-months.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrations } from '../../packages/server/src/db/migrate.ts'
import { type Json, testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { startMailbox } from '../support/mailbox.ts'
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
  await inDatabase(database.url, async (db) => {
    await db.raw('drop schema public cascade')
    await db.raw('create schema public')
    // Escaped, because knex takes a question mark in a text for a binding.
    await db.raw(stored('released-0001.sql').toString().replaceAll('?', '\\?'))
  })
  return database.url
}

test('a database of the first release is upgraded, passes the check, and its users sign in', async () => {
  const settings = { DATABASE_URL: await releasedDatabase() }
  const [, ...later] = Object.keys(migrations.steps)
  expect(await runGatehouse(['migrate'], settings)).toMatchObject({ code: 0, stdout: `applied ${later.join(', ')}\n` })
  const check = await runGatehouse(['check', '--deep'], settings)
  const sound = { code: 0, stdout: 'settings: ok\ndatabase: ok\nencryption key: ok\nrows: ok\naudit: ok\n' }
  expect(check).toMatchObject(sound)

  const server = await startInstance(settings)
  // A system_admin of the first release entered every app without a grant.
  expect(await countGrantsOf(settings.DATABASE_URL, 'admin@example.com', 'notes')).toBe(1)
  // The admin's scripts go on: no app demands a second factor that did not before.
  const admin = await server.login('admin@example.com', 'authctl')
  expect(admin.status).toBe(200)
  const { body: apps } = await server.call('GET', '/admin/apps', { token: admin.body.access_token })
  expect(apps.items.map(({ code, require_two_factor }: Json) => [code, require_two_factor])).toEqual(
    expect.arrayContaining([
      ['authctl', 'off'],
      ['notes', 'off'],
    ]),
  )
  const login = await server.login('ada@example.com', 'notes')
  expect(login).toMatchObject({ status: 200, body: { user: { first_name: 'Ada' } } })
  const { refresh_token } = login.body
  expect((await server.call('POST', '/auth/refresh', { body: { refresh_token } })).status).toBe(200)
  // The audit events of the first release get sealed.
  await expect.poll(() => countEvents(settings.DATABASE_URL, 'xid = 0 and seal_position is null'), { timeout: 60_000 }).toBe(0)
  expect(await countEvents(settings.DATABASE_URL, "mac like '%.adopted.%'")).toBeGreaterThan(0)
  expect(await runGatehouse(['check', '--deep'], settings)).toMatchObject(sound)

  // Once the servers of the first release are gone, the audit is divided by month.
  if (testDatabase() === 'postgres') await inDatabase(settings.DATABASE_URL, (db) => divideByMonth(db, Date.now()))
  expect(await runGatehouse(['check', '--deep'], settings)).toMatchObject(sound)
  const fresh = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => fresh.drop())
  expect(await schemaOf(settings.DATABASE_URL)).toEqual(await schemaOf(fresh.url))
})

test('an account verified before mailboxes were proven keeps everything at its next magic link', async () => {
  const mailbox = await startMailbox()
  const settings = { DATABASE_URL: await releasedDatabase(), SMTP_URL: mailbox.url }
  const verifiedAt = Date.now() - 86_400_000
  // Ada clicked the link of her first mail. Eve also gave her password, so an app that asks for that lets her in.
  await inDatabase(settings.DATABASE_URL, async (db) => {
    const ada = await db('users').where({ email: 'ada@example.com' }).first()
    const clicked = { email_verified_at: verifiedAt, first_verified_at: verifiedAt }
    await db('users').where({ id: ada.id }).update(clicked)
    const eve = { ...ada, ...clicked, id: randomUUID(), email: 'eve@example.com', mailbox_proven_at: verifiedAt }
    await db('users').insert(eve)
    for (const role of await db('user_roles').where({ user_id: ada.id }))
      await db('user_roles').insert({ ...role, user_id: eve.id })
    for (const grant of await db('user_apps').where({ user_id: ada.id }))
      await db('user_apps').insert({ ...grant, id: randomUUID(), user_id: eve.id })
  })

  const server = await startInstance(settings)
  const admin = (await server.login('admin@example.com', 'authctl')).body.access_token
  const require = (require_verified_email: boolean) =>
    server.call('PATCH', '/admin/apps/notes', { token: admin, body: { require_verified_email } })
  expect((await require(true)).status).toBe(200)
  const login = async (email: string) => (await server.login(email, 'notes')).body
  expect(await login('eve@example.com')).toMatchObject({ user: { email_verified: true } })
  expect(await login('ada@example.com')).toMatchObject({ code: 'email_unverified' })
  await require(false)

  for (const email of ['ada@example.com', 'eve@example.com']) {
    const before = await login(email)
    await server.call('POST', '/auth/magic-link', { body: { email, app_code: 'notes' } })
    const { token } = await mailbox.take(email, /^Sign in to/)
    const entered = await server.call('POST', '/auth/magic-link/consume', { body: { token } })
    expect([entered.status, entered.body.user]).toEqual([200, before.user])
    expect((await server.call('GET', '/auth/me', { token: before.access_token })).status).toBe(200)
  }
  // The magic link has proven Ada's mailbox too.
  await require(true)
  for (const email of ['ada@example.com', 'eve@example.com']) expect(await login(email)).toHaveProperty('access_token')
  expect(await runGatehouse(['check', '--deep'], settings)).toMatchObject({ code: 0 })
})

async function countGrantsOf(databaseUrl: string, email: string, code: string): Promise<number> {
  return inDatabase(databaseUrl, async (db) => {
    const grants = db('user_apps as g').join('users as u', 'u.id', 'g.user_id').join('apps as a', 'a.id', 'g.app_id')
    return Number((await grants.where({ email, code, 'g.status': 'active' }).count({ n: '*' }))[0]!.n)
  })
}

async function inDatabase<T>(databaseUrl: string, run: (db: ReturnType<typeof createKnex>) => Promise<T>): Promise<T> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    return await run(db)
  } finally {
    await db.destroy()
  }
}

async function countEvents(databaseUrl: string, condition: string): Promise<number> {
  return inDatabase(databaseUrl, async (db) => Number((await db('audit_events').whereRaw(condition).count({ n: '*' }))[0]!.n))
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
  const isSqlite = testDatabase() === 'sqlite'
  return inDatabase(databaseUrl, async (db) => (isSqlite ? db.raw(sqliteSchema) : (await db.raw(postgresSchema)).rows))
}
