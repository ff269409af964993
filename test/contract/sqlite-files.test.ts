// The files of an SQLite database hold password hashes, so only the user who runs the service can read them.
import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { callHttp, testDatabase } from '../support/client.ts'
import { runGatehouse, startServer } from '../support/server-process.ts'

test.runIf(testDatabase() === 'sqlite').each(['serve', 'migrate'])(
  '%s creates the database files for its own user only, even in a folder that others can read',
  async (command) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-files-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const settings = { DATABASE_URL: `sqlite:${join(folder, 'new.db')}` }
    const umask = ['/bin/sh', '-c', 'umask 022; exec "$0" "$@"']
    const modes = () =>
      Object.fromEntries(readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]))
    if (command === 'migrate') {
      expect((await runGatehouse(['migrate'], settings)).code).toBe(0)
      expect(modes()).toMatchObject({ 'new.db': '600' })
      return
    }
    const server = await startServer(settings, onTestFinished, umask)
    expect((await callHttp(`${server.url}/api/v1/ready`, 'GET')).status).toBe(200)
    expect(modes()).toEqual({ 'new.db': '600', 'new.db-wal': '600', 'new.db-shm': '600' })
    await server.stop()
  },
)
