// The two ways to restore Postgres in docs/operate/restoring.md, with Postgres's own programs: a dump, by the commands of the page, and a
// base backup with the archived write-ahead log, restored to a point in time. Uses Debian's PostgreSQL 15, since the tests' usual
// one contains only the server.
import { spawnSync } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { askPostgres } from '../support/ask-postgres.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD } from '../support/client.ts'
import { librariesIn, unpackFromDebian } from '../support/debian-packages.ts'
import { readText } from '../support/deployment-files.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/mail-server.ts'
import { makeFastFolder } from '../support/postgres.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'

/** Postgres refuses to run as root. */
const NOBODY = 65534

let unpacked = ''
let reason = ''
try {
  unpacked = await unpackFromDebian('postgresql-15', ['postgresql-15'], '20 MB')
} catch (error) {
  reason = (error as Error).message
}

/** Starts a Postgres that archives its log, with the programs that come with it. */
async function startArchiving() {
  const folder = makeFastFolder('gatehouse-archive-')
  const asRoot = process.getuid?.() === 0
  const ids = asRoot ? { uid: NOBODY, gid: NOBODY } : {}
  // The account `nobody` may be unable to read a checkout in a home directory.
  const root = asRoot ? join(folder, 'programs') : unpacked
  if (asRoot) {
    cpSync(unpacked, root, { recursive: true, verbatimSymlinks: true })
    spawnSync('chmod', ['-R', 'a+rX', root])
  }
  const inPackage = join(root, 'usr/lib/postgresql/15/bin')
  const binaries = existsSync(join(inPackage, 'postgres')) ? inPackage : '/usr/lib/postgresql/15/bin'
  const env = { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', LD_LIBRARY_PATH: librariesIn(root).join(delimiter) }
  const archive = join(folder, 'archive')
  mkdirSync(archive)
  if (asRoot) for (const each of [folder, archive]) chownSync(each, NOBODY, NOBODY)
  const port = await freePort()
  const spawn = (program: string, words: readonly string[], variables: Record<string, string> = {}): string => {
    const options = { ...ids, cwd: folder, env: { ...env, ...variables }, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync(program, words, options)
    if (status !== 0) throw new Error(`${program} ${words.join(' ')}: ${stderr || stdout}`)
    return stdout
  }
  const run = (program: string, ...words: string[]) => spawn(join(binaries, program), words)
  const url = (database: string, role = 'postgres') => `postgres://${role}@127.0.0.1:${port}/${database}`
  let data = join(folder, 'data')
  const start = () => {
    const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder}`
    run('pg_ctl', 'start', '--wait', '-D', data, '-l', join(folder, 'log'), '-o', settings)
  }
  const stop = () => run('pg_ctl', 'stop', '--wait', '-m', 'immediate', '-D', data)
  onTestFinished(() => {
    try {
      stop()
    } catch {}
    rmSync(folder, { recursive: true, force: true })
  })
  run('initdb', '-D', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync')
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `archive_mode = on\narchive_command = 'cp %p ${archive}/%f'\nwal_level = replica\n`,
  )
  start()
  return {
    url,
    run,
    /** Runs a command as an operator types it, connected as the superuser unless it says otherwise. */
    type(line: string, variables: Record<string, string>): void {
      const superuser = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'postgres' }
      spawn('sh', ['-c', line], { ...superuser, PATH: `${binaries}${delimiter}${env.PATH}`, ...variables })
    },
    connection: ['--host=127.0.0.1', `--port=${port}`, '--username=postgres'],
    folder,
    start,
    stop,
    /** Replaces the database by a base backup, which the next start restores to a point in time. */
    putBack(backup: string, moment: string): void {
      data = backup
      const recovery = `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_time = '${moment}'\nrecovery_target_action = promote\n`
      writeFileSync(join(data, 'postgresql.auto.conf'), recovery)
      writeFileSync(join(data, 'recovery.signal'), '')
    },
  }
}

interface Held {
  access_token: string
  refresh_token: string
}

/** Starts a service with an app, and returns what its users need. */
async function startService(url: string) {
  const settings = { DATABASE_URL: url, ...bootstrapAdmin }
  const server = await startInstance(settings)
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const app = { code: 'notes', name: 'Notes', auto_grant_on_signup: true }
  await server.call('POST', '/admin/apps', { token, body: app })
  const register = async (name: string): Promise<Held & { user: Json }> => {
    const body = { email: `${name}@example.com`, password: PASSWORD, app_code: 'notes' }
    return (await server.call('POST', '/auth/register', { body })).body
  }
  return { settings, server, token, register }
}

/** The commands in a section of docs/operate/restoring.md, with `backup` in place of its folder `/backup`. */
function commandsOf(heading: string, backup: string): string[] {
  const [, section = ''] = readText('docs/operate/restoring.md').split(`\n## ${heading}\n`)
  const blocks = section.split('\n## ')[0]!.matchAll(/```sh\n(.*?)```/gs)
  return [...blocks].flatMap(([, block]) => block!.split('\n')).flatMap((line) => line.trim().replaceAll('/backup', backup) || [])
}

async function expectFinished(settings: Record<string, string>, words: readonly string[]): Promise<void> {
  const { code, stdout } = await runGatehouse(words, settings)
  const said = words[0] === 'check' ? expect.stringContaining('rows: ok') : expect.stringMatching(/^ended [1-9]\d* sessions/)
  expect([code, stdout]).toEqual([0, said])
}

async function expectDead(settings: Record<string, string>, held: readonly Held[]): Promise<ServerInstance> {
  const server = await startInstance(settings)
  for (const { access_token, refresh_token } of held) {
    expect((await server.call('GET', '/auth/me', { token: access_token })).status).toBe(401)
    expect((await server.call('POST', '/auth/refresh', { body: { refresh_token } })).status).toBe(401)
  }
  return server
}

const mayLogin = async (server: ServerInstance, name: string) => (await server.login(`${name}@example.com`, 'notes')).status

test.skipIf(reason !== '')(
  `a base backup and the archived log restore a moment, and tokens from before the restore are refused${reason && ` (${reason})`}`,
  async () => {
    const postgres = await startArchiving()
    const { settings, server, token, register } = await startService(postgres.url('postgres'))
    const ada = await register('ada')
    const backup = join(postgres.folder, 'backup')
    postgres.run('pg_basebackup', ...postgres.connection, '-D', backup, '--checkpoint=fast', '--no-sync')
    const bob = await register('bob')
    await server.call('DELETE', `/admin/users/${ada.user.id}/apps/notes`, { token })
    const ask = async (statement: string) => (await askPostgres(postgres.url('postgres'), statement)) ?? ''
    const moment = await ask('select clock_timestamp()::text')
    // Neither this later user nor the later deletion of Bob may exist after the restore.
    const eve = await register('eve')
    await server.call('DELETE', `/admin/users/${bob.user.id}?erase=true`, { token })
    const last = await ask('select pg_walfile_name(pg_switch_wal())')
    await until(() => existsSync(join(postgres.folder, 'archive', last)), 'the archive has the last of the log')
    await server.stop()
    postgres.stop()

    postgres.putBack(backup, moment)
    postgres.start()
    await until(async () => (await ask('select pg_is_in_recovery()')) === 'false', 'the end of the recovery')
    await expectFinished(settings, ['finish-restore'])
    await expectFinished(settings, ['check', '--deep'])
    const restored = await expectDead(settings, [ada, bob, eve])
    // Bob registered and Ada lost the app after the base backup, so both can only come from the log.
    expect([await mayLogin(restored, 'bob'), await mayLogin(restored, 'ada'), await mayLogin(restored, 'eve')]).toEqual([
      200, 403, 401,
    ])
  },
)

test.skipIf(reason !== '')(
  `the commands of the page restore a dump for the role of the servers, and earlier tokens are refused${reason && ` (${reason})`}`,
  async () => {
    const postgres = await startArchiving()
    postgres.run('psql', ...postgres.connection, '-c', 'create role gatehouse login', 'postgres')
    postgres.run('createdb', ...postgres.connection, '--owner=gatehouse', 'gatehouse')
    const { settings, server, register } = await startService(postgres.url('gatehouse', 'gatehouse'))
    const ada = await register('ada')
    const [, dump = ''] = commandsOf('Back up', postgres.folder)
    expect(dump).toMatch(/^pg_dump /)
    postgres.type(dump, settings)
    const eve = await register('eve')
    await server.stop()

    for (const line of commandsOf('Restore on Postgres', postgres.folder)) {
      const [program, ...words] = line.split(' ')
      if (program === 'gatehouse') await expectFinished(settings, words)
      else postgres.type(line, settings)
    }
    const restored = await expectDead(settings, [ada, eve])
    expect([await mayLogin(restored, 'ada'), await mayLogin(restored, 'eve')]).toEqual([200, 401])
    // What was replaced is still there.
    const replaced = postgres.url('gatehouse_replaced')
    expect(await askPostgres(replaced, "select count(*)::int from users where email = 'eve@example.com'")).toBe('1')
  },
)
