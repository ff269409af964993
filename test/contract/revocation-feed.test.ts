// How revocations reach backends that verify tokens locally: the assertion, the poll, the stream.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { RevocationHub } from '../../packages/server/src/adapters/revocation-hub.ts'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { readAppSecret } from '../../packages/server/src/resources/apps/apps.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { endAllTokens, endTokensOfApp } from '../../packages/server/src/resources/revocations/end-tokens.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { startRevocationFeed, tendStreams } from '../../packages/server/src/workers/revocation-feed.ts'
import { atOnce, chance } from '../support/chance.ts'
import { type AssertionOptions, assertionOf, type EventStream, kidOf, openEventStream } from '../support/consumer.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { appFixture, fixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import {
  ACCESS_SECRET,
  buildApp,
  buildService,
  buildUser,
  claimsOf,
  type Json,
  type Reply,
  type TestService,
} from '../support/service.ts'

/** A cursor that no database has given yet. */
const unknown = 9e14 + 99_999_999_999_999
const keptSeconds = 3_660

async function buildFedService(settings: Record<string, string> = {}, onEnd: (fn: () => Promise<void>) => void = onTestFinished) {
  const service = await buildService(settings, onEnd)
  const feed = await startRevocationFeed(service.deps)
  onEnd(() => feed.stop())
  return service
}

const service = fixture(() => buildFedService({}, onFileEnd))
const app = appFixture(service)

const assertion = (of: Json = app, options: AssertionOptions = {}) => assertionOf(of, { now: service.deps.clock(), ...options })
const poll = (since?: number | string, of: Json = app): Promise<Reply> =>
  service.call('GET', `/revocations${since === undefined ? '' : `?since=${since}`}`, { token: assertion(of) })
const stream = (lastEventId?: number | string, of: Json = app): Promise<EventStream> =>
  openEventStream(`${service.url}/api/v1/revocations/stream`, assertion(of), lastEventId === undefined ? {} : { lastEventId })
const revoke = (user: Json, of: Json = app) => service.admin('DELETE', `/admin/users/${user.id}/apps/${of.id}`)
/** The events before the last `here`. A reader gets them again while a transaction of another test holds up the horizon. */
const former = new Set<string>()
const idOf = ({ user_id, app_id, session_id, min_tv, min_iat }: Json) =>
  [user_id, app_id, session_id, min_tv, min_iat].map((part) => part ?? '').join()
const here = async (of: Json = app): Promise<number> => {
  for (const row of await service.deps.db('revocations')) former.add(idOf(row))
  return end(of)
}
/** Reads all pages, and returns the last cursor. */
async function end(of: Json = app): Promise<number> {
  let page: Json = (await poll(undefined, of)).body
  while (page.has_more) page = (await poll(page.cursor, of)).body
  return page.cursor
}
/** Events that came after the last `here`, each once. */
const news = (items: readonly Json[]): Json[] => [
  ...new Map(items.filter((item) => item && !former.has(idOf(item))).map((item) => [idOf(item), item])).values(),
]
const newsOf = ({ events }: EventStream) => news(events.filter(({ event }) => event === 'message').map(({ data }) => data))
const without = ({ cursor: _, ...item }: Json) => item
const newUser = async (of: Json = app): Promise<Json> => (await buildUser(service, of)).user
/** Ends all sessions of a user, in its own transaction. */
const raiseForAllApps = (userId: string, on: TestService = service) =>
  transaction(on.deps, (deps) => endAllTokens(deps, { userId, reason: 'test' }))

describe('the assertion of a consumer', () => {
  test('an assertion opens the feed by either name of its type, with up to four kids', async () => {
    const kid = kidOf(ACCESS_SECRET)
    for (const kids of [[kid], [], undefined, [kid, kid], [kid, '00000000', '11111111', '22222222']]) {
      const reply = await service.call('GET', '/revocations', { token: assertion(app, { claims: { kids } }) })
      expect(reply.status).toBe(200)
      expectHeaders(reply)
      expect(reply.headers.get('cache-control')).toBe('no-store')
    }
  })

  test('an assertion with any fault is refused', async () => {
    const now = Math.floor(service.deps.clock() / 1000)
    const wrong: Record<string, AssertionOptions> = {
      'another secret': { secret: 'another secret that is also at least 32 characters' },
      'the type of an access token': { header: { typ: 'JWT' } },
      'no type': { header: { typ: undefined } },
      HS512: { header: { alg: 'HS512' } },
      'a critical header': { header: { crit: ['b64'] } },
      'an unencoded payload': { header: { b64: false } },
      'no app': { claims: { sub: undefined } },
      'an unknown app': { claims: { sub: 'no-such-app' } },
      'an app that is a list': { claims: { sub: [app.code] } },
      'the id of an app': { claims: { sub: app.id } },
      'no iat': { claims: { iat: undefined } },
      'no exp': { claims: { exp: undefined } },
      'a life of more than a minute': { claims: { iat: now, exp: now + 61 } },
      'an end before its beginning': { claims: { iat: now + 3, exp: now + 2 } },
      'a beginning in a minute': { claims: { iat: now + 60, exp: now + 90 } },
      'times as text': { claims: { iat: String(now), exp: String(now + 30) } },
      'a fraction': { claims: { exp: now + 10.5 } },
      'kids that are no list': { claims: { kids: kidOf(ACCESS_SECRET) } },
      'kids of another form': { claims: { kids: ['ABCDEF01'] } },
      'a kid that is a number': { claims: { kids: [12345678] } },
      'five kids': { claims: { kids: ['00000000', '11111111', '22222222', '33333333', '44444444'] } },
    }
    for (const [what, options] of Object.entries(wrong)) {
      for (const path of ['/revocations', '/revocations/stream'])
        expectError(await service.call('GET', path, { token: assertion(app, options) }), 'token_invalid', what)
    }
    const old = { claims: { iat: now - 60, exp: now } }
    expectError(await service.call('GET', '/revocations', { token: assertion(app, old) }), 'token_expired')
    expectError(await service.call('GET', '/revocations/stream', { token: assertion(app, old) }), 'token_expired')
    // Signed with the secret itself, as access tokens are.
    const { forgeToken } = await import('../support/forge-token.ts')
    const bySecret = forgeToken({ sub: app.code, iat: now, exp: now + 30, kids: [] }, { header: { typ: 'consumer+jwt' } })
    expectError(await service.call('GET', '/revocations', { token: bySecret }), 'token_invalid')
  })

  test('the assertion of an inactive app opens the feed, and its streams continue', async () => {
    const closing = await buildApp(service, { auto_grant_on_signup: true })
    const user = await newUser(closing)
    const open = await stream(undefined, closing)
    await service.admin('PATCH', `/admin/apps/${closing.code}`, { body: { status: 'inactive' } })
    await tendStreams(service.deps)
    await revoke(user, closing)
    await open.next(({ data }) => data.user_id === user.id)
    const again = await stream(undefined, closing)
    await again.next(({ data }) => data.user_id === user.id)
    expect((await poll(undefined, closing)).body.items.at(-1)).toMatchObject({ user_id: user.id, app_id: closing.id })
  })

  test('the assertion of a deleted app opens the feed only while its tokens could still live', async () => {
    const aging = await buildFedService()
    const closing = await buildApp(aging)
    const token = () => assertionOf(closing, { now: aging.deps.clock() })
    const ask = () => aging.call('GET', '/revocations', { token: token() })
    const openStream = () => openEventStream(`${aging.url}/api/v1/revocations/stream?form=2`, token())
    const before = await openStream()
    await aging.admin('DELETE', `/admin/apps/${closing.id}`)
    // The last event says that all tokens of the app are dead.
    expect(await before.ended).toBe('end')
    expect(before.events.at(-1)?.data).toMatchObject({ app_id: closing.id, min_iat: expect.any(Number) })
    const open = await openStream()
    const reply = await ask()
    expect([reply.status, reply.headers.get('x-app-id'), reply.body.app_id]).toEqual([200, closing.id, closing.id])
    await tendStreams(aging.deps)
    expect(aging.deps.revocationHub.streamCount).toBe(1)
    // The secrets of the caller are not recorded: the app no longer exists.
    expect(await aging.deps.db('consumer_secrets').where({ app_id: closing.id })).toEqual([])
    expectError(await aging.call('POST', '/auth/introspect', { token: token(), body: { token: 'any' } }), 'token_invalid')
    aging.advance(keptSeconds + 1)
    expectError(await ask(), 'token_invalid')
    await tendStreams(aging.deps)
    expect(await open.ended).toBe('end')
    await removeExpired(aging.deps)
    expect(await aging.deps.db('deleted_apps').select()).toEqual([])
  })

  test('the own keys of a deleted app are kept with its code', async () => {
    const app = await buildApp(service)
    const keys = [
      { version: 1, stage: 'previous', secret_box: null },
      { version: 2, stage: 'current', secret_box: 'a sealed key' },
    ]
    await service.deps.db('app_keys').insert(keys.map((key) => ({ ...key, app_id: app.id, created_at: 1 })))
    expect((await service.admin('DELETE', `/admin/apps/${app.id}`)).status).toBe(204)
    const { keys: kept } = await service.deps.db('deleted_apps').where({ code: app.code }).first()
    expect(JSON.parse(kept)).toEqual(keys)
    expect(await service.deps.db('app_keys').where({ app_id: app.id })).toEqual([])
  })

  test('an assertion for a reused code belongs to the new app, and the streams of the old app end', async () => {
    const old = await buildApp(service)
    const open = await stream(undefined, old)
    expect(open.headers['x-app-id']).toBe(old.id)
    await service.admin('DELETE', `/admin/apps/${old.id}`)
    const { body: taken } = await service.admin('POST', '/admin/apps', { body: { code: old.code, name: 'Another' } })
    const reply = await poll(undefined, old)
    expect([reply.headers.get('x-app-id'), reply.body.app_id]).toEqual([taken.id, taken.id])
    expect(await open.ended).toBe('end')
    // After the second app is deleted too, the code stands for that one.
    await service.admin('DELETE', `/admin/apps/${taken.id}`)
    expect((await poll(undefined, old)).body.app_id).toBe(taken.id)
  })

  test('an assertion must name a valid key during a change, and each step ends only the streams of that app', async () => {
    const [changing, other] = [await buildApp(service), await buildApp(service)]
    const step = async (name: string) => {
      const path = `/admin/apps/${changing.code}/signing${name === 'finish' ? '?force=true' : ''}`
      expect((await service.admin('POST', path, { body: { step: name } })).status).toBe(200)
    }
    const untouched = await stream(undefined, other)
    const open = () => stream(undefined, changing)
    for (const name of ['prepare', 'abort', 'prepare', 'switch', 'abort', 'switch']) {
      const before = await open()
      await step(name)
      expect([name, await before.ended]).toEqual([name, 'end'])
    }
    const shared = await open()
    await step('finish')
    expect(await shared.ended).toBe('end')
    // The shared secret is not a key of the app any more.
    expect((await open()).status).toBe(401)
    const { secret } = await readAppSecret(service.deps, changing.code, systemActor)
    expect((await poll(undefined, other)).status).toBe(200)
    const own = assertion(changing, { secret })
    const ours = await openEventStream(`${service.url}/api/v1/revocations/stream`, own)
    const user = await newUser(other)
    await raiseForAllApps(user.id)
    await Promise.all([untouched, ours].map((each) => each.next(({ data }) => data.user_id === user.id)))
  })

  test('a stream that opens while the key changes is ended as well', async () => {
    const changing = await buildApp(service)
    await service.admin('POST', `/admin/apps/${changing.code}/signing`, { body: { step: 'prepare' } })
    const opening = Array.from({ length: 8 }, () => stream(undefined, changing))
    await service.admin('POST', `/admin/apps/${changing.code}/signing`, { body: { step: 'switch' } })
    const finish = service.admin('POST', `/admin/apps/${changing.code}/signing?force=true`, { body: { step: 'finish' } })
    opening.push(...Array.from({ length: 8 }, () => stream(undefined, changing)))
    await finish
    for (const open of await Promise.all(opening)) if (open.status === 200) expect(await open.ended).toBe('end')
    expect(service.deps.revocationHub.owners().filter(({ appId }) => appId === changing.id)).toEqual([])
  })

  test('an app at its limit of streams gets 429 with Retry-After, and the poll and other apps still work', async () => {
    const full = await buildService()
    const busy = await buildApp(full)
    full.deps.revocationHub = new RevocationHub({ streamsOfApp: 2 })
    const feed = await startRevocationFeed(full.deps)
    onTestFinished(() => feed.stop())
    const token = (of: Json = busy) => assertionOf(of, { now: full.deps.clock() })
    const open = (of?: Json) => openEventStream(`${full.url}/api/v1/revocations/stream`, token(of))
    const [first] = await Promise.all([open(), open()])
    const reply = await full.call('GET', '/revocations/stream', { token: token() })
    expectError(reply, 'rate_limited')
    expect([reply.headers.get('retry-after'), reply.body.detail]).toEqual(['60', expect.stringContaining('2 open streams')])
    expect((await full.call('GET', '/revocations', { token: token() })).status).toBe(200)
    expect((await open(await buildApp(full))).status).toBe(200)
    first!.close()
    await expect.poll(() => full.deps.revocationHub.fullness(busy.id)).toBeUndefined()
    expect((await open()).status).toBe(200)
    const crowd = await Promise.all(Array.from({ length: 20 }, () => open()))
    expect(crowd.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 429))
  })

  test('poll and stream answer with the ids of the app and of the service', async () => {
    const open = await stream()
    const { headers } = await poll()
    const { service_id } = (await service.admin('GET', '/admin/secrets')).body
    expect(service_id).toMatch(/^[0-9a-f-]{36}$/)
    for (const [appId, serviceId] of [
      [headers.get('x-app-id'), headers.get('x-service-id')],
      [open.headers['x-app-id'], open.headers['x-service-id']],
    ])
      expect({ appId, serviceId }).toEqual({ appId: app.id, serviceId: service_id })
  })

  test('an assertion opens nothing else, and an access token does not open the feed', async () => {
    const { access_token } = await buildUser(service, app)
    for (const path of ['/revocations', '/revocations/stream'])
      expectError(await service.call('GET', path, { token: access_token }), 'token_invalid')
    for (const path of ['/auth/me', '/admin/apps', '/admin/secrets', '/admin/users'])
      expectError(await service.call('GET', path, { token: assertion() }), 'token_invalid')
  })
})

describe('the poll of the feed', () => {
  // covers state-revoke-next-request
  test('the poll reports a revoked grant to its app, with the minimum token version', async () => {
    const before = await here()
    const { user, access_token } = await buildUser(service, app)
    await revoke(user)
    const { body } = await poll(before)
    expect(Object.keys(body).sort()).toEqual(['app_id', 'cursor', 'has_more', 'items', 'reset'])
    const [item, ...others] = news(body.items)
    expect(others).toEqual([])
    expect(Object.keys(item).sort()).toEqual(['app_id', 'at', 'cursor', 'min_tv', 'session_id', 'user_id'])
    expect(item).toMatchObject({ user_id: user.id, app_id: app.id, session_id: null })
    expect(item.min_tv).toBeGreaterThan(claimsOf(access_token).tv)
    expect(item.cursor).toBeGreaterThanOrEqual(before)
    expect(new Date(item.at).toISOString()).toBe(item.at)
    expect(body).toMatchObject({ has_more: false, reset: false })
    expect(body.cursor).toBeGreaterThanOrEqual(item.cursor)
    // Nothing is told again once every transaction that ran at the same time has ended.
    await expect.poll(async () => (await poll(await end())).body.items).toEqual([])
  })

  test('the poll reports to each app its own events and those for all apps, and only its own sessions', async () => {
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const cursor = await here()
    const [first, second, third] = [await buildUser(service, app), await buildUser(service, other), await buildUser(service, app)]
    await revoke(first.user)
    await revoke(second.user, other)
    await raiseForAllApps(third.user.id)
    const fourth = await buildUser(service, other)
    await service.call('POST', '/auth/logout', { body: { refresh_token: fourth.refresh_token } })
    const homeless = { user_id: fourth.user.id, app_id: null, session_id: randomUUID(), min_tv: null, at: service.deps.clock() }
    await service.deps.db('revocations').insert(homeless)

    const ours = (await poll(cursor)).body
    expect(news(ours.items).map((item) => item.user_id)).toEqual([first.user.id, third.user.id])
    expect(news(ours.items)[1]).toMatchObject({ app_id: null, session_id: null })
    const theirs = (await poll(cursor, other)).body
    expect(news(theirs.items).map((item) => item.user_id)).toEqual([second.user.id, third.user.id, fourth.user.id])
    expect(news(theirs.items)[2]).toMatchObject({ app_id: other.id, session_id: claimsOf(fourth.access_token).sid, min_tv: null })
    // The cursors of all apps advance together.
    expect(theirs.cursor).toBeGreaterThanOrEqual(ours.cursor)
  })

  test('the poll without a cursor reports all live events, and events that no token needs are removed', async () => {
    const aging = await buildFedService()
    const home = await buildApp(aging, { auto_grant_on_signup: true })
    const ask = async (since?: number): Promise<Json> =>
      (
        await aging.call('GET', since === undefined ? '/revocations' : `/revocations?since=${since}`, {
          token: assertionOf(home, { now: aging.deps.clock() }),
        })
      ).body
    const nothing = { items: [], cursor: expect.any(Number), app_id: home.id, has_more: false, reset: false }
    expect(await ask()).toEqual(nothing)
    const { user } = await buildUser(aging, home)
    await raiseForAllApps(user.id, aging)
    const live = await ask()
    expect(live.items).toHaveLength(1)
    aging.advance(keptSeconds - 30)
    expect((await ask()).items).toHaveLength(1)
    expect(await ask(0)).toMatchObject({ items: [{}], reset: true })
    aging.advance(60)
    expect(await ask()).toEqual(nothing)
    await removeExpired(aging.deps)
    expect(await aging.deps.db('revocations').select()).toEqual([])
    // A cursor outlives its row, so no consumer has to start over.
    expect(await ask(live.cursor)).toMatchObject({ items: [], reset: false })
    await raiseForAllApps(user.id, aging)
    expect((await ask(live.cursor)).items).toHaveLength(1)
  })

  test('the poll from an unknown cursor says so and reports all live events', async () => {
    const user = await newUser()
    await revoke(user)
    const { body } = await poll(unknown)
    expect(body.reset).toBe(true)
    expect(body.items.some((item: Json) => item.user_id === user.id)).toBe(true)
    expect(body.cursor).toBeLessThan(unknown)
  })

  test('the poll gives at most a thousand events, and continues from the cursor without a gap', async () => {
    const start = await here()
    const ids = Array.from({ length: 2_345 }, () => randomUUID())
    const rows = ids.map((user_id) => ({ user_id, app_id: app.id, session_id: null, min_tv: 1, at: service.deps.clock() }))
    for (let at = 0; at < rows.length; at += 100) await service.deps.db('revocations').insert(rows.slice(at, at + 100))
    const seen = new Set<string>()
    let page: Json = { cursor: start, has_more: true }
    for (let last = start; page.has_more; last = page.cursor) {
      page = (await poll(page.cursor)).body
      expect(page.items.length).toBeLessThanOrEqual(1_000)
      if (page.has_more) expect(page.cursor).toBeGreaterThan(last)
      for (const { user_id } of page.items) seen.add(user_id)
    }
    expect(ids.filter((id) => !seen.has(id))).toEqual([])
    // A stream reads the same backlog in its own portions.
    const open = await stream(start)
    const heard = () => new Set(open.events.map(({ data }) => data.user_id))
    await expect.poll(() => ids.filter((id) => !heard().has(id))).toEqual([])
  })

  test('the poll reports an app in place of a user only on request, with the same cursors for all', async () => {
    const closing = await buildApp(service, { auto_grant_on_signup: true })
    const cursor = await here(closing)
    const streamOf = (form: string) =>
      openEventStream(`${service.url}/api/v1/revocations/stream?since=${cursor}${form}`, assertion(closing))
    const pollOf = async (form: string): Promise<Json> =>
      (await service.call('GET', `/revocations?since=${cursor}${form}`, { token: assertion(closing) })).body
    const [first, second] = [await streamOf('&form=1'), await streamOf('&form=2')]
    const before = Math.floor(Date.now() / 1000)
    await service.admin('PATCH', `/admin/apps/${closing.code}`, { body: { status: 'inactive' } })
    const after = Math.floor(Date.now() / 1000)
    const user = await newUser()
    await raiseForAllApps(user.id)
    for (const open of [first, second]) await open.next(({ data }) => data.user_id === user.id)
    const [ofApp, ofUser] = news((await pollOf('&form=2')).items)
    expect(ofApp).toEqual({
      cursor: ofApp!.cursor,
      user_id: null,
      app_id: closing.id,
      session_id: null,
      min_tv: null,
      min_iat: ofApp!.min_iat,
      at: ofApp!.at,
    })
    expect(ofApp!.min_iat).toBeGreaterThanOrEqual(before + 5)
    expect(ofApp!.min_iat).toBeLessThanOrEqual(after + 5)
    const both = [ofApp!, ofUser!].map(without)
    expect(newsOf(second).map(without)).toEqual(both)
    expect(newsOf(first).map(without)).toEqual(both.slice(1))
    for (const form of ['', '&form=1']) expect(news((await pollOf(form)).items).map(without)).toEqual(both.slice(1))
    // A consumer that comes later reads it too.
    const late = await streamOf('&form=2')
    await late.next(({ data }) => data.user_id === user.id)
    expect(newsOf(late).map(without)).toEqual(both)
    const refused = await service.call('GET', '/revocations?form=3', { token: assertion() })
    expect(faultsOf(refused)).toEqual(['form: invalid_value'])
  })

  test('the poll refuses an invalid cursor', async () => {
    for (const since of ['', '-1', '1.5', 'x', '1e3', '%2B1', ' 1', '9'.repeat(17)]) {
      const reply = await poll(since)
      expectError(reply, 'validation_failed', since)
      expect(faultsOf(reply)).toEqual(['since: invalid_value'])
    }
  })
})

describe('concurrent transactions and the feed', () => {
  test('concurrent transactions hide nothing from a poll or a stream, whatever the order of their commits', async () => {
    const busy = await buildFedService({ DB_POOL_MAX: '20' })
    const home = await buildApp(busy, { auto_grant_on_signup: true })
    const users = await atOnce(12, async () => (await buildUser(busy, home)).user.id as string)
    const token = () => assertionOf(home, { now: busy.deps.clock() })
    let isDone = false
    const polled: Json[] = []
    const consumer = (async () => {
      let cursor = 0
      for (let last = false; ; ) {
        const { body } = await busy.call('GET', `/revocations?since=${cursor}`, { token: token() })
        polled.push(...body.items)
        cursor = body.cursor
        if (last) return
        last = isDone
      }
    })()
    const streamed = await openEventStream(`${busy.url}/api/v1/revocations/stream`, token())
    const repeats = 15
    await atOnce(users.length, async (index) => {
      const { soon, next } = chance(index + 1)
      for (let repeat = 0; repeat < repeats; repeat += 1) {
        await soon(5, () =>
          transaction(busy.deps, async (deps) => {
            const userId = users[index]!
            if (next() < 0.5) await endAllTokens(deps, { userId, reason: 'test' })
            else await endTokensOfApp(deps, { userIds: [userId], appId: home.id, reason: 'test' })
            // Others commit before this one, and after it.
            await sleep(next() * 3)
          }),
        )
      }
    })
    isDone = true
    await consumer
    const written: string[] = (await busy.deps.db('revocations')).map(idOf)
    expect(written).toHaveLength(users.length * repeats)
    const isMissing = (items: readonly Json[]) => {
      const heard = new Set(items.map(idOf))
      return written.filter((id) => !heard.has(id))
    }
    expect(isMissing(polled)).toEqual([])
    await expect.poll(() => isMissing(streamed.events.map(({ data }) => data))).toEqual([])
    // The stream was there from the beginning, so it hears of each once.
    expect(streamed.events).toHaveLength(written.length)
  })
})

describe('the stream of the feed', () => {
  test('the stream sends each item as a server-sent event with its cursor, as soon as it is committed', async () => {
    const cursor = await here()
    const open = await stream(cursor)
    expect(open.status).toBe(200)
    expect(open.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    })
    const user = await newUser()
    await revoke(user)
    const event = await open.next(({ data }) => data.user_id === user.id)
    // The first heartbeat comes after 15 seconds.
    expect(open.comments).not.toContain(': heartbeat')
    const [item] = news((await poll(cursor)).body.items)
    expect(event).toEqual({ id: String(event.data.cursor), event: 'message', data: { ...item, cursor: event.data.cursor } })
    expect(open.comments).toContain(': open')
  })

  test('the stream begins with all live events, or after Last-Event-ID, which overrides `since`', async () => {
    const [first, second] = [await newUser(), await newUser()]
    await revoke(first)
    // A transaction of another test may hold up the horizon for a moment.
    const cursor = await vi.waitUntil(async () => {
      const cursor = await end()
      return (await poll(cursor)).body.items.length === 0 && cursor
    }, 60_000)
    await revoke(second)
    const whole = await stream()
    await whole.next(({ data }) => data.user_id === first.id)
    await whole.next(({ data }) => data.user_id === second.id)
    expect(whole.events.length).toBeGreaterThan(2)
    const resumed = await stream(cursor)
    await resumed.next(({ data }) => data.user_id === second.id)
    const url = `${service.url}/api/v1/revocations/stream`
    const since = await openEventStream(`${url}?since=${cursor}`, assertion())
    await since.next(({ data }) => data.user_id === second.id)
    const both = await openEventStream(`${url}?since=0`, assertion(), { lastEventId: cursor })
    await both.next(({ data }) => data.user_id === second.id)
    for (const open of [resumed, since, both]) expect(open.events.map(({ data }) => data.user_id)).toEqual([second.id])
    // An event id that is not a cursor of the feed is ignored.
    const foreign = await stream('0190a0a0-0000')
    await foreign.next(({ data }) => data.user_id === first.id)
  })

  test('the stream from an unknown cursor begins with an event `reset`', async () => {
    const user = await newUser()
    await revoke(user)
    const open = await stream(unknown)
    await open.next(({ data }) => data.user_id === user.id)
    expect(open.events[0]).toEqual({ id: undefined, event: 'reset', data: {} })
    expect(open.events.filter(({ event }) => event === 'reset')).toHaveLength(1)
  })

  test('the stream reports to a consumer its own events and those for all apps', async () => {
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const cursor = await here()
    const [ours, theirs] = [await stream(cursor), await stream(cursor, other)]
    const [mine, foreign, common] = [await newUser(), await newUser(other), await newUser()]
    await revoke(mine)
    await revoke(foreign, other)
    await raiseForAllApps(common.id)
    for (const open of [ours, theirs]) await open.next(({ data }) => data.user_id === common.id)
    expect(newsOf(ours).map(({ user_id }) => user_id)).toEqual([mine.id, common.id])
    expect(newsOf(theirs).map(({ user_id }) => user_id)).toEqual([foreign.id, common.id])
  })

  test('the stream never reports a transaction that was rolled back', async () => {
    const [undone, done] = [await newUser(), await newUser()]
    const cursor = await here()
    const open = await stream(cursor)
    await expect(
      transaction(service.deps, async (deps) => {
        await endAllTokens(deps, { userId: undone.id, reason: 'test' })
        throw new Error('taken back')
      }),
    ).rejects.toThrow('taken back')
    await revoke(done)
    await open.next(({ data }) => data.user_id === done.id)
    expect(newsOf(open).map(({ user_id }) => user_id)).toEqual([done.id])
  })

  test('a stream that opens during many revocations misses none of them', async () => {
    const user = await newUser()
    const cursor = await here()
    const opened: EventStream[] = []
    const storm = atOnce(4, async () => {
      for (let index = 0; index < 15; index += 1) await raiseForAllApps(user.id)
    })
    for (let index = 0; index < 20; index += 1) {
      opened.push(await stream(cursor))
      await sleep(3)
    }
    await storm
    const all = news((await poll(cursor)).body.items)
      .map(idOf)
      .sort()
    expect(all).toHaveLength(60)
    for (const open of opened) await expect.poll(() => newsOf(open).map(idOf).sort()).toEqual(all)
  })

  test('a stream is counted while it is open, and forgotten when the consumer leaves', async () => {
    const counted = await buildFedService()
    const home = await buildApp(counted)
    const { revocationHub } = counted.deps
    const open = await Promise.all(
      [1, 2, 3].map(() => openEventStream(`${counted.url}/api/v1/revocations/stream`, assertionOf(home))),
    )
    await expect.poll(() => revocationHub.streamCount).toBe(3)
    open[0]!.close()
    await expect.poll(() => revocationHub.streamCount).toBe(2)
    revocationHub.close()
    expect(await Promise.all([open[1]!.ended, open[2]!.ended])).toEqual(['end', 'end'])
    await expect.poll(() => revocationHub.streamCount).toBe(0)
    const late = await counted.call('GET', '/revocations/stream', { token: assertionOf(home) })
    expectError(late, 'unavailable')
  })

  test('a reader that takes nothing is dropped and holds no memory, and can resume from where it was', async () => {
    const user = await newUser()
    const cursor = await here()
    const slow = await stream(cursor)
    const awake = await stream(cursor)
    const before = service.deps.revocationHub.streamCount
    slow.pause()
    // The sockets and their buffers fill up first, then the queue for this one reader.
    const row = { user_id: user.id, app_id: null, session_id: null }
    let floor = 0
    let dropped = false
    for (let round = 0; round < 200 && !dropped; round += 1) {
      for (let part = 0; part < 10; part += 1)
        await service.deps
          .db('revocations')
          .insert(Array.from({ length: 100 }, () => ({ ...row, min_tv: ++floor, at: service.deps.clock() })))
      service.deps.revocationHub.wake()
      await sleep(10)
      dropped = service.deps.revocationHub.streamCount < before
    }
    expect(dropped).toBe(true)
    slow.resume()
    expect(await slow.ended).toBe('cut')
    // Each row has another minimum token version.
    const all: string[] = (await service.deps.db('revocations').where({ user_id: user.id })).map(idOf).sort()
    await expect.poll(() => newsOf(awake).map(idOf).sort()).toEqual(all)
    const resumed = await stream(slow.events.at(-1)?.data.cursor ?? cursor)
    const whole = () => news([...slow.events, ...resumed.events].map(({ data }) => data))
    await expect.poll(() => whole().map(idOf).sort()).toEqual(all)
  })

  test('the stream answers HEAD like GET, without a body and without an open stream', async () => {
    const asked = await buildService()
    const headers = { authorization: `Bearer ${assertionOf(await buildApp(asked))}` }
    const reply = await fetch(`${asked.url}/api/v1/revocations/stream`, { method: 'HEAD', headers })
    expect(reply.status).toBe(200)
    await expect.poll(() => asked.deps.revocationHub.streamCount).toBe(0)
  })
})
