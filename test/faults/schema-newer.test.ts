// An older server refuses a newer schema.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { ADMIN_EMAIL, bootstrapAdmin } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured } from '../support/fault.ts'
import { runGatehouse, startServer } from '../support/server-process.ts'

describe.each<DatabaseKind>(['sqlite', 'postgres'])('on %s', (kind) => {
  test('a schema newer than the server: no start, one clear line, and a server that runs already goes on', async (context) => {
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
})
