// A Postgres and its standby: the service follows the one that takes writes, and never one that was replaced.
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { askPostgres } from '../support/ask-postgres.ts'
import { assertionOf, openEventStream } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { expectError } from '../support/expect-reply.ts'
import { type RunningPostgres, startPostgres, startStandby } from '../support/postgres.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin, callHttp, type Json, PASSWORD, type Reply, testDatabase } from '../support/service.ts'

const app = { code: 'shop' }
const keepsCommits = 'synchronous_commit = on'

async function startPair(settings = ''): Promise<{ primary: RunningPostgres; standby: RunningPostgres }> {
  const primary = await startPostgres({ settings: `${keepsCommits}\n${settings}` })
  onTestFinished(() => primary.stop())
  const standby = await startStandby(primary)
  onTestFinished(() => standby.stop())
  await expect.poll(() => ask(primary, 'select count(*) from pg_stat_replication'), { interval: 20 }).toBe('1')
  return { primary, standby }
}

const ask = ({ adminUrl }: RunningPostgres, statement: string) => askPostgres(adminUrl, statement)
const hostOf = (folder: string) => encodeURIComponent(folder)
const urlOf = (...hosts: RunningPostgres[]) => `postgres://postgres@${hosts.map(({ folder }) => hostOf(folder)).join()}/postgres`
/** Waits until the standby has everything committed so far. */
const repeated = (primary: RunningPostgres) =>
  expect
    .poll(() => ask(primary, 'select replay_lsn = pg_current_wal_lsn() from pg_stat_replication'), { interval: 20 })
    .toBe('true')
/** Brings a former primary back, as the standby of its successor. */
async function repeat(former: RunningPostgres, successor: RunningPostgres): Promise<void> {
  const cluster = join(former.folder, 'cluster')
  writeFileSync(join(cluster, 'standby.signal'), '')
  appendFileSync(join(cluster, 'postgresql.conf'), `primary_conninfo = 'host=${successor.folder} user=postgres'\n`)
  await former.resume()
}
const promote = (standby: RunningPostgres) => ask(standby, 'select pg_promote()')
const cutConnections = (to: RunningPostgres) =>
  ask(
    to,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse%' and pid <> pg_backend_pid()",
  )

async function startShop(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<ServerInstance & { token: string }> {
  const server = await startInstance({ ...bootstrapAdmin, ...settings, DATABASE_URL: databaseUrl })
  const token: string = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await server.call('POST', '/admin/apps', { token, body: { ...app, name: 'Shop', auto_grant_on_signup: true } })
  return { ...server, token }
}

const register = (server: ServerInstance): Promise<Reply> =>
  server.call('POST', '/auth/register', {
    body: { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app.code },
  })
const me = ({ call, token }: { token: string } & ServerInstance) => call('GET', '/auth/me', { token })

/** Registers users until that works. Earlier registrations are 503; the admin's session is good or cannot be looked up. */
async function expectBack(server: ServerInstance & { token: string }): Promise<Reply> {
  for (;;) {
    const [registered, own] = [await register(server), await me(server)]
    if (own.status !== 200) expectError(own, 'unavailable')
    if (registered.status === 201) return registered
    expectError(registered, 'unavailable')
  }
}

/** Waits until the server has no database: the last connections take a moment to end. */
const expectAway = (server: ServerInstance & { token: string }) => expect.poll(async () => (await me(server)).status).toBe(503)

describe.runIf(testDatabase() === 'postgres' && process.env.TEST_DATABASE_URL === undefined)('a Postgres with a standby', () => {
  test('the service uses the host that takes writes, finds it again after a failover, and the feed continues with a reset', async () => {
    const { primary, standby } = await startPair()
    const server = await startShop(urlOf(standby, primary))
    const before = (await register(server)).body
    const feed = `${server.url}/api/v1/revocations`
    const stream = await openEventStream(`${feed}/stream`, assertionOf(app))
    await server.call('POST', '/auth/logout', { body: { refresh_token: before.refresh_token } })
    const { id: cursor } = await stream.next(({ data }) => data.user_id === before.user.id)
    const poll = (since: unknown) => callHttp(`${feed}?since=${since}`, 'GET', { token: assertionOf(app) })
    await expect.poll(async () => (await poll((await poll(cursor)).body.cursor)).body).toMatchObject({ reset: false, items: [] })

    await repeated(primary)
    await primary.halt('immediate')
    expectError(await register(server), 'unavailable')
    await promote(standby)
    const after = (await expectBack(server)).body
    await stream.next(({ event }) => event === 'reset')
    await server.call('POST', '/auth/logout', { body: { refresh_token: after.refresh_token } })
    await stream.next(({ data }) => data.user_id === after.user.id)
    const page = (await poll(cursor)).body
    expect(page).toMatchObject({ reset: true, items: [{ user_id: before.user.id }, { user_id: after.user.id }] })
    expect((await poll(page.cursor)).body).toMatchObject({ reset: false })
    expect(stream.events.filter(({ event }) => event === 'reset')).toHaveLength(1)
  })

  test('all connections follow a failover there and back, and each failover resets the feed', async () => {
    const { primary, standby } = await startPair()
    const server = await startShop(urlOf(primary, standby))
    const stream = await openEventStream(`${server.url}/api/v1/revocations/stream`, assertionOf(app))
    const resets = () => stream.events.filter(({ event }) => event === 'reset').length
    await primary.halt('fast')
    await promote(standby)
    await expectBack(server)
    await expect.poll(resets).toBe(1)
    await repeat(primary, standby)
    await repeated(standby)
    await standby.halt('fast')
    await promote(primary)
    const { body } = await expectBack(server)
    await expect.poll(resets).toBe(2)
    await server.call('POST', '/auth/logout', { body: { refresh_token: body.refresh_token } })
    await stream.next(({ data }) => data.user_id === body.user.id)
  })

  test('a feed of many pages is read to its end after a failover, by poll and by stream', async () => {
    const { primary, standby } = await startPair()
    const server = await startShop(urlOf(primary, standby))
    await ask(
      primary,
      `insert into revocations (user_id, min_tv, at) select gen_random_uuid(), 1, ${Date.now()} from generate_series(1, 1200)`,
    )
    const ids = await ask(primary, 'select string_agg(user_id::text, \',\' order by user_id::text collate "C") from revocations')
    await repeated(primary)
    await primary.halt('immediate')
    await promote(standby)
    await expectBack(server)
    const feed = `${server.url}/api/v1/revocations`
    await expect.poll(() => ask(standby, "select lineage like '%/2' from feeds")).toBe('true')
    const read: string[] = []
    let page: Json = { cursor: 7, has_more: true }
    for (let pages = 0; page.has_more && pages < 30; pages += 1) {
      page = (await callHttp(`${feed}?since=${page.cursor}`, 'GET', { token: assertionOf(app) })).body
      expect(page.reset).toBe(pages === 0)
      read.push(...page.items.map(({ user_id }: Json) => user_id))
    }
    expect(read.sort().join()).toBe(ids)
    const stream = await openEventStream(`${feed}/stream`, assertionOf(app), { lastEventId: 7 })
    const heard = () => stream.events.filter(({ event }) => event !== 'reset').map(({ data }) => data.user_id)
    await expect.poll(() => heard().sort().join()).toBe(ids)
    expect(stream.events.map(({ event }) => event === 'reset').lastIndexOf(true)).toBe(0)
  })

  test('two servers that follow one failover reset the feed once, and each gets the events of the other', async () => {
    const { primary, standby } = await startPair()
    const one = await startShop(urlOf(primary, standby))
    const two = await startInstance({ DATABASE_URL: urlOf(primary, standby) })
    const open = (server: ServerInstance) => openEventStream(`${server.url}/api/v1/revocations/stream`, assertionOf(app))
    const streams = [await open(one), await open(two)]
    await repeated(primary)
    await primary.halt('immediate')
    await promote(standby)
    for (const stream of streams) await stream.next(({ event }) => event === 'reset')
    const { body } = await expectBack(one)
    await one.call('POST', '/auth/logout', { body: { refresh_token: body.refresh_token } })
    for (const stream of streams) await stream.next(({ data }) => data.user_id === body.user.id)
    for (const { events } of streams) expect(events.filter(({ event }) => event === 'reset')).toHaveLength(1)
    // Only one of the servers may reset the feed: after a second reset, readers would start over once more.
    const startedOverAt = [one, two].map((server) => {
      const lines = server.lines().map((line) => JSON.parse(line) as Json)
      return lines.filter(({ msg }) => /has failed over/.test(msg)).map(({ cursor }) => cursor)
    })
    const first = Number(await ask(standby, 'select cursor - 32 * (1 << 22) from feeds'))
    expect(startedOverAt).toEqual([[first], [first]])
  })

  test('a primary that comes back on its old timeline is not used, alone or with others', async () => {
    const { primary, standby } = await startPair()
    const server = await startShop(urlOf(primary, standby))
    await repeated(primary)
    await primary.halt('immediate')
    await promote(standby)
    await expectBack(server)
    await primary.resume()
    expect(await ask(primary, 'select pg_is_in_recovery()')).toBe('false')
    await cutConnections(standby)
    const { user } = (await expectBack(server)).body
    expect(await ask(standby, `select count(*) from users where id = '${user.id}'`)).toBe('1')
    await standby.halt('immediate')
    for (let round = 0; round < 20; round += 1) {
      expectError(await register(server), 'unavailable')
      expectError(await me(server), 'unavailable')
    }
    await standby.resume()
    await expectBack(server)
    expect(await ask(primary, `select count(*) from users where id = '${user.id}'`)).toBe('0')
  })

  test('a primary that stops answering is replaced by its successor, and not used when it answers again', async () => {
    const { primary, standby } = await startPair()
    const proxy = await startPostgresProxy(primary.adminUrl)
    const limits = { DB_ACQUIRE_TIMEOUT_MS: '1800', DB_STATEMENT_TIMEOUT_MS: '1000' }
    const server = await startShop(`postgres://postgres@${new URL(proxy.url).host},${hostOf(standby.folder)}/postgres`, limits)
    await repeated(primary)
    proxy.freeze(true)
    await promote(standby)
    const { user } = (await expectBack(server)).body
    proxy.freeze(false)
    const later = (await Promise.all(Array.from({ length: 20 }, () => register(server)))).map(({ body }) => body.user.id)
    const list = [user.id, ...later].map((id) => `'${id}'`).join()
    expect(await ask(standby, `select count(*) from users where id in (${list})`)).toBe('21')
  })

  test('behind one address that changes its Postgres, as with HAProxy, a primary on an old timeline is not used', async () => {
    const { primary, standby } = await startPair()
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-address-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const address = join(folder, 'current')
    const lead = (to: RunningPostgres) => {
      symlinkSync(to.folder, join(folder, 'next'))
      renameSync(join(folder, 'next'), address)
    }
    lead(primary)
    const server = await startShop(`postgres://postgres@${hostOf(address)}/postgres`)
    // The standby has to catch up first: otherwise it would answer with outdated rows.
    await repeated(primary)
    lead(standby)
    await cutConnections(primary)
    await expectAway(server)
    await promote(standby)
    await expectBack(server)
    lead(primary)
    await cutConnections(standby)
    await expectAway(server)
    for (let round = 0; round < 20; round += 1) expectError(await me(server), 'unavailable')
    expect(server.lines().join('\n')).toMatch(/on timeline 1, but this process has seen its successor on timeline 2/)
    lead(standby)
    await expectBack(server)
  })

  test('connections to a replaced primary that takes no writes are closed', async () => {
    const { primary, standby } = await startPair()
    const server = await startShop(urlOf(primary, standby))
    await repeated(primary)
    await promote(standby)
    // The former primary keeps running and closes no connection.
    await ask(primary, 'alter system set default_transaction_read_only = on')
    await ask(primary, 'select pg_reload_conf()')
    await expectBack(server)
    // The server has closed all of its connections to it, including those that only read.
    await expect
      .poll(() =>
        ask(primary, "select count(*) from pg_stat_activity where application_name = 'gatehouse' and pid <> pg_backend_pid()"),
      )
      .toBe('0')
  })

  test('a commit that waits for its standby is neither cancelled nor shown to others', async () => {
    const { primary, standby } = await startPair("synchronous_standby_names = '*'")
    const limits = { DB_ACQUIRE_TIMEOUT_MS: '2000', DB_STATEMENT_TIMEOUT_MS: '1000' }
    const server = await startShop(urlOf(primary, standby), limits)
    const { user } = (await register(server)).body
    const { id } = (await server.call('GET', `/admin/apps/${app.code}`, { token: server.token })).body
    const revoke = () => server.call('DELETE', `/admin/users/${user.id}/apps/${id}`, { token: server.token })
    const look = () => ask(primary, `select count(*) from user_apps where user_id = '${user.id}' and status = 'revoked'`)
    await ask(primary, "alter system set synchronous_standby_names = 'nobody'")
    await ask(primary, 'select pg_reload_conf()')
    const isCommitting = async () => {
      expectError(await revoke(), 'unavailable')
      return ask(primary, "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and query ~* '^commit'")
    }
    await expect.poll(isCommitting).toBe('1')
    for (let round = 0; round < 2; round += 1) expectError(await revoke(), 'unavailable')
    expect(await look()).toBe('0')
    await ask(primary, "alter system set synchronous_standby_names = '*'")
    await ask(primary, 'select pg_reload_conf()')
    await expect.poll(async () => (await revoke()).status).toBe(404)
    expect(await look()).toBe('1')
  })

  test('check and every other command refuse a server that only speaks the protocol of Postgres', async () => {
    const database = await createDatabase('postgres')
    onTestFinished(() => database.drop())
    const name = new URL(database.url).pathname.slice(1)
    // Found before Postgres's own version(), to imitate an engine that only speaks its protocol.
    const answer = (version: string) =>
      askPostgres(
        database.url,
        `create or replace function public.version() returns text language sql as $$ select '${version}' $$`,
      )
    await answer('CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)')
    await askPostgres(database.url, `alter database ${name} set search_path = public, pg_catalog`)
    const url = new URL(database.url)
    const twice = `postgres://postgres@${Array(2)
      .fill(hostOf(url.searchParams.get('host')!))
      .join()}/${name}`
    for (const command of ['check', 'migrate', 'serve']) {
      for (const DATABASE_URL of [database.url, twice]) {
        const { code, stderr } = await runGatehouse([command], { DATABASE_URL })
        expect(code, command).toBe(1)
        expect(stderr, command).toContain('the database is CockroachDB, not PostgreSQL')
      }
    }
    await answer('PostgreSQL 15.2-YB-2025.1.0.0-b168 on x86_64-pc-linux-gnu, compiled by clang version 19.1.6, 64-bit')
    const { code, stderr } = await runGatehouse(['check'], { DATABASE_URL: database.url })
    expect(code).toBe(1)
    expect(stderr).toContain('the database is YugabyteDB, not PostgreSQL')
  })

  test('the service does not start on a standby alone', async () => {
    const { standby } = await startPair()
    for (const url of [urlOf(standby), urlOf(standby, standby)]) {
      const { code, stderr } = await runGatehouse(['check'], { DATABASE_URL: url })
      expect(code).toBe(1)
      expect(stderr).toMatch(/a standby/)
    }
  })
})
