// A database of each engine as the released 0001-initial made it, with a row or more in the main tables. Each later migration is tested from
// it: what is stored must work after it as before.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
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
    // Without values to bind, a question mark in a text is none of knex's.
    await db.raw(stored('released-0001.sql').toString().replaceAll('?', '\\?'))
  } finally {
    await db.destroy()
  }
  return database.url
}

test('a database of the first release is brought up to date, passes the check, and its users log in', async () => {
  const settings = { DATABASE_URL: await releasedDatabase() }
  // With a later migration this says “applied …”.
  expect(await runGatehouse(['migrate'], settings)).toMatchObject({ code: 0, stdout: 'up to date\n' })
  const check = await runGatehouse(['check'], settings)
  expect(check).toMatchObject({ code: 0, stdout: 'settings: ok\ndatabase: ok\nencryption key: ok\n' })

  const server = await startInstance(settings)
  const login = await server.login('ada@example.com', 'notes')
  expect(login).toMatchObject({ status: 200, body: { user: { first_name: 'Ada' } } })
  const { refresh_token } = login.body
  expect((await server.call('POST', '/auth/refresh', { body: { refresh_token } })).status).toBe(200)
})
