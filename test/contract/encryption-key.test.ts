// A server with the AUTH_ENCRYPTION_KEY of another database does not start, and no command writes with it.
import { randomBytes } from 'node:crypto'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { bootstrapAdmin, testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'

const key = () => randomBytes(32).toString('base64')

async function someDatabase() {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
  onTestFinished(() => db.destroy())
  return { db, url: database.url }
}

test('serve and the commands that write refuse the key of another database, and name the variable', async () => {
  const { db, url } = await someDatabase()
  const [old, fresh, other] = [key(), key(), key()]
  const start = (current: string, previous?: string) => {
    const keys = { AUTH_ENCRYPTION_KEY: current, ...(previous && { AUTH_ENCRYPTION_KEY_PREVIOUS: previous }) }
    return startInstance({ DATABASE_URL: url, ...keys, ...bootstrapAdmin }, () => undefined)
  }
  const sealedBy = async () => (await db('audit_chain').first('signature'))?.signature.split('.')[0]
  /** Starts a server, waits until it has sealed with a key of its own, and stops it. */
  const seals = async (current: string, previous?: string) => {
    const before = await sealedBy()
    const server = await start(current, previous)
    await expect.poll(sealedBy).not.toBe(before)
    await server.stop()
  }
  await seals(old)

  const wrong = /^AUTH_ENCRYPTION_KEY is not the key of this database\. .*AUTH_ENCRYPTION_KEY_PREVIOUS/
  const events = await db('audit_events').orderBy('id')
  await expect(start(other)).rejects.toThrow(wrong)
  const bothWrong = /^neither AUTH_ENCRYPTION_KEY nor AUTH_ENCRYPTION_KEY_PREVIOUS is the key of this database\./
  await expect(start(other, fresh)).rejects.toThrow(bothWrong)
  for (const command of [
    ['finish-restore'],
    ['create-admin', '--email', 'a@example.com', '--promote'],
    ['app-secret', 'authctl'],
  ]) {
    const { code, stdout, stderr } = await runGatehouse(command, { DATABASE_URL: url, AUTH_ENCRYPTION_KEY: other })
    expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' })
    expect(stderr).toMatch(/^gatehouse: AUTH_ENCRYPTION_KEY is not the key of this database\.[^\n]*\n$/)
  }
  expect(await db('audit_events').orderBy('id')).toEqual(events)

  // The order without a gap: every server accepts both keys before one of them uses the new one.
  await (await start(old, fresh)).stop()
  await seals(fresh, old)
  await expect(start(old)).rejects.toThrow(wrong)
  await (await start(fresh)).stop()
})

test('the first server on an empty database decides its key, and no other key starts there', async () => {
  const { url } = await someDatabase()
  const start = (current = key()) => startInstance({ DATABASE_URL: url, AUTH_ENCRYPTION_KEY: current }, () => undefined)
  // One process runs the servers, and only Postgres lets several of them write at once.
  const keys = testDatabase() === 'postgres' ? Array.from({ length: 6 }, key) : [key()]
  const starts = await Promise.allSettled(keys.map(start))
  const started = starts.filter((each) => each.status === 'fulfilled')
  const refused = starts.filter((each) => each.status === 'rejected').map(({ reason }) => String(reason))
  for (const reason of refused) expect(reason).toMatch(/AUTH_ENCRYPTION_KEY is not the key of this database/)
  expect(started.length).toBe(1)
  for (const server of started) await server.value.stop()
  await expect(start()).rejects.toThrow(/^AUTH_ENCRYPTION_KEY is not the key of this database/)
})

test('a command that writes decides the key of an empty database too', async () => {
  const { url } = await someDatabase()
  const create = ['create-admin', '--email', 'a@example.com', '--password-stdin']
  const created = await runGatehouse(create, { DATABASE_URL: url, AUTH_ENCRYPTION_KEY: key() }, 'a fine password')
  expect(created).toMatchObject({ code: 0 })
  await expect(startInstance({ DATABASE_URL: url, AUTH_ENCRYPTION_KEY: key() }, () => undefined)).rejects.toThrow(
    /^AUTH_ENCRYPTION_KEY is not the key of this database/,
  )
})
