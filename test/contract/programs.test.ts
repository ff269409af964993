// `gatehouse` as operators run it: commands, exit codes, what is on which stream, the start and the end of a server.
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { SecretBox } from '../../packages/server/src/lib/secrets.ts'
import { callHttp, PASSWORD, testDatabase } from '../support/client.ts'
import { kidOf } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { isFastLane } from '../support/lane.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startInstance } from '../support/server-instance.ts'
import { runGatehouse, type ServerProcess, startServer } from '../support/server-process.ts'

const onPostgres = testDatabase() === 'postgres'
/** Programs take a second to start, so tests that do not depend on the database run on only one. */
const anyDatabase = !onPostgres
/** Tests that hardly depend on the database run on both only in the full lane. */
const eachDatabase = anyDatabase || !isFastLane
const email = 'root@example.com'
const bootstrap = { AUTH_BOOTSTRAP_ADMIN_EMAIL: email, AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }

/** Creates a migrated database. Returns its setting. */
async function someDatabase(): Promise<{ DATABASE_URL: string }> {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  return { DATABASE_URL: database.url }
}

/** A database that no migration has seen. */
async function emptyDatabase(): Promise<{ DATABASE_URL: string }> {
  if (onPostgres) {
    const settings = await someDatabase()
    await withDatabase(settings, async (db) => {
      await db.raw('drop schema public cascade')
      await db.raw('create schema public')
    })
    return settings
  }
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-empty-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { DATABASE_URL: `sqlite:${join(folder, 'deep', 'new.db')}` }
}

async function withDatabase<T>(
  { DATABASE_URL }: { DATABASE_URL: string },
  run: (db: ReturnType<typeof createKnex>) => Promise<T>,
): Promise<T> {
  const db = createKnex({ databaseUrl: DATABASE_URL, dbPoolMax: 1 })
  try {
    return await run(db)
  } finally {
    await db.destroy()
  }
}

const admins = (settings: { DATABASE_URL: string }): Promise<string[]> =>
  withDatabase(settings, (db) =>
    db('user_roles')
      .join('users', 'users.id', 'user_roles.user_id')
      .where({ role_code: 'system_admin' })
      .orderBy('email')
      .pluck('email'),
  )

/** Hash threads run at a nice of 10 more than the thread that serves requests. */
function niceThreadsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  // The fields after the program's name, starting with the state.
  const nice = (thread: string) => Number(readFileSync(`${tasks}/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16])
  return readdirSync(tasks).filter((thread) => nice(thread) > nice(String(pid))).length
}

/** For a start that must fail. Returns how the program ended. */
const serveToItsEnd = (settings: Record<string, string>) => runGatehouse(['serve'], settings)

describe('AUTH_BOOTSTRAP_ADMIN_*', () => {
  test('the variables create the first system_admin once, who can sign in and administer', async () => {
    const settings = await someDatabase()
    const first = await startInstance({ ...settings, ...bootstrap, AUTH_BOOTSTRAP_ADMIN_EMAIL: ' Root@EXAMPLE.com ' })
    const login = await first.login(email, 'authctl')
    expect(login.body.user).toMatchObject({ email, namespace: 'default', status: 'active' })
    expect((await first.call('GET', '/admin/apps', { token: login.body.access_token })).status).toBe(200)
    await first.stop()
    // Another address at the next start creates no user: there is an admin already.
    const second = await startInstance({ ...settings, ...bootstrap, AUTH_BOOTSTRAP_ADMIN_EMAIL: 'second@example.com' })
    await second.stop()
    expect(await admins(settings)).toEqual([email])
  })

  test('an address that belongs to a user fails the start, and nobody becomes an admin', async () => {
    const settings = await someDatabase()
    expect((await runGatehouse(['create-admin', '--email', email, '--password-stdin'], settings, PASSWORD)).code).toBe(0)
    await withDatabase(settings, (db) => db('user_roles').where({ role_code: 'system_admin' }).delete())
    const { code, stderr } = await serveToItsEnd({ ...settings, ...bootstrap })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^gatehouse: .*root@example\.com.*\n$/)
    expect(stderr).not.toContain(PASSWORD)
    expect(await admins(settings)).toEqual([])
  })

  test.runIf(anyDatabase)('faulty values fail the start in one line', async () => {
    const faults: [Record<string, string>, RegExp][] = [
      [{ AUTH_BOOTSTRAP_ADMIN_EMAIL: 'no address' }, /e-mail/],
      [{ AUTH_BOOTSTRAP_ADMIN_PASSWORD: 'short' }, /password/],
      [{ AUTH_BOOTSTRAP_ADMIN_PASSWORD: '' }, /AUTH_BOOTSTRAP_ADMIN_PASSWORD/],
    ]
    const settings = await someDatabase()
    await Promise.all(
      faults.map(async ([fault, message]) => {
        const { code, stderr } = await serveToItsEnd({ ...settings, ...bootstrap, ...fault })
        expect(code).toBe(1)
        expect(stderr).toMatch(/^gatehouse: [^\n]+\n$/)
        expect(stderr).toMatch(message)
      }),
    )
    expect(await admins(settings)).toEqual([])
  })

  test.runIf(onPostgres)('three servers that start together on an empty database create one admin', async () => {
    const settings = await emptyDatabase()
    const servers = await Promise.all([1, 2, 3].map(() => startInstance({ ...settings, ...bootstrap })))
    expect(await admins(settings)).toEqual([email])
    for (const server of servers) expect((await server.login(email, 'authctl')).status).toBe(200)
    await Promise.all(servers.map((server) => server.stop()))
  })
})

describe('create-admin', () => {
  const createAdmin = (settings: Record<string, string>, words: string[], input = `${PASSWORD}\n`) =>
    runGatehouse(['create-admin', ...words], settings, input)

  test('create-admin creates a system_admin on an empty database', async () => {
    const settings = await emptyDatabase()
    const { code, stdout, stderr } = await createAdmin(settings, ['--email', ' Root@Example.com', '--password-stdin'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('created')
    const server = await startInstance(settings)
    expect((await server.login(email, 'authctl')).status).toBe(200)
    await server.stop()
  })

  test.runIf(eachDatabase)(
    'create-admin refuses an existing address with 1, and --promote makes that user an admin',
    async () => {
      const settings = await someDatabase()
      expect((await createAdmin(settings, ['--email', email, '--password-stdin'])).code).toBe(0)
      const again = await createAdmin(settings, ['--email', email, '--password-stdin'], 'another password')
      expect(again.code).toBe(1)
      expect(again.stdout).toBe('')
      expect(again.stderr).toMatch(/^gatehouse: [^\n]*root@example\.com[^\n]*--promote[^\n]*\n$/)

      await withDatabase(settings, (db) => db('user_roles').where({ role_code: 'system_admin' }).delete())
      const promoted = await createAdmin(settings, ['--email', email, '--promote'], '')
      expect([promoted.code, promoted.stdout.includes('promoted')]).toEqual([0, true])
      expect((await createAdmin(settings, ['--email', email, '--promote', '--password-stdin'], 'another password')).code).toBe(0)
      expect(await admins(settings)).toEqual([email])
      const server = await startInstance(settings)
      expect((await server.login(email, 'authctl')).status).toBe(200)
      expect((await server.login(email, 'authctl', 'another password')).status).toBe(401)
      await server.stop()
    },
  )

  test('--promote refuses an unproven account, and --claim-unverified takes it over from a stranger', async () => {
    const settings = await someDatabase()
    expect((await createAdmin(settings, ['--email', email, '--password-stdin'])).code).toBe(0)
    const server = await startServer(settings)
    const { access_token: token } = (await server.login(email, 'authctl')).body
    const app = { code: 'shop', name: 'Shop', auto_grant_on_signup: true }
    expect((await server.call('POST', '/admin/apps', { token, body: app })).status).toBe(201)
    const target = 'boss@example.com'
    const body = { email: target, password: PASSWORD, app_code: 'shop' }
    const stranger = (await server.call('POST', '/auth/register', { body })).body

    const refused = await createAdmin(settings, ['--email', target, '--promote'], '')
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/^gatehouse: [^\n]*boss@example\.com[^\n]*--claim-unverified[^\n]*\n$/)
    expect((await createAdmin(settings, ['--email', target, '--password-stdin', '--claim-unverified'])).code).toBe(2)
    expect(await admins(settings)).toEqual([email])

    const claim = ['--email', target, '--promote', '--claim-unverified', '--password-stdin']
    const claimed = await createAdmin(settings, claim, 'the password of the boss')
    expect([claimed.code, claimed.stdout, claimed.stderr]).toEqual([0, `claimed and promoted ${target}\n`, ''])
    expect(await admins(settings)).toEqual([target, email])
    expect((await server.call('GET', '/auth/me', { token: stranger.access_token })).status).toBe(401)
    expect((await server.login(target, 'authctl')).status).toBe(401)
    expect((await server.login(target, 'authctl', 'the password of the boss')).status).toBe(200)
    await server.stop()
  })

  test.runIf(anyDatabase)('create-admin says what is wrong if it fails, and never shows the password', async () => {
    const settings = await someDatabase()
    const faults: [string[], string, number][] = [
      [['--email', email, '--promote'], '', 1],
      [['--email', email, '--password-stdin'], 'short', 1],
      [['--email', email, '--password-stdin'], '', 1],
      [['--email', 'nobody', '--password-stdin'], PASSWORD, 1],
      [['--password-stdin'], PASSWORD, 2],
      [['--email', email], PASSWORD, 2],
      [['--email', email, '--password', PASSWORD], '', 2],
    ]
    await Promise.all(
      faults.map(async ([words, input, exit]) => {
        const { code, stdout, stderr } = await createAdmin(settings, words, input)
        expect([code, stdout], words.join(' ')).toEqual([exit, ''])
        expect(stderr).toMatch(/^gatehouse: /)
        expect(stderr).not.toContain(PASSWORD)
        expect(stderr).not.toContain('    at ')
      }),
    )
    expect(await admins(settings)).toEqual([])
  })

  test.runIf(eachDatabase)('create-admin takes effect at once on a running server', async () => {
    const settings = await someDatabase()
    const server = await startInstance(settings)
    expect((await server.login(email, 'authctl')).body.code).toBe('invalid_credentials')
    expect((await createAdmin(settings, ['--email', email, '--password-stdin'])).code).toBe(0)
    expect((await server.login(email, 'authctl')).status).toBe(200)
    await server.stop()
  })
})

describe('app-secret', () => {
  test('app-secret prints the key of an app on stdout, beside a server, and says which one it is', async () => {
    const settings = { ...(await someDatabase()), ...bootstrap }
    const server = await startInstance(settings)
    const token = (await server.login(email, 'authctl')).body.access_token
    const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true }
    await server.call('POST', '/admin/apps', { token, body })
    const none = await runGatehouse(['app-secret', 'shop'], settings)
    expect([none.code, none.stdout, none.stderr]).toEqual([1, '', expect.stringContaining('no secret of its own')])
    const step = (name: string) => server.call('POST', '/admin/apps/shop/signing', { token, body: { step: name } })
    await step('prepare')
    const next = await runGatehouse(['app-secret', 'shop'], settings)
    expect([next.code, next.stdout]).toEqual([0, expect.stringMatching(/^[A-Za-z0-9_-]{43}\n$/)])
    expect(next.stderr).toContain('is accepted now and signs after the switch')
    await step('switch')
    const current = await runGatehouse(['app-secret', 'shop'], settings)
    expect([current.stdout, current.stderr]).toEqual([next.stdout, expect.stringContaining('signs')])
    const signedIn = await server.login(email, 'shop')
    const { kid } = JSON.parse(Buffer.from(signedIn.body.access_token.split('.')[0], 'base64url').toString())
    expect(kid).toBe(kidOf(current.stdout.trim()))
    expect((await runGatehouse(['app-secret', 'nope'], settings)).code).toBe(1)
    expect((await runGatehouse(['app-secret'], settings)).code).toBe(2)
  })
})

describe('migrate and check', () => {
  test('migrate brings an empty database up to date, and says so the second time', async () => {
    const settings = await emptyDatabase()
    const first = await runGatehouse(['migrate'], settings)
    expect([first.code, first.stderr]).toEqual([0, ''])
    expect(first.stdout).toMatch(/^applied 0001-initial/)
    const second = await runGatehouse(['migrate'], settings)
    expect([second.code, second.stdout]).toEqual([0, 'up to date\n'])
  })

  test.runIf(anyDatabase)('check ends with 0 for a sound database, and with 1 for faulty settings', async () => {
    const settings = await someDatabase()
    const [sound, faulty] = await Promise.all([
      runGatehouse(['check'], settings),
      runGatehouse(['check'], { ...settings, PORT: 'x' }),
    ])
    expect([sound.code, sound.stderr, faulty.code]).toEqual([0, '', 1])
    expect(faulty.stderr).toMatch(/^gatehouse: PORT [^\n]+\n$/)
  })

  test.runIf(eachDatabase)(
    'check ends with 1 if second factors, webhook or provider secrets are sealed under a lost key',
    async () => {
      const settings = await someDatabase()
      const lostBox = new SecretBox([Buffer.alloc(32, 1)]).seal('a secret', 'anywhere')
      await withDatabase(settings, async (db) => {
        const id = '0190a0a0-0000-7000-8000-000000000000'
        const made = { created_at: 1, updated_at: 1 }
        const names = { code: 'acme', issuer: 'https://id.example.com', client_id: 'x', scopes: '[]', enabled: 1 }
        await db('sso_providers').insert({ id, ...names, client_secret_box: lostBox, ...made })
        const webhook = { name: 'crm', url: 'https://a.b', events: [], enabled: true, secret_box: lostBox }
        await db('apps')
          .where({ code: 'authctl' })
          .update({ webhooks: JSON.stringify([webhook]) })
      })
      const { code, stderr } = await runGatehouse(['check'], settings)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^gatehouse: 1 webhook secrets, 1 provider secrets [^\n]*AUTH_ENCRYPTION_KEY_PREVIOUS\n$/)
      const keys = { AUTH_ENCRYPTION_KEY_PREVIOUS: Buffer.alloc(32, 1).toString('base64') }
      const mended = await runGatehouse(['check'], { ...settings, ...keys })
      expect([mended.code, mended.stdout]).toEqual([0, 'settings: ok\ndatabase: ok\nencryption key: ok\n'])
    },
  )

  test.runIf(onPostgres)('an unreachable database ends every command with 1, in one line and within seconds', async () => {
    const clock = startPatientClock()
    await Promise.all(
      ['check', 'serve', 'migrate'].map(async (command) => {
        const { code, stderr } = await runGatehouse([command], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
        expect(code, command).toBe(1)
        expect(stderr).toMatch(/^gatehouse: [^\n]+\n$/)
      }),
    )
    expect(clock()).toBeLessThan(60_000)
  })

  test.runIf(eachDatabase)('a schema made by a newer server is refused by every command, and left alone', async () => {
    const settings = await someDatabase()
    await withDatabase(settings, (db) => db('schema_migrations').insert({ name: '9999-tomorrow', checksum: '', applied_at: 1 }))
    await Promise.all(
      [['serve'], ['migrate'], ['check'], ['create-admin', '--email', email, '--password-stdin']].map(async (words) => {
        const { code, stderr } = await runGatehouse(words, settings, PASSWORD)
        expect(code, words[0]).toBe(1)
        expect(stderr).toMatch(/^gatehouse: [^\n]*newer[^\n]*9999-tomorrow[^\n]*\n$/)
      }),
    )
    expect(await admins(settings)).toEqual([])
  })

  test.runIf(eachDatabase)(
    'a schema made by another text of a migration is refused by every command, and left alone',
    async () => {
      const [edited, older] = await Promise.all([someDatabase(), someDatabase()])
      await withDatabase(edited, (db) => db('schema_migrations').update({ checksum: 'another' }))
      await withDatabase(older, (db) => db.schema.alterTable('schema_migrations', (t) => t.dropColumn('checksum')))
      const commands = [['serve'], ['migrate'], ['check'], ['create-admin', '--email', email, '--password-stdin']]
      for (const settings of [edited, older]) {
        for (const words of commands) {
          const { code, stderr } = await runGatehouse(words, settings, PASSWORD)
          expect(code, words[0]).toBe(1)
          expect(stderr).toMatch(/^gatehouse: [^\n]*different version of 0001-initial\b[^\n]*create a new database[^\n]*\n$/)
        }
        expect(await admins(settings)).toEqual([])
      }
    },
  )

  test.runIf(onPostgres)(
    'AUTH_AUTO_MIGRATE=false refuses the start while migrations are pending, and names the command',
    async () => {
      const settings = { ...(await emptyDatabase()), AUTH_AUTO_MIGRATE: 'false' }
      const { code, stderr } = await serveToItsEnd(settings)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^gatehouse: [^\n]*gatehouse migrate\n$/)
      expect(await runGatehouse(['check'], settings)).toMatchObject({ code: 1, stderr })
      expect((await runGatehouse(['migrate'], settings)).code).toBe(0)
      const server = await startInstance(settings)
      expect((await server.call('GET', '/ready')).status).toBe(200)
    },
  )

  test.runIf(!onPostgres)('AUTH_AUTO_MIGRATE=false does not stop serve from migrating an SQLite database', async () => {
    const server = await startInstance({ ...(await emptyDatabase()), AUTH_AUTO_MIGRATE: 'false' })
    expect((await server.call('GET', '/ready')).status).toBe(200)
    await server.stop()
  })
})

describe.runIf(anyDatabase)('settings of the program', () => {
  test('all faulty settings are listed one per line without their values, and the program ends with 1', async () => {
    const secret = 'too short a secret'
    const { code, stdout, stderr } = await serveToItsEnd({
      PORT: '99999',
      JWT_ACCESS_SECRET: secret,
      JWT_ACCESS_TTL_SECONDS: '1h',
      DATABASE_URL: 'mysql://root:hunter2@localhost/db',
      AUTH_CLIENT_OVERRIDES: 'some',
      AUTH_ALLOW_BASE_USER_LOGIN: 'maybe',
      AUTH_BOOTSTRAP_ADMIN_EMAIL: email,
    })
    expect([code, stdout]).toEqual([1, ''])
    const named = stderr
      .trimEnd()
      .split('\n')
      .map((line) => /^gatehouse: ([A-Z_]+) /.exec(line)?.[1])
    expect(named.sort()).toEqual([
      'AUTH_ALLOW_BASE_USER_LOGIN',
      'AUTH_BOOTSTRAP_ADMIN_EMAIL',
      'AUTH_CLIENT_OVERRIDES',
      'DATABASE_URL',
      'JWT_ACCESS_SECRET',
      'JWT_ACCESS_TTL_SECONDS',
      'PORT',
    ])
    for (const value of [secret, 'hunter2', '99999', '1h']) expect(stderr).not.toContain(value)
  })

  test('settings may come from a file, and the environment overrides it', async () => {
    const settings = await someDatabase()
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-env-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'settings.env')
    writeFileSync(file, `DATABASE_URL=${settings.DATABASE_URL}\nPORT=none\n`)
    expect((await runGatehouse(['check', '--env-file', file], {})).code).toBe(0)
    // Node looks for that option too, and may be the first to say that there is no such file.
    const missing = await runGatehouse(['check', '--env-file', join(folder, 'missing')], {})
    expect(missing.code).not.toBe(0)
    expect(missing.stderr).toMatch(/^[^\n]+\n$/)
  })

  test('unknown commands end with 2 and print the usage', async () => {
    await Promise.all(
      [['fly'], ['serve', 'twice'], ['serve', '--fast'], []].map(async (words) => {
        const { code, stdout, stderr } = await runGatehouse(words, {})
        expect(code, words.join(' ')).toBe(2)
        expect(stdout + stderr).toContain('Usage: gatehouse')
      }),
    )
  })
})

describe('the life of a server', () => {
  const freshServer = async (settings: Record<string, string> = {}): Promise<ServerProcess> =>
    startServer({ ...(await someDatabase()), ...bootstrap, ...settings })

  test('a restarted server accepts the access and refresh tokens that it issued before', async () => {
    const settings = await someDatabase()
    const first = await startServer({ ...settings, ...bootstrap })
    const login = (await first.login(email, 'authctl')).body
    expect(await first.stop()).toEqual({ code: 0, signal: null })
    const second = await startInstance(settings)
    expect((await second.call('GET', '/auth/me', { token: login.access_token })).status).toBe(200)
    const refreshed = await second.call('POST', '/auth/refresh', { body: { refresh_token: login.refresh_token } })
    expect(refreshed.status).toBe(200)
    await second.stop()
  })

  test.runIf(anyDatabase && process.platform === 'linux')('a server has all its hash threads from its first start', async () => {
    const { pid, stop } = await freshServer({ AUTH_HASH_THREADS: '3' })
    await expect.poll(() => niceThreadsOf(pid)).toBe(3)
    await stop()
  })

  test('a server killed by SIGKILL during registrations leaves only complete users', async () => {
    const settings = await someDatabase()
    const server = await startServer({ ...settings, ...bootstrap })
    const { access_token: token } = (await server.login(email, 'authctl')).body
    await server.call('POST', '/admin/apps', { body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true }, token })
    const register = (index: number) => {
      const body = { email: `user-${index}@example.com`, password: PASSWORD, app_code: 'shop', organization_name: 'Acme' }
      return server.call('POST', '/auth/register', { body }).catch(() => undefined)
    }
    const registrations = Array.from({ length: 40 }, (_, index) => register(index))
    await Promise.any(registrations)
    server.signal('SIGKILL')
    const replies = await Promise.all(registrations)
    await server.ended
    await withDatabase(settings, async (db) => {
      const users: string[] = await db('users').whereNot({ email }).pluck('id')
      const confirmed = replies.flatMap((reply) => (reply?.status === 201 ? [reply.body.user.id] : []))
      expect(confirmed.length).toBeGreaterThan(0)
      for (const id of confirmed) expect(users).toContain(id)
      for (const table of ['user_roles', 'user_apps', 'organization_memberships', 'sessions']) {
        const owners: string[] = await db(table).whereIn('user_id', users).pluck('user_id')
        expect([...owners].sort(), table).toEqual([...users].sort())
      }
    })
  })

  test.runIf(anyDatabase)(
    'a server ends with 0 on SIGTERM after answering requests in flight, and refuses new connections',
    async () => {
      const server = await freshServer()
      const { port, hostname } = new URL(server.url)
      const body = JSON.stringify({ email, password: PASSWORD, app_code: 'authctl' })
      const socket = connect(Number(port), hostname)
      let answer = ''
      socket.setEncoding('utf8').on('data', (text) => {
        answer += text
      })
      const closed = new Promise((resolve) => socket.once('close', resolve))
      const head = 'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
      socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body.slice(0, 10)}`)
      await server.call('GET', '/health')
      const ended = server.stop()
      // The rest is sent once the server is shutting down and takes no new connections.
      await expect.poll(() => callHttp(`${server.url}/api/v1/health`, 'GET').catch(() => 'refused')).toBe('refused')
      socket.write(body.slice(10))
      await closed
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      expect(answer).toContain('"access_token"')
      expect(await ended).toEqual({ code: 0, signal: null })
      expect(server.lines().at(-1)).toContain('"msg":"stopped"')
    },
  )

  test.runIf(anyDatabase)(
    'a server serves on for AUTH_SHUTDOWN_DELAY_SECONDS after SIGTERM, and is not ready from its start',
    async () => {
      const server = await freshServer({ AUTH_SHUTDOWN_DELAY_SECONDS: '6' })
      expect((await server.call('GET', '/ready')).status).toBe(200)
      const started = performance.now()
      const ended = server.stop()
      await expect.poll(async () => (await server.call('GET', '/ready')).status).toBe(503)
      // A request that a load balancer still sends here.
      expect((await server.login(email, 'authctl')).status).toBe(200)
      expect(await ended).toEqual({ code: 0, signal: null })
      expect(performance.now() - started).toBeGreaterThanOrEqual(6_000)
    },
  )

  test.runIf(anyDatabase)('a server ends on SIGTERM even if clients keep idle connections open', async () => {
    const server = await freshServer()
    const { port, hostname } = new URL(server.url)
    const sockets = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => {})
        await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
        socket.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n')
        await new Promise((resolve) => socket.once('data', resolve))
        return socket
      }),
    )
    const clock = startPatientClock()
    expect((await server.stop()).code).toBe(0)
    // Waiting for the connections to close would take 25 seconds.
    expect(clock()).toBeLessThan(20_000)
    for (const socket of sockets) socket.destroy()
  })

  test.runIf(anyDatabase)('a server logs one line of JSON per event, without passwords, tokens or hashes', async () => {
    const server = await freshServer({ LOG_LEVEL: 'trace' })
    const { body } = await server.login(email, 'authctl')
    await server.login(email, 'authctl', 'a wrong password')
    await server.call('GET', `/auth/me?token=${body.access_token}`, { token: body.access_token })
    await server.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    await server.stop()
    const lines = server.lines()
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), time: expect.any(String), msg: expect.any(String) })
    const text = lines.join('\n')
    for (const secret of [PASSWORD, 'a wrong password', body.access_token, body.refresh_token]) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/\$2[aby]\$\d\d/)
    expect(lines.filter((line) => line.includes('"msg":"request"')).length).toBeGreaterThanOrEqual(4)
  })

  test.runIf(anyDatabase)('a server whose port is taken ends with 1', async () => {
    const server = await startInstance(await someDatabase())
    const { code, stderr } = await serveToItsEnd({ ...(await someDatabase()), PORT: new URL(server.url).port })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^gatehouse: port \d+ on 127\.0\.0\.1 is taken; [^\n]*set another PORT\n$/)
  })
})

test.runIf(anyDatabase)(
  'a silent connection does not delay the end, and garbage instead of HTTP gets the usual answer',
  async () => {
    const server = await startServer(await someDatabase())
    const port = Number(new URL(server.url).port)
    const silent = connect(port, '127.0.0.1')
    const garbage = connect(port, '127.0.0.1')
    await Promise.all([once(silent, 'connect'), once(garbage, 'connect')])
    garbage.end('this is not HTTP\r\n\r\n')
    const answer = await text(garbage)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ status: 400, code: 'malformed_request' })

    const clock = startPatientClock()
    expect(await server.stop()).toMatchObject({ code: 0 })
    expect(clock()).toBeLessThan(20_000)
    silent.destroy()
  },
)
