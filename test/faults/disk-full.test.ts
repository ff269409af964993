// If the database cannot be written, writes get 503 and reads still work. Once there is room again, everything works as before.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const rounds = sized(2, 20)
const triesWhileFull = sized(6, 30)

interface Disk {
  server: ServerProcess
  fill(): void
  free(): void
}

/** Starts a server on a small in-memory file system that only the server sees, and that disappears with it. */
async function startOnSmallDisk(): Promise<Disk> {
  const folder = makeFolder()
  const mount = `mount -t tmpfs -o size=24m tmpfs ${folder} && exec "$@"`
  const settings = { DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`, ...bootstrapAdmin }
  const server = await startServer(settings, onTestFinished, ['unshare', '--map-root-user', '--mount', 'sh', '-c', mount, 'sh'])
  const filler = `/proc/${server.pid}/root${folder}/filler`
  return {
    server,
    fill() {
      for (let size = 24 << 20; size >= 1; size >>= 1) append(filler, size)
    },
    free: () => rmSync(filler),
  }
}

/** Appends `size` bytes, or as many of them as there is room for. */
function append(file: string, size: number): void {
  try {
    writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** Starts a server whose files cannot grow when the disk is full: the kernel refuses its writes beyond their current size. */
async function startWithFileSizes(): Promise<Disk> {
  const folder = makeFolder()
  const file = join(folder, 'gatehouse.db')
  const server = await startServer({ DATABASE_URL: `sqlite:${file}`, ...bootstrapAdmin })
  const allow = (size: string) => spawnSync('prlimit', ['--pid', String(server.pid), `--fsize=${size}:unlimited`])
  return {
    server,
    fill: () => void allow(String(Math.min(statSync(file).size, statSync(`${file}-wal`).size))),
    free: () => void allow('unlimited'),
  }
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function runs(program: string, ...words: string[]): boolean {
  return spawnSync(program, words).status === 0
}

const canMount = runs('unshare', '--map-root-user', '--mount', 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs /mnt')
const canLimit = runs('prlimit', '--fsize')

const register = (server: ServerProcess, email: string) =>
  server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'shop' } })
const ready = (server: ServerProcess) => server.call('GET', '/ready')
async function metricOf({ url }: ServerProcess, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]
}
const emailOf = (round: number, index: number) => `user-${round}-${index}@example.com`

async function fillAndFree({ server, fill, free }: Disk): Promise<string> {
  const { access_token: token } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  await server.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })
  const count = { refused: 0, read: 0 }
  for (let round = 0; round < rounds; round += 1) {
    expect((await register(server, emailOf(round, 0))).status).toBe(201)
    fill()
    // The log of the database may still have room for some transactions.
    const confirmed = [0]
    let next = 1
    for (let refused = 0; refused < triesWhileFull; next += 1) {
      const { status, body } = await register(server, emailOf(round, next))
      expect([status, body.code]).toEqual(status === 201 ? [201, undefined] : [503, 'unavailable'])
      if (status === 201) confirmed.push(next)
      else refused += 1
      expect(next).toBeLessThan(2_000)
      expect((await server.call('GET', '/auth/me', { token })).status).toBe(200)
      count.read += 1
    }
    count.refused += triesWhileFull
    await expect.poll(() => ready(server)).toMatchObject({ status: 503, body: { checks: { writes: { detail: 'failed' } } } })
    expect(await metricOf(server, 'gatehouse_database_writable')).toBe('0')
    expect((await server.call('GET', '/auth/me', { token })).status).toBe(200)
    free()
    // The server notices although nobody sends it a write.
    await expect.poll(async () => (await ready(server)).status).toBe(200)
    for (let index = 0; index < next; index += 1) {
      // Every confirmed user exists completely. No user exists whose registration got 503.
      const repeated = await register(server, emailOf(round, index))
      const status = confirmed.includes(index) ? 409 : 201
      expect({ index, status: repeated.status }).toEqual({ index, status })
      expect((await server.login(emailOf(round, index), 'shop')).status).toBe(200)
    }
  }
  expect((await server.stop()).code).toBe(0)
  return `${rounds} times full: ${count.refused} writes all 503, ${count.read} reads all 200, /ready 503 meanwhile; all repeated with success once there is room, 0 half written`
}

describe('SQLite on a disk that fills up', () => {
  test.runIf(canMount)(
    'writes are 503 and reads go on if no space is left (ENOSPC), and all is well once there is space',
    { timeout: 600_000 },
    async (context) => {
      measured(context, await fillAndFree(await startOnSmallDisk()))
    },
  )

  test.runIf(canLimit)(
    'writes are 503 and reads go on if files may not grow (EFBIG), and all is well once they may',
    { timeout: 600_000 },
    async (context) => {
      measured(context, await fillAndFree(await startWithFileSizes()))
    },
  )
})

test('a Postgres that reports a full disk gives 503, and the next request after it is served', async (context) => {
  const { createKnex } = await import('../../packages/server/src/db/knex.ts')
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const server = await startServer({ DATABASE_URL: database.url, ...bootstrapAdmin })
  const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
  onTestFinished(() => db.destroy())
  const { access_token: token } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  await server.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop' } })
  // Postgres raises this error when it cannot extend a file.
  const raise = `begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end`
  await db.raw(`create function full_disk() returns trigger language plpgsql as $$ ${raise} $$`)
  await db.raw('create trigger full_disk before insert on users for each row execute function full_disk()')
  const told = await register(server, emailOf(0, 0))
  expect([told.status, told.body.code]).toEqual([503, 'unavailable'])
  expect((await server.call('GET', '/auth/me', { token })).status).toBe(200)
  await db.raw('create trigger full_disk before insert or update on servers for each row execute function full_disk()')
  await expect.poll(() => ready(server)).toMatchObject({ status: 503, body: { checks: { writes: { detail: 'failed' } } } })
  await db.raw('drop trigger full_disk on servers')
  await expect.poll(async () => (await ready(server)).status).toBe(200)
  await db.raw('drop trigger full_disk on users')
  expect((await register(server, emailOf(0, 0))).status).toBe(201)
  expect((await server.stop()).code).toBe(0)
  measured(context, 'SQLSTATE 53100 is 503')
})
