// A backup, what happens after it, and the restore: what was ended meanwhile stays ended, and consumers that
// stayed connected see what the service sees. SQLite is restored by the commands. On Postgres, an older state
// replaces the database under a running server.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createAuth } from '@gatehouse/sdk'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { Authenticator, askedIn } from '../support/authenticator.ts'
import { ACCESS_SECRET, ADMIN_EMAIL, bootstrapAdmin, claimsOf, type Json, PASSWORD, testDatabase } from '../support/client.ts'
import { assertionOf, openEventStream } from '../support/consumer.ts'
import { createDatabase, snapshotPostgres } from '../support/database.ts'
import { startMailbox, until } from '../support/mail-server.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'
import { askFor, type Visitor, visit } from '../support/sign-in-page.ts'

const onSqlite = testDatabase() === 'sqlite'
const otherPassword = 'another correct horse battery'

function someFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function someDatabase() {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  return database
}

/** A backend of the app that stays connected. `says` returns `ok` for a token, or the code of the refusal. */
async function startConsumer(url: string) {
  const events: string[] = []
  const onEvent = ({ type }: { type: string }) => void events.push(type)
  const auth = createAuth({ authUrl: url, appCode: 'notes', secret: ACCESS_SECRET, onEvent })
  onTestFinished(() => auth.close())
  await until(() => auth.health().revocation.connected)
  return {
    health: () => auth.health().revocation,
    async says(token: string) {
      const result = await auth.safeVerify(token)
      return result.ok ? 'ok' : result.error.code
    },
  }
}

const names = ['ada', 'bob', 'cem', 'dora', 'eve', 'hal'] as const
type Name = (typeof names)[number]

test('after a restore, everything ended since the backup is invalid, and connected consumers learn it', async () => {
  const database = await someDatabase()
  const mailbox = await startMailbox()
  const settings = { DATABASE_URL: database.url, SMTP_URL: mailbox.url, ...bootstrapAdmin }
  let server: ServerInstance = await startInstance(settings)
  const adminToken = async () => (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  let token = await adminToken()
  const admin = (method: string, path: string, body?: Json) => server.call(method, `/admin${path}`, { token, body })
  const app = (await admin('POST', '/apps', { code: 'notes', name: 'Notes', auto_grant_on_signup: true })).body
  const mail = (name: string) => `${name}@example.com`
  const users = {} as Record<Name, Json>
  for (const name of names) {
    const body = { email: mail(name), password: PASSWORD, app_code: 'notes' }
    users[name] = (await server.call('POST', '/auth/register', { body })).body
  }
  const logins = {} as Record<Name, Json>
  for (const name of names) logins[name] = (await server.login(mail(name), 'notes')).body
  const organization = (await admin('POST', '/organizations', { name: 'Acme', slug: 'acme' })).body
  const invitations = `/organizations/${organization.id}/invitations`
  const invited = { email: mail('hal'), role_codes: ['org_member'] }
  const invitation = (await admin('POST', invitations, invited)).body
  await server.call('POST', '/auth/password/forgot', { body: { email: mail('dora'), app_code: 'notes' } })
  const { token: resetToken } = await mailbox.take(mail('dora'), /password/i)
  const consumer = await startConsumer(server.url)
  for (const name of names) expect(await consumer.says(logins[name].access_token)).toBe('ok')

  // The backup.
  const file = join(someFolder(), 'backup.db')
  const snapshot = onSqlite ? undefined : await snapshotPostgres(database, inject('templates'))
  if (onSqlite) expect(await runGatehouse(['backup', file], settings)).toMatchObject({ code: 0, stderr: '' })

  // What the restore loses.
  await until(async () => (await server.call('GET', '/ready')).status === 200)
  const refresh = (login: Json) => server.call('POST', '/auth/refresh', { body: { refresh_token: login.refresh_token } })
  const later = {
    bob: (await refresh(logins.bob)).body,
    gus: (await server.call('POST', '/auth/register', { body: { email: mail('gus'), password: PASSWORD, app_code: 'notes' } }))
      .body,
  }
  expect((await admin('PATCH', `/users/${users.ada.user.id}`, { status: 'suspended' })).status).toBe(200)
  expect((await server.call('POST', '/auth/logout', { body: { refresh_token: later.bob.refresh_token } })).status).toBe(204)
  expect((await admin('DELETE', `/users/${users.cem.user.id}/apps/${app.id}`)).status).toBeLessThan(300)
  expect(
    (await server.call('POST', '/auth/password/reset', { body: { token: resetToken, password: otherPassword } })).status,
  ).toBe(204)
  expect((await admin('DELETE', `/users/${users.eve.user.id}`)).status).toBe(204)
  expect((await admin('DELETE', `${invitations}/${invitation.id}`)).status).toBe(204)
  for (const name of ['ada', 'bob', 'cem', 'dora', 'eve'] as const)
    await until(
      async () => (await consumer.says(logins[name].access_token)) === 'TOKEN_REVOKED',
      `${name} is known to the consumer`,
    )
  expect(await consumer.says(logins.hal.access_token)).toBe('ok')

  // The restore.
  if (snapshot) {
    await snapshot.restore()
    expect(await runGatehouse(['finish-restore'], settings)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ended \d+ sessions, \d+ mail links, 1 invitations, and every access token\n$/),
    })
  } else {
    expect(await runGatehouse(['restore', file, '--force'], settings)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/in use: stop the server/),
    })
    await server.stop()
    expect(await runGatehouse(['restore', file, '--force'], settings)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^restored .*\nthe replaced database is kept as .*\nended \d+ sessions, .*, 1 invitations, .*\n$/,
      ),
    })
    server = await startInstance({ ...settings, PORT: new URL(server.url).port })
  }

  // Everything that was issued before, revoked or not, is dead at the service.
  await until(async () => (await server.call('GET', '/ready')).status === 200)
  const before = [...Object.values(logins), later.bob, later.gus]
  for (const login of before) {
    const me = await server.call('GET', '/auth/me', { token: login.access_token })
    expect(me).toMatchObject({ status: 401, body: { code: 'token_revoked' } })
    expect(await refresh(login)).toMatchObject({ status: 401, body: { code: 'invalid_refresh_token' } })
  }
  const reset = await server.call('POST', '/auth/password/reset', { body: { token: resetToken, password: otherPassword } })
  expect(reset).toMatchObject({ status: 400, body: { code: 'invalid_token' } })
  // And at the consumer.
  for (const login of before)
    await until(
      async () => (await consumer.says(login.access_token)) === 'TOKEN_REVOKED',
      'the consumer refuses a token from before',
    )

  // A user who signs in again is let in at once, also by the consumer, even if the token version is lower than one that the
  // consumer knew.
  const dora = (await server.login(mail('dora'), 'notes')).body
  const hal = (await server.login(mail('hal'), 'notes')).body
  expect(claimsOf(dora.access_token).tv).toBe(0)
  for (const login of [dora, hal]) {
    expect((await server.call('GET', '/auth/me', { token: login.access_token })).status).toBe(200)
    await until(async () => (await consumer.says(login.access_token)) === 'ok', 'the consumer lets in a user who signed in again')
  }
  const accepted = await server.call('POST', '/auth/invitations/accept', {
    token: hal.access_token,
    body: { token: invitation.token },
  })
  expect(accepted).toMatchObject({ status: 400, body: { code: 'invalid_invitation' } })

  // The feed goes on.
  expect((await server.call('POST', '/auth/logout', { body: { refresh_token: hal.refresh_token } })).status).toBe(204)
  await until(async () => (await consumer.says(hal.access_token)) === 'TOKEN_REVOKED', 'the consumer hears of a logout')
  expect(await consumer.says(dora.access_token)).toBe('ok')
  expect(consumer.health().connected).toBe(true)

  token = await adminToken()
  const { items } = (await admin('GET', '/audit?event=service.restored')).body
  expect(items).toMatchObject([{ actor: { type: 'system' }, details: { invitations: 1, min_iat: expect.any(Number) } }])
})

describe('the feed after a restore', () => {
  test('the feed starts over once for every earlier cursor, even if the database has issued it again', async () => {
    const database = await someDatabase()
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const server = await startInstance(settings)
    const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
    await server.call('POST', '/admin/apps', { token, body: { code: 'notes', name: 'Notes', auto_grant_on_signup: true } })
    const credentials = { email: 'ada@example.com', password: PASSWORD, app_code: 'notes' }
    await server.call('POST', '/auth/register', { body: credentials })
    const logOut = async () => {
      const { refresh_token } = (await server.call('POST', '/auth/login', { body: credentials })).body
      await server.call('POST', '/auth/logout', { body: { refresh_token } })
    }
    const poll = async (query: string) =>
      (await server.call('GET', `/revocations${query}`, { token: assertionOf({ code: 'notes' }) })).body
    await logOut()
    const { cursor: seen } = await poll('?form=2')
    const stream = await openEventStream(`${server.url}/api/v1/revocations/stream?form=2`, assertionOf({ code: 'notes' }), {
      lastEventId: seen,
    })
    const oldStream = await openEventStream(`${server.url}/api/v1/revocations/stream`, assertionOf({ code: 'notes' }), {
      lastEventId: seen,
    })
    expect((await poll(`?form=2&since=${seen + 10 ** 12}`)).reset).toBe(true)
    expect(server.lines().filter((line) => line.includes('run gatehouse finish-restore'))).toHaveLength(1)

    expect((await runGatehouse(['finish-restore'], settings)).code).toBe(0)
    expect((await stream.next(({ event }) => event === 'reset')).data).toEqual({})
    const first = (await stream.next(({ data }) => data.min_iat !== undefined)).data
    expect(first).toMatchObject({ user_id: null, app_id: null, session_id: null, min_tv: null })
    await oldStream.next(({ event }) => event === 'reset')
    const everybody = { user_id: null, app_id: null, min_iat: first.min_iat }

    await logOut()
    for (const since of [0, seen, seen + 1]) {
      const page = await poll(`?form=2&since=${since}`)
      expect(page).toMatchObject({ reset: true, has_more: false, items: [everybody, { session_id: expect.any(String) }] })
      expect(await poll(`?form=2&since=${page.cursor}`)).toMatchObject({ reset: false })
    }
    expect(await poll('?form=2')).toMatchObject({ reset: false, items: [everybody, {}] })
    const rest = await poll(`?form=2&since=${first.cursor}`)
    expect(rest).toMatchObject({ reset: false })
    expect(rest.items.at(-1)).toMatchObject({ session_id: expect.any(String) })
    // Readers that do not know events about everybody still start over.
    expect(await poll(`?since=${seen}`)).toMatchObject({ reset: true, items: [{ session_id: expect.any(String) }] })

    // After all of its rows have been cleaned up, the feed still knows which cursors are from before.
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
    try {
      await db('revocations').delete()
    } finally {
      await db.destroy()
    }
    const empty = await poll(`?form=2&since=${seen}`)
    expect(empty).toMatchObject({ reset: true, items: [] })
    expect(await poll(`?form=2&since=${empty.cursor}`)).toMatchObject({ reset: false, items: [] })

    // A second restore goes on from there.
    expect((await runGatehouse(['finish-restore'], settings)).code).toBe(0)
    const again = await poll(`?form=2&since=${empty.cursor}`)
    expect(again.reset).toBe(true)
    expect(again.cursor).toBeGreaterThan(first.cursor)
  })
})

test('a restore names apps whose own keys changed since, and invalidates earlier device tokens', async () => {
  const database = await someDatabase()
  const settings = { DATABASE_URL: database.url, AUTH_LOCKOUT_THRESHOLD: '2', ...bootstrapAdmin }
  let server: ServerInstance = await startInstance(settings)
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const admin = (method: string, path: string, body?: Json) => server.call(method, `/admin${path}`, { token, body })
  const step = async (code: string, step: string) => {
    const query = step === 'finish' ? '?force=true' : ''
    expect(await admin('POST', `/apps/${code}/signing${query}`, { step })).toMatchObject({ status: 200 })
  }
  const steps = ['prepare', 'switch', 'finish']
  for (const code of ['kept', 'leaked', 'later', 'shared'])
    await admin('POST', '/apps', { code, name: code, auto_grant_on_signup: true })
  for (const code of ['kept', 'leaked']) for (const each of steps) await step(code, each)
  const register = { email: 'ada@example.com', password: PASSWORD, app_code: 'kept' }
  const { device_token, user } = (await server.call('POST', '/auth/register', { body: register })).body
  const logIn = (password: string, device?: string) =>
    server.call('POST', '/auth/login', { body: { ...register, password, device_token: device } })
  const lock = async () => {
    for (let tries = 0; tries < 2; tries += 1) await logIn(otherPassword)
  }
  await lock()
  expect((await logIn(PASSWORD)).status).toBe(423)
  expect((await logIn(PASSWORD, device_token)).status).toBe(200)

  const file = join(someFolder(), 'backup.db')
  const snapshot = onSqlite ? undefined : await snapshotPostgres(database, inject('templates'))
  if (onSqlite) expect((await runGatehouse(['backup', file], settings)).code).toBe(0)
  for (const each of steps) await step('leaked', each)
  await step('later', 'prepare')
  await server.stop()

  if (snapshot) {
    await snapshot.restore()
    const { stdout } = await runGatehouse(['finish-restore'], settings)
    expect(stdout).toMatch(/\nsigning keys of these apps are as they were at the backup: kept, leaked\. /)
    const nameOf = ({ url }: { url: string }) => new URL(url).pathname.slice(1)
    const same = await runGatehouse(['finish-restore', '--replaced', nameOf(database)], settings)
    expect(same).toMatchObject({ code: 0, stdout: expect.not.stringContaining('signing keys') })
    const other = await runGatehouse(['finish-restore', '--replaced', nameOf(await someDatabase())], settings)
    expect(other).toMatchObject({ code: 0, stdout: expect.stringContaining('since the backup are as they were: kept, leaked.') })
    expect((await runGatehouse(['finish-restore', '--replaced', 'no_such_database'], settings)).code).toBe(1)
  } else {
    const { stdout } = await runGatehouse(['restore', file, '--force'], settings)
    expect(stdout).toMatch(/\nsigning keys that changed since the backup are as they were: later, leaked\. /)
    const [, kept = ''] = /kept as (.*)/.exec(stdout) ?? []
    const again = await runGatehouse(['finish-restore', '--replaced', kept], settings)
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(': later, leaked.') })
    const alone = await runGatehouse(['finish-restore'], settings)
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining('at the backup: kept, leaked.') })
    expect(await runGatehouse(['finish-restore', '--replaced', `${kept}-none`], settings)).toMatchObject({ code: 1, stdout: '' })
  }

  server = await startInstance(settings)
  // The lock is in the backup too.
  expect((await logIn(PASSWORD, device_token)).status).toBe(423)
  const again = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await server.call('POST', `/admin/users/${user.id}/unlock`, { token: again })
  const fresh = await logIn(PASSWORD, device_token)
  expect(fresh.status).toBe(200)
  await lock()
  expect((await logIn(PASSWORD, device_token)).status).toBe(423)
  expect((await logIn(PASSWORD, fresh.body.device_token)).status).toBe(200)
})

test('a restore keeps passkeys with their counters, no old answer works again, and undo and erase reach them', async () => {
  const database = await someDatabase()
  const mailbox = await startMailbox()
  const origin = 'https://login.example.com'
  const settings = { DATABASE_URL: database.url, SMTP_URL: mailbox.url, PUBLIC_URL: origin, ...bootstrapAdmin }
  let server: ServerInstance = await startInstance(settings)
  const adminToken = async () => (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  let token = await adminToken()
  const admin = (method: string, path: string, body?: Json) => server.call(method, `/admin${path}`, { token, body })
  const allowed_redirect_urls = ['https://notes.example/cb']
  const app = (await admin('POST', '/apps', { code: 'notes', name: 'Notes', auto_grant_on_signup: true, allowed_redirect_urls }))
    .body
  const people = ['ada', 'bob', 'cem', 'eve'] as const
  const users = {} as Record<(typeof people)[number], Json>
  for (const name of people) {
    const body = { email: `${name}@example.com`, password: PASSWORD, app_code: 'notes' }
    users[name] = (await server.call('POST', '/auth/register', { body })).body.user
    const verify = await mailbox.take(body.email, /./)
    await server.call('POST', '/auth/email/verify', { body: { token: verify.token, password: PASSWORD } })
  }
  const add = async (email: string, device: Authenticator, visitor = visit(server)) => {
    const first = await visitor.get('/account/passkeys?app=notes')
    const page = await visitor.send(first, 'Sign in', { email, password: PASSWORD })
    const passkey = device.create(askedIn(page)!)
    expect((await visitor.send(page, 'Add a passkey', { passkey, name: 'Laptop' })).html).toContain('Remove Laptop')
  }
  /** The form that signs in with a passkey, filled in. */
  const signed = async (device: Authenticator, visitor: Visitor, count?: number) => {
    const page = await visitor.get(askFor(app).path)
    const passkey = device.get(askedIn(page)!, count === undefined ? {} : { count })
    return { page, values: { ...page.forms.find(({ values }) => values.step === 'sign_in')!.values, passkey } }
  }
  const signIn = async (device: Authenticator, visitor = visit(server), count?: number) => {
    const { page, values } = await signed(device, visitor, count)
    return visitor.send(page, 'Sign in', { passkey: values.passkey })
  }
  const passkeysOf = async ({ id }: Json) => (await admin('GET', `/users/${id}/passkeys`)).body.items as Json[]
  const devices = { ada: new Authenticator(origin), bob: new Authenticator(origin), cem: new Authenticator(origin) }
  devices.ada.count = 5
  await add('ada@example.com', devices.ada)
  await add('cem@example.com', devices.cem)
  expect((await signIn(devices.ada)).app).toBeDefined()

  const file = join(someFolder(), 'backup.db')
  const snapshot = onSqlite ? undefined : await snapshotPostgres(database, inject('templates'))
  if (onSqlite) expect((await runGatehouse(['backup', file], settings)).code).toBe(0)

  // After the backup: two more uses, of which a thief has seen the last one whole; a new passkey; and one that is removed.
  for (const _ of [1, 2]) expect((await signIn(devices.ada)).app).toBeDefined()
  const seen = visit(server)
  const { values } = await signed(devices.ada, seen)
  await seen.post(`${server.url}/oauth/authorize`, values)
  expect(seen.cookies.has('__Host-gatehouse_session')).toBe(true)
  await add('bob@example.com', devices.bob)
  const [removed] = await passkeysOf(users.cem)
  await admin('DELETE', `/users/${users.cem.id}/passkeys/${removed?.id}`)
  if (snapshot) {
    await snapshot.restore()
    expect((await runGatehouse(['finish-restore'], settings)).code).toBe(0)
  } else {
    await server.stop()
    expect((await runGatehouse(['restore', file, '--force'], settings)).code).toBe(0)
    server = await startInstance({ ...settings, PORT: new URL(server.url).port })
  }
  await until(async () => (await server.call('GET', '/ready')).status === 200)
  token = await adminToken()

  // The browser is signed out, and what it once sent signs nobody in.
  expect((await seen.get('/account/passkeys?app=notes')).title).toBe('Sign in')
  seen.cookies.delete('__Host-gatehouse_session')
  await seen.post(`${server.url}/oauth/authorize`, values)
  expect(seen.cookies.has('__Host-gatehouse_session')).toBe(false)
  // The counter is that of the backup, 6: the device is ahead of it, and a copy from before is not.
  expect((await signIn(devices.ada, visit(server), 6)).html).toContain('does not work here')
  expect((await signIn(devices.ada)).app).toBeDefined()
  expect((await signIn(devices.ada, visit(server), 8)).html).toContain('does not work here')
  const { items } = (await admin('GET', `/audit?event=passkey.counter_mismatch&user_id=${users.ada.id}`)).body
  expect(items).toHaveLength(2)
  // One that was added since is gone, and can be added again; one that was removed since is back.
  expect((await signIn(devices.bob)).html).toContain('does not work here')
  await add('bob@example.com', devices.bob)
  expect((await signIn(devices.bob)).app).toBeDefined()
  expect((await signIn(devices.cem)).app).toBeDefined()

  // Undoing a change of the address tells the restored passkey from one that is newer than the change.
  const changed = 'ada-new@example.com'
  const own = (await server.login('ada@example.com', 'notes')).body.access_token
  await server.call('POST', '/auth/email/change', { token: own, body: { email: changed, password: PASSWORD } })
  const link = await mailbox.take(changed, /./)
  await server.call('POST', '/auth/email/change/confirm', { token: own, body: { token: link.token } })
  const thief = new Authenticator(origin)
  await add(changed, thief)
  expect(await passkeysOf(users.ada)).toHaveLength(2)
  const undo = await mailbox.take('ada@example.com', /changed|undo/i)
  expect((await server.call('POST', '/auth/email/change/undo', { body: { token: undo.token } })).status).toBe(200)
  expect(await passkeysOf(users.ada)).toHaveLength(1)
  expect((await signIn(thief)).html).toContain('does not work here')
  expect((await signIn(devices.ada)).app).toBeDefined()
  // Erasing leaves none, of a restored passkey too.
  expect((await admin('DELETE', `/users/${users.cem.id}?erase=true`)).status).toBeLessThan(300)
  expect((await signIn(devices.cem)).html).toContain('does not work here')
  const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
  try {
    expect(await db('passkeys').where({ user_id: users.cem.id })).toEqual([])
  } finally {
    await db.destroy()
  }
})

/** The log of a database whose process was killed, with the backup that was made before it. Deletes the database. */
async function leaveLog(file: string): Promise<{ log: Buffer; backup: string }> {
  const settings = { DATABASE_URL: `sqlite:${file}` }
  expect((await runGatehouse(['migrate'], settings)).code).toBe(0)
  const backup = `${file}.backup`
  expect((await runGatehouse(['backup', backup], settings)).code).toBe(0)
  const db = createKnex({ databaseUrl: settings.DATABASE_URL, dbPoolMax: 1 })
  await db.raw('create table after_the_backup (a)')
  const log = readFileSync(`${file}-wal`)
  await db.destroy()
  rmSync(file)
  return { log, backup }
}

async function hasTable(file: string, name: string): Promise<boolean> {
  const db = createKnex({ databaseUrl: `sqlite:${file}`, dbPoolMax: 1 })
  onTestFinished(() => db.destroy())
  return (await db('sqlite_master').where({ name })).length > 0
}

describe.runIf(onSqlite)('the command backup', () => {
  test('backup never replaces a file of the database, whatever its name, even with --force beside a server', async () => {
    const folder = someFolder()
    const file = join(folder, 'gatehouse.db')
    const settings = { DATABASE_URL: `sqlite:${file}`, ...bootstrapAdmin }
    const server = await startInstance(settings)
    await until(() => existsSync(`${file}-wal`) && existsSync(`${file}-shm`))
    const aliases = ['gatehouse.db', 'gatehouse.db-wal', 'gatehouse.db-shm'].flatMap((name) => {
      linkSync(join(folder, name), join(folder, `hard-${name}`))
      symlinkSync(join(folder, name), join(folder, `soft-${name}`))
      return [name, `hard-${name}`, `soft-${name}`]
    })
    mkdirSync(join(folder, 'sub'))
    symlinkSync(folder, join(folder, 'sub', 'up'))
    // The log of a backup with this name would be the database.
    linkSync(file, join(folder, 'other-wal'))
    // A file that SQLite would use, and that is not there now.
    const targets = [
      ...aliases,
      'sub/../gatehouse.db',
      'sub/up/gatehouse.db-wal',
      'gatehouse.db-journal',
      'sub/up/gatehouse.db-journal',
      'other',
    ]
    const names = () => readdirSync(folder).sort()
    const before = [names(), statSync(file).ino]
    for (const target of targets) {
      for (const force of [[], ['--force']]) {
        const { code, stderr } = await runGatehouse(['backup', join(folder, target), ...force], settings)
        expect({ target, force, code, stderr }).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/a file of the database; back up/),
        })
      }
    }
    // The setting itself may be a link, of a name that has no files beside it.
    mkdirSync(join(folder, 'elsewhere'))
    symlinkSync(file, join(folder, 'elsewhere', 'link.db'))
    const linked = { DATABASE_URL: `sqlite:${join(folder, 'elsewhere', 'link.db')}` }
    expect(await runGatehouse(['backup', `${file}-wal`, '--force'], linked)).toMatchObject({ code: 1 })
    expect([names().filter((name) => name !== 'elsewhere'), statSync(file).ino]).toEqual(before)
    expect((await server.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
    expect((await runGatehouse(['backup', join(folder, 'good.db')], settings)).code).toBe(0)
  })

  test('backup writes a file and replaces only a file, not a device, pipe, socket, folder or link to one', async () => {
    const settings = { DATABASE_URL: (await someDatabase()).url, ...bootstrapAdmin }
    await startInstance(settings)
    const folder = someFolder()
    const server = createServer().listen(join(folder, 'socket'))
    onTestFinished(() => void server.close())
    execFileSync('mkfifo', [join(folder, 'pipe')])
    mkdirSync(join(folder, 'folder'))
    symlinkSync('pipe', join(folder, 'link'))
    // A device cannot be made without rights, and replacing a real one would break the machine.
    const before = readdirSync(folder).sort()
    for (const target of before.map((name) => join(folder, name))) {
      const { code, stderr } = await runGatehouse(['backup', target, '--force'], settings)
      expect({ code, stderr }).toEqual({ code: 1, stderr: `gatehouse: ${target} is not a file\n` })
    }
    // Nor does a restore read from one, or replace one.
    const backup = join(someFolder(), 'backup.db')
    expect((await runGatehouse(['backup', backup], settings)).code).toBe(0)
    const [pipe, socket] = [join(folder, 'pipe'), join(folder, 'socket')]
    for (const [source, database, named] of [
      [socket, settings.DATABASE_URL, socket],
      [backup, `sqlite:${pipe}`, pipe],
    ] as const) {
      const { code, stderr } = await runGatehouse(['restore', source, '--force'], { ...settings, DATABASE_URL: database })
      expect({ code, stderr }).toEqual({ code: 1, stderr: `gatehouse: ${named} is not a file\n` })
    }
    expect(readdirSync(folder).sort()).toEqual(before)
    expect(lstatSync(join(folder, 'pipe')).isFIFO()).toBe(true)
    expect(lstatSync(join(folder, 'socket')).isSocket()).toBe(true)
    expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true)
  })

  test('backup copies a database in use to a file of mode 0600, and replaces a file only with --force', async () => {
    const settings = { DATABASE_URL: (await someDatabase()).url, ...bootstrapAdmin }
    await startInstance(settings)
    const folder = someFolder()
    const file = join(folder, 'backup.db')
    expect(await runGatehouse(['backup', file], settings)).toMatchObject({
      code: 0,
      stdout: `backed up to ${file}\n`,
      stderr: '',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['backup.db'])
    const bytes = readFileSync(file)

    const second = await runGatehouse(['backup', file], settings)
    expect(second).toMatchObject({ code: 1, stderr: `gatehouse: ${file} exists; --force replaces it\n` })
    expect(readFileSync(file).equals(bytes)).toBe(true)
    expect((await runGatehouse(['backup', file, '--force'], settings)).code).toBe(0)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['backup.db'])
  })

  test('a backup is right even if the log of another database lies beside it', async () => {
    const folder = someFolder()
    const file = join(folder, 'backup.db')
    const settings = { DATABASE_URL: (await someDatabase()).url }
    const { log } = await leaveLog(join(folder, 'other.db'))
    writeFileSync(`${file}-wal`, log)
    const refused = await runGatehouse(['backup', file], settings)
    expect(refused).toMatchObject({ code: 1, stderr: `gatehouse: ${file}-wal exists; --force replaces it\n` })
    expect((await runGatehouse(['backup', file, '--force'], settings)).code).toBe(0)
    expect(await hasTable(file, 'after_the_backup')).toBe(false)
  })

  test('a failed backup leaves nothing behind', async () => {
    const settings = { DATABASE_URL: (await someDatabase()).url }
    const folder = someFolder()
    const none = { DATABASE_URL: `sqlite:${join(folder, 'none.db')}` }
    const cases: [string[], Record<string, string>, RegExp][] = [
      [['backup', join(folder, 'copy.db')], none, /there is no database at/],
      [['backup', join(folder, 'absent', 'copy.db')], settings, /ENOENT|no such file/],
      [['backup', join(folder, 'copy.db')], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, /pg_dump/],
    ]
    for (const [words, settings, message] of cases)
      expect(await runGatehouse(words, settings)).toMatchObject({ code: 1, stderr: expect.stringMatching(message) })
    expect(await runGatehouse(['backup'], settings)).toMatchObject({ code: 2 })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe.runIf(onSqlite)('the command restore', () => {
  test('restore refuses a damaged, foreign or newer backup unchanged, and an existing target without --force', async () => {
    const database = await someDatabase()
    const settings = { DATABASE_URL: database.url }
    const target = database.url.slice('sqlite:'.length)
    const folder = someFolder()
    const backup = join(folder, 'backup.db')
    expect((await runGatehouse(['backup', backup], settings)).code).toBe(0)
    const changed = async (name: string, sql: string) => {
      const file = join(folder, name)
      writeFileSync(file, readFileSync(backup))
      const db = createKnex({ databaseUrl: `sqlite:${file}`, dbPoolMax: 1 })
      await db.raw(sql)
      await db.destroy()
      return file
    }
    const newer = await changed(
      'newer.db',
      "insert into schema_migrations (name, checksum, applied_at) values ('9999-tomorrow', '', 1)",
    )
    const foreign = await changed('foreign.db', 'drop table schema_migrations')
    const damaged = join(folder, 'damaged.db')
    writeFileSync(damaged, readFileSync(backup))
    truncateSync(damaged, statSync(backup).size / 2)
    const bytes = readFileSync(target)

    const cases: [string[], RegExp][] = [
      [[backup], /exists; --force replaces it/],
      [[damaged, '--force'], /is damaged/],
      [[foreign, '--force'], /not a Gatehouse backup/],
      [[newer, '--force'], /newer than this server/],
      [[join(folder, 'none.db'), '--force'], /there is no backup at/],
    ]
    for (const [words, message] of cases)
      expect(await runGatehouse(['restore', ...words], settings)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(message),
      })
    expect(readFileSync(target).equals(bytes)).toBe(true)
    const beside = readdirSync(dirname(target)).filter((name) => name.startsWith(basename(target)))
    expect(beside).toEqual([basename(target)])
  })

  test('restore after the deletion of a database brings back nothing from the remaining log', async () => {
    const file = join(someFolder(), 'gatehouse.db')
    const { log, backup } = await leaveLog(file)
    writeFileSync(`${file}-wal`, log)
    const settings = { DATABASE_URL: `sqlite:${file}` }
    expect(await runGatehouse(['restore', backup], settings)).toMatchObject({ code: 0, stderr: '' })
    expect(await hasTable(file, 'after_the_backup')).toBe(false)
    expect(readdirSync(dirname(file)).filter((name) => name.endsWith('-wal') && name.includes('.replaced-'))).toHaveLength(1)
  })

  test('restore creates a missing database, and replaces a damaged one, which it keeps', async () => {
    const settings = { DATABASE_URL: (await someDatabase()).url }
    const folder = someFolder()
    const backup = join(folder, 'backup.db')
    expect((await runGatehouse(['backup', backup], settings)).code).toBe(0)
    const target = join(folder, 'restored.db')
    const restored = { DATABASE_URL: `sqlite:${target}` }
    expect(await runGatehouse(['restore', backup], restored)).toMatchObject({ code: 0, stderr: '' })
    expect(statSync(target).mode & 0o777).toBe(0o600)
    expect(await runGatehouse(['check'], restored)).toMatchObject({ code: 0 })

    writeFileSync(target, 'no database at all')
    const outcome = await runGatehouse(['restore', backup, '--force'], restored)
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    const kept = /kept as (.*)/.exec(outcome.stdout)![1]!
    expect(readFileSync(kept, 'utf8')).toBe('no database at all')
    expect(await runGatehouse(['check'], restored)).toMatchObject({ code: 0 })
  })
})
