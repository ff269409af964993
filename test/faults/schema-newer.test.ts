// An older server refuses a newer schema, unless the schema says that this version runs on it.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrations } from '../../packages/server/src/db/migrate.ts'
import { version } from '../../packages/server/src/lib/version.ts'
import { ADMIN_EMAIL, bootstrapAdmin } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured } from '../support/fault.ts'
import { runGatehouse, startServer } from '../support/server-process.ts'

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('a server does not start on a newer schema and says so in one clear line, and a running one goes on', async (context) => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const server = await startServer(settings)
    expect((await server.call('GET', '/ready')).status).toBe(200)
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
    onTestFinished(() => db.destroy())
    await db('schema_migrations').insert({ name: '9999-tomorrow', checksum: '', applied_at: 1 })

    const { code, stdout, stderr } = await runGatehouse(['serve'], settings)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^gatehouse: the database schema is newer than this server \(it has 9999-tomorrow\)[^\n]*\n$/)
    // During a rolling upgrade, all servers except the first are older than the schema for a while.
    expect((await server.call('GET', '/ready')).status).toBe(200)
    expect((await server.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
    expect((await server.stop()).code).toBe(0)
    measured(context, `exit ${code}: “${stderr.trim()}”`)
  })

  test('a server starts on a newer schema that supports its version, and not if it is too old or a migration is missing', async () => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
    onTestFinished(() => db.destroy())
    const newer = (name: string, oldest_version: string) => ({ name, checksum: '', applied_at: 1, oldest_version })
    await db('schema_migrations').insert(newer('9998-tomorrow', version))

    const server = await startServer(settings)
    expect((await server.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
    expect((await server.call('GET', '/ready')).status).toBe(200)
    await db('schema_migrations').insert(newer('9999-later', '99.1.0'))
    expect((await server.call('GET', '/ready')).body.checks.migrations).toEqual({
      ok: true,
      detail: 'migrated by a newer server',
    })
    expect((await server.stop()).code).toBe(0)
    const refused = await runGatehouse(['serve'], settings)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'gatehouse: the database schema is newer than this server (it has 9999-later, which needs 99.1.0 or later); run the newer version\n',
    ])

    const own = Object.keys(migrations.steps).at(-1)!
    await db('schema_migrations').where({ name: '9999-later' }).delete()
    await db('schema_migrations').where({ name: own }).delete()
    expect((await runGatehouse(['migrate'], settings)).code).toBe(1)
    expect(await db('schema_migrations').where({ name: own })).toEqual([])
  })
})
