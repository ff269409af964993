// What apps that keep a table of users learn about them.
import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { readAppSecret } from '../../packages/server/src/resources/apps/apps.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { restartFeeds } from '../../packages/server/src/resources/feeds/feeds.ts'
import { finishRestore } from '../../packages/server/src/resources/system/finish-restore.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { assertionOf } from '../support/consumer.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type TestService, testDatabase } from '../support/service.ts'

const daySeconds = 86_400
const shared = serviceFixture()

interface Reader {
  app: Json
  read(since?: number): Promise<Json>
  /** What is new since the last call, without repetitions. */
  next(): Promise<string[]>
}

/** An app, and a service account that reads the changes of its users. */
async function buildReader(service: TestService = shared, settings: Json = {}): Promise<Reader> {
  const app = await buildApp(service, { auto_grant_on_signup: true, ...settings })
  const body = { name: randomUUID(), service: 'crm', scopes: ['users:changes'], app_codes: [app.code] }
  const { token } = (await service.admin('POST', '/admin/service-accounts', { body })).body
  const read = async (since?: number) => {
    const query = since === undefined ? '' : `&since=${since}`
    const reply = await service.call('GET', `/consumer/changes?app_code=${app.code}${query}`, { token })
    expect([reply.status, reply.body.code]).toEqual([200, undefined])
    return reply.body
  }
  let cursor: number | undefined
  const seen = new Set<string>()
  const next = async () => {
    const page = await read(cursor)
    cursor = page.cursor
    // A transaction that is open anywhere in Postgres makes the feed repeat itself.
    const isNew = ({ type, user_id, at }: Json) => seen.size !== seen.add(`${type} ${user_id} ${at}`).size
    return page.items.filter(isNew).map(({ type }: Json) => type)
  }
  await next()
  return { app, read, next }
}

describe('the changes that an app gets', () => {
  test('an app gets changed names and changed e-mail addresses, with their present values', async () => {
    const { app, read, next } = await buildReader()
    const { user, access_token: token } = await buildUser(shared, app, { first_name: 'Ada' })
    expect(await next()).toEqual([])
    await shared.call('PATCH', '/auth/me', { token, body: { last_name: 'Lovelace' } })
    expect(await next()).toEqual(['names_changed'])
    const email = `${randomUUID()}@example.com`
    await shared.admin('PATCH', `/admin/users/${user.id}`, { body: { email } })
    expect(await next()).toEqual(['email_changed'])
    await shared.admin('PATCH', `/admin/users/${user.id}`, { body: { email, first_name: 'Ada', status: 'active' } })
    expect(await next()).toEqual([])
    const page = await read()
    const record = { user_id: user.id, email, first_name: 'Ada', last_name: 'Lovelace' }
    expect(page).toMatchObject({ app_id: app.id, has_more: false, reset: false, cursor: expect.any(Number) })
    expect(page.items.map(({ cursor: _, at: __, ...item }: Json) => item)).toEqual([
      { type: 'names_changed', ...record },
      { type: 'email_changed', ...record },
    ])
  })

  test('an app gets the end of a grant, and then nothing more about that user', async () => {
    const { app, read, next } = await buildReader()
    const { user } = await buildUser(shared, app, { first_name: 'Ada' })
    await shared.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Eve' } })
    await shared.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    await shared.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Mallory' } })
    expect(await next()).toEqual(['names_changed', 'grant_ended'])
    for (const item of (await read()).items) expect(item).toMatchObject({ email: null, first_name: null, last_name: null })
  })

  test('an app gets the end of the grant of a user who was offboarded', async () => {
    const { app, next } = await buildReader()
    const { user } = await buildUser(shared, app)
    await shared.admin('POST', `/admin/users/${user.id}/offboard`, {})
    expect(await next()).toEqual(['grant_ended'])
  })

  test('an app gets an expired grant once, and again after another grant has expired', async () => {
    const service = await buildService()
    const { app, next } = await buildReader(service)
    const { user } = await buildUser(service, app)
    const grantFor = async (seconds: number) => {
      const expires_at = new Date(service.deps.clock() + seconds * 1000).toISOString()
      const reply = await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { body: { expires_at } })
      expect([200, 201]).toContain(reply.status)
    }
    await grantFor(60)
    await removeExpired(service.deps)
    expect(await next()).toEqual([])
    service.advance(61)
    await removeExpired(service.deps)
    expect(await next()).toEqual(['grant_ended'])
    await removeExpired(service.deps)
    expect(await next()).toEqual([])
    await grantFor(60)
    service.advance(61)
    await removeExpired(service.deps)
    expect(await next()).toEqual(['grant_ended'])
  })

  test.each([
    ['an admin deletes', (id: string) => shared.admin('DELETE', `/admin/users/${id}`)],
    ['an admin erases', (id: string) => shared.admin('DELETE', `/admin/users/${id}?erase=true`)],
    [
      'a user deletes itself',
      (_: string, token: string) => shared.call('DELETE', '/auth/me', { token, body: { password: PASSWORD } }),
    ],
  ])('an app gets the deletion of a user, even if the grant had ended before: %s', async (who, remove) => {
    const [here, left] = [await buildReader(), await buildReader()]
    const { user, access_token } = await buildUser(shared, here.app, { first_name: 'Ada' })
    await shared.admin('POST', `/admin/users/${user.id}/apps/${left.app.id}`, { body: {} })
    await shared.admin('DELETE', `/admin/users/${user.id}/apps/${left.app.id}`)
    expect(await left.next()).toEqual(['grant_ended'])
    await shared.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Eve' } })
    const reply = await remove(user.id, access_token)
    expect([who, reply.status]).toEqual([who, 204])
    expect((await here.next()).toSorted()).toEqual(['grant_ended', 'names_changed', 'user_deleted'])
    expect(await left.next()).toEqual(['user_deleted'])
    const { items } = await here.read()
    for (const item of items) expect(item).toMatchObject({ user_id: user.id, email: null, first_name: null, last_name: null })
  })

  test('an app gets the names that an account lost when an import took it over for the owner of its address', async () => {
    const { app, next } = await buildReader()
    const { user } = await buildUser(shared, app, { first_name: 'Eve' })
    const body = JSON.stringify({ email: user.email, email_verified: true })
    const headers = { 'content-type': 'application/x-ndjson' }
    const reply = await shared.admin('POST', '/admin/users/import?claim_unverified=true', { body, headers })
    expect(reply.body).toMatchObject({ updated: 1, failed: 0 })
    expect(await next()).toEqual(['names_changed'])
  })

  test('an app gets no change that is rolled back, as in a dry run', async () => {
    const { app, next } = await buildReader()
    const { user } = await buildUser(shared, app)
    await shared.admin('PATCH', `/admin/users/${user.id}?dry_run=true`, { body: { first_name: 'Eve' } })
    await shared.admin('DELETE', `/admin/users/${user.id}?dry_run=true`)
    expect(await next()).toEqual([])
  })

  test('an app gets no change of users of other apps', async () => {
    const [one, other] = [await buildReader(), await buildReader()]
    const { user } = await buildUser(shared, one.app)
    await shared.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Ada' } })
    expect([await one.next(), await other.next()]).toEqual([['names_changed'], []])
  })
})

describe('access to the changes', () => {
  const step = (app: Json, name: string) =>
    shared.admin('POST', `/admin/apps/${app.code}/signing?force=true`, { body: { step: name } })
  const ask = (app: Json, secret?: string, query = '') =>
    shared.call('GET', `/consumer/changes${query}`, {
      token: assertionOf({ code: app.code }, { now: shared.deps.clock(), ...(secret === undefined ? {} : { secret }) }),
    })

  test('an app reads its changes with its own key, and not with the shared secret, even while that counts for the app', async () => {
    const app = await buildApp(shared)
    expectError(await ask(app), 'own_key_required')
    await step(app, 'prepare')
    const { secret } = await readAppSecret(shared.deps, app.code, systemActor)
    await step(app, 'switch')
    expectError(await ask(app), 'own_key_required')
    const reply = await ask(app, secret)
    expectHeaders(reply)
    expect(reply.body).toMatchObject({ app_id: app.id, items: [] })
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect((await ask(app, secret, `?app_code=${app.code}`)).status).toBe(200)
    expect(faultsOf(await ask(app, secret, '?app_code=other'))).toEqual(['app_code: invalid_value'])
  })

  test('a service account reads the changes of the apps in its app_codes only', async () => {
    const [mine, other] = [await buildApp(shared), await buildApp(shared)]
    const account = async (scopes: string[]) => {
      const body = { name: randomUUID(), service: 'crm', scopes, app_codes: [mine.code] }
      return (await shared.admin('POST', '/admin/service-accounts', { body })).body.token
    }
    const token = await account(['users:changes'])
    const get = (query: string, as = token) => shared.call('GET', `/consumer/changes${query}`, { token: as })
    expect((await get(`?app_code=${mine.code}`)).body.app_id).toBe(mine.id)
    expectError(await get(`?app_code=${other.code}`), 'scope_required')
    expectError(await get('?app_code=no-such-app'), 'scope_required')
    expect(faultsOf(await get(''))).toEqual(['app_code: required'])
    expect(faultsOf(await get(`?app_code=${mine.code}&since=x`))).toEqual(['since: invalid_value'])
    expectError(await get(`?app_code=${mine.code}`, await account(['tokens:introspect'])), 'scope_required')
  })
})

describe('the cursor of a reader', () => {
  test('changes are kept for 30 days, and a reader that was away for longer learns that it missed some', async () => {
    const service = await buildService()
    const { app, read } = await buildReader(service)
    const { user } = await buildUser(service, app)
    const rename = (first_name: string) => service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name } })
    const { cursor: before } = await read()
    await rename('one')
    // A cursor passes the change once every transaction that was open beside it, of any database of this Postgres, has ended.
    let between = before
    const passed = async () => {
      between = (await read(between)).cursor
      return (await read(between)).items
    }
    await expect.poll(passed, { timeout: 30_000, interval: 50 }).toEqual([])
    service.advance(29 * daySeconds)
    await rename('two')
    await removeExpired(service.deps)
    expect((await read(before)).items).toHaveLength(2)
    service.advance(1.5 * daySeconds)
    await removeExpired(service.deps)
    expect(await countRows(service, 'user_changes')).toBe(1)
    expect(await read(before)).toMatchObject({ reset: true, items: [{ type: 'names_changed' }] })
    expect(await read()).toMatchObject({ reset: false, items: [{ type: 'names_changed' }] })
    expect(await read(between)).toMatchObject({ reset: false, items: [{ type: 'names_changed' }] })
    const { cursor } = await read(before)
    expect(await read(cursor)).toMatchObject({ reset: false })
  })

  test('after a restore, every reader learns that the database is another one, and reads on', async () => {
    const service = await buildService()
    const { app, read } = await buildReader(service)
    const { user } = await buildUser(service, app)
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'one' } })
    const { cursor } = await read()
    await finishRestore(service.deps)
    const page = await read(cursor)
    expect(page).toMatchObject({ reset: true, items: [{ type: 'names_changed' }] })
    expect(page.cursor).toBeGreaterThan(cursor)
    expect(await read(page.cursor)).toMatchObject({ reset: false })
    // A database that lost its last transactions gave cursors that it does not know.
    await transaction(service.deps, (deps) => restartFeeds(deps, 0))
    expect(await read(page.cursor)).toMatchObject({ reset: true })
  })

  test('more changes than a page holds come in pages, each with its own cursor', async () => {
    const { app, read } = await buildReader()
    const rows = Array.from({ length: 2_500 }, () => ({
      type: 'names_changed',
      user_id: randomUUID(),
      app_id: app.id,
      at: shared.deps.clock(),
    }))
    for (let start = 0; start < rows.length; start += 500)
      await shared.deps.db('user_changes').insert(rows.slice(start, start + 500))
    const heard = new Set<string>()
    let page = await read()
    for (let pages = 1; ; pages += 1) {
      for (const { user_id } of page.items) heard.add(user_id)
      if (!page.has_more) break
      expect(pages).toBeLessThan(40)
      const { cursor } = page
      page = await read(cursor)
      if (page.has_more) expect(page.cursor).toBeGreaterThan(cursor)
    }
    expect(heard.size).toBe(rows.length)
  })

  test.runIf(testDatabase() === 'postgres')('a change that commits late reaches a reader that has read beyond it', async () => {
    const { app, next } = await buildReader()
    const { user } = await buildUser(shared, app)
    const db = createKnex({ databaseUrl: shared.deps.config.databaseUrl, dbPoolMax: 1 })
    onTestFinished(() => db.destroy())
    const slow = await db.transaction()
    await slow('user_changes').insert({ type: 'names_changed', user_id: user.id, app_id: app.id, at: shared.deps.clock() })
    await shared.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    expect(await next()).toEqual(['grant_ended'])
    await slow.commit()
    expect(await next()).toEqual(['names_changed'])
    expect(await next()).toEqual([])
  })
})
