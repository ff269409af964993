// How migrations are applied: in one transaction, or one by one on a Postgres in use.
import { randomUUID } from 'node:crypto'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { type Migrations, migrate, migrations } from '../../packages/server/src/db/migrate.ts'
import { testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'

const onPostgres = testDatabase() === 'postgres'

async function someDatabase({ dbPoolMax = 2 } = {}) {
  const database = await createDatabase(testDatabase(), inject('templates'))
  const db = createKnex({ databaseUrl: database.url, dbPoolMax })
  onTestFinished(async () => {
    await db.destroy()
    await database.drop()
  })
  return db
}

/** The released migrations, one that makes an index, and one after it. */
const later: Migrations = {
  steps: {
    ...migrations.steps,
    '9998-index': {
      indexes: [{ name: 'users_first', table: 'users', columns: 'first_name', isUnique: true, where: 'first_name is not null' }],
    },
    '9999-column': { up: async (db) => void (await db.schema.alterTable('users', (t) => t.text('nickname'))) },
  },
  checksums: { ...migrations.checksums, '9998-index': 'a', '9999-column': 'b' },
}

const appliedOf = (db: Awaited<ReturnType<typeof someDatabase>>): Promise<string[]> =>
  db('schema_migrations').where('name', '>', '9').orderBy('name').pluck('name')

describe('a migration that makes indexes', () => {
  test('a migration that fails half-way is completed by the next run', async () => {
    const db = await someDatabase()
    const row = { namespace: 'default', first_name: 'Ada', created_at: 1, updated_at: 1 }
    const [first, second] = [randomUUID(), randomUUID()]
    await db('users').insert([first, second].map((id) => ({ ...row, id, email: `${id}@example.com` })))
    await expect(migrate(db, 1, later)).rejects.toThrow(/unique/i)
    expect(await appliedOf(db)).toEqual([])
    const states = async () =>
      (await db.raw("select indisvalid from pg_index where indexrelid = to_regclass('users_first')")).rows
    if (onPostgres) expect(await states()).toEqual([{ indisvalid: false }])

    await db('users').where({ id: second }).update({ first_name: 'Bea' })
    expect(await migrate(db, 1, later)).toEqual(['9998-index', '9999-column'])
    expect(await appliedOf(db)).toEqual(['9998-index', '9999-column'])
    if (onPostgres) expect(await states()).toEqual([{ indisvalid: true }])
    await expect(db('users').where({ id: second }).update({ first_name: 'Ada' })).rejects.toThrow(/unique/i)
    expect(await migrate(db, 1, later)).toEqual([])
  })

  test.runIf(onPostgres)(
    'a migration runs while others write to the table, and once when several servers start together',
    async () => {
      const db = await someDatabase({ dbPoolMax: 12 })
      const id = randomUUID()
      await db('users').insert({ id, email: 'ada@example.com', namespace: 'default', created_at: 1, updated_at: 1 })
      // The migration waits for a transaction that has written to the table, but lets others write meanwhile.
      const writing = await db.transaction()
      await writing('users').where({ id }).update({ last_name: 'One' })
      const runs = Promise.all([1, 2, 3, 4].map(() => migrate(db, 1, later)))
      await expect
        .poll(
          async () =>
            (
              await db.raw(
                "select 1 from pg_stat_activity where query like 'create unique index concurrently%' and wait_event_type = 'Lock'",
              )
            ).rows,
        )
        .toHaveLength(1)
      const other = randomUUID()
      await db('users').insert({ id: other, email: 'bea@example.com', namespace: 'default', created_at: 1, updated_at: 1 })
      await db('users').where({ id: other }).update({ last_name: 'Two' })
      await writing.commit()
      const applied = await runs
      expect(applied.flat()).toEqual(['9998-index', '9999-column'])
      expect(await appliedOf(db)).toEqual(['9998-index', '9999-column'])
    },
  )

  test.runIf(onPostgres)('a migration has no time limit, even if the database sets one', async () => {
    const db = await someDatabase()
    const { database } = (await db.raw('select current_database() as database')).rows[0]
    await db.raw(`alter database ${database} set statement_timeout = '200ms'`)
    const url = new URL(inject('templates').postgres!.adminUrl)
    url.pathname = `/${database}`
    const patient = createKnex({ databaseUrl: url.href, dbPoolMax: 1 })
    onTestFinished(() => patient.destroy())
    expect((await patient.raw("select current_setting('statement_timeout') as limit, pg_sleep(0.4)")).rows[0].limit).toBe('0')
  })
})

test.runIf(onPostgres)('a migration gives way to a request that holds a table it needs and waits for one it holds', async () => {
  const db = await someDatabase({ dbPoolMax: 4 })
  const both: Migrations = {
    steps: {
      ...migrations.steps,
      '9999-both': {
        up: async (db) => {
          await db.schema.alterTable('sessions', (t) => t.text('nickname'))
          await db.schema.alterTable('apps', (t) => t.text('nickname'))
        },
      },
    },
    checksums: { ...migrations.checksums, '9999-both': 'a' },
  }
  const request = await db.transaction()
  await request('apps').first()
  const run = migrate(db, 1, both)
  const waiting = "select 1 from pg_stat_activity where query like 'alter table%apps%' and wait_event_type = 'Lock'"
  await expect.poll(async () => (await db.raw(waiting)).rows, { interval: 10 }).toHaveLength(1)
  await request('sessions').first()
  await request.commit()
  expect(await run).toEqual(['9999-both'])
})

test('on a new database all migrations run in one transaction', async () => {
  const db = await someDatabase()
  const broken: Migrations = {
    ...later,
    steps: { ...later.steps, '9999-column': { up: () => Promise.reject(new Error('half-way')) } },
  }
  if (onPostgres) {
    await db.raw('drop schema public cascade')
    await db.raw('create schema public')
    await expect(migrate(db, 1, broken)).rejects.toThrow('half-way')
    expect(await db.schema.hasTable('users')).toBe(false)
  }
  expect(await migrate(db, 1, later)).toContain('9998-index')
})

describe('a role with the code of a new built-in role', () => {
  const name = '0034-admin-roles'
  const custom = { code: 'auditor', name: 'Auditor', scope: 'global', built_in: 0, created_at: 1, updated_at: 1 }
  const isBuiltIn = (db: Awaited<ReturnType<typeof someDatabase>>) => db('roles').where({ built_in: 1 }).pluck('code')

  test('the upgrade does not begin, and holders do not administer, until the role is deleted', async () => {
    const db = await someDatabase()
    await takeBack(db)
    await db('roles').insert(custom)
    for (let tries = 0; tries < 2; tries++) {
      await expect(migrate(db, 1)).rejects.toThrow(
        /whose holders administer the service: use another role instead of auditor; with/,
      )
      expect(await isBuiltIn(db)).not.toContain('help_desk')
      expect(await db('schema_migrations').where({ name })).toEqual([])
    }
    await db('roles').where({ code: 'auditor' }).delete()
    expect(await migrate(db, 1)).toEqual([name])
    expect(await isBuiltIn(db)).toEqual(expect.arrayContaining(['auditor', 'help_desk']))
  })

  test('a role that an older server creates during the upgrade is noticed', async () => {
    const db = await someDatabase()
    await takeBack(db)
    const meanwhile: Migrations = {
      steps: { ...migrations.steps, '9998-meanwhile': { up: async (db) => void (await db.raw(insertCustom)) } },
      checksums: { ...migrations.checksums, '9998-meanwhile': 'a' },
    }
    await expect(migrate(db, 1, meanwhile)).rejects.toThrow(/instead of auditor/)
    expect(await isBuiltIn(db)).not.toContain('auditor')
  })

  const insertCustom =
    "insert into roles (code, name, scope, built_in, created_at, updated_at) values ('auditor', 'Auditor', 'global', 0, 1, 1)"

  /** As before that migration. Later ones do not concern roles. */
  async function takeBack(db: Awaited<ReturnType<typeof someDatabase>>): Promise<void> {
    await db('schema_migrations').where({ name }).delete()
    await db('roles').whereIn('code', ['auditor', 'help_desk']).delete()
  }
})
