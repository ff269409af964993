// Two secrets at once: tokens and assertions signed with either, and what an operator sees of the rotation.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { startRevocationFeed, tendStreams } from '../../packages/server/src/workers/revocation-feed.ts'
import { type AssertionOptions, assertionOf, kidOf, openEventStream } from '../support/consumer.ts'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { ACCESS_SECRET, buildApp, buildService, buildUser, claimsOf, type Json } from '../support/service.ts'

const previousSecret = 'the secret before that one, at least 32 characters long'
const [current, previous] = [kidOf(ACCESS_SECRET), kidOf(previousSecret)]

const service = serviceFixture({ JWT_ACCESS_SECRET_PREVIOUS: previousSecret })
beforeAll(async () => {
  const feed = await startRevocationFeed(service.deps)
  afterAll(() => feed.stop())
})

const newApp = (): Promise<Json> => buildApp(service, { auto_grant_on_signup: true })
const assertion = (app: Json, options: AssertionOptions) => assertionOf(app, { now: service.deps.clock(), ...options })
const poll = (app: Json, kids: string[], options: AssertionOptions = {}) =>
  service.call('GET', '/revocations', { token: assertion(app, { ...options, claims: { kids } }) })
const secrets = async (): Promise<Json> => (await service.admin('GET', '/admin/secrets')).body
/** What is shown of the consumers of one app, by kid. */
async function seenOf(app: Json): Promise<Json> {
  const { consumers } = await secrets()
  return Object.fromEntries(consumers.filter((each: Json) => each.app_code === app.code).map((each: Json) => [each.kid, each]))
}
const rowsOf = (app: Json) => service.deps.db('consumer_secrets').where({ app_id: app.id })

describe('a server with two secrets', () => {
  // covers auth-rotation
  test('tokens signed with either secret are accepted, and new ones are signed with the current one', async () => {
    const app = await newApp()
    const { access_token } = await buildUser(service, app)
    const header = JSON.parse(Buffer.from(access_token.split('.')[0]!, 'base64url').toString())
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT', kid: current })
    const claims = claimsOf(access_token)
    const tokens = [
      access_token,
      forgeToken(claims, { secret: previousSecret, header: { kid: previous } }),
      forgeToken(claims, { secret: ACCESS_SECRET }),
    ]
    for (const token of tokens) {
      expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
      const asked = { token: assertion(app, {}), body: { token } }
      expect((await service.call('POST', '/auth/introspect', asked)).body.active).toBe(true)
    }
    const crossed = forgeToken(claims, { secret: previousSecret, header: { kid: current } })
    expectError(await service.call('GET', '/auth/me', { token: crossed }), 'token_invalid')
  })

  test('assertions signed with either secret open the feed, and those signed with a third do not', async () => {
    const app = await newApp()
    for (const secret of [ACCESS_SECRET, previousSecret]) expect((await poll(app, [kidOf(secret)], { secret })).status).toBe(200)
    expectError(await poll(app, [], { secret: 'a secret that nobody ever set here, 32 characters' }), 'token_invalid')
  })
})

describe('GET /admin/secrets', () => {
  test('the route names the secrets of the server by key id and shows no secret', async () => {
    const reply = await service.admin('GET', '/admin/secrets')
    expectHeaders(reply)
    expect(reply.body).toMatchObject({ current: { kid: current }, previous: { kid: previous } })
    expect(Object.keys(reply.body).sort()).toEqual([
      'access_token_seconds',
      'consumers',
      'current',
      'previous',
      'service_id',
      'signing_since',
    ])
    expect(JSON.stringify(reply.body)).not.toContain(ACCESS_SECRET.slice(0, 8))
    const single = await buildService()
    expect((await single.admin('GET', '/admin/secrets')).body).toEqual({
      service_id: expect.any(String),
      current: { kid: current },
      previous: null,
      signing_since: expect.stringMatching(/^\d{4}-.*Z$/),
      access_token_seconds: 900,
      consumers: [],
    })
  })

  test('the route lists which secrets the consumers of each app accept, and when each was last seen', async () => {
    const app = await newApp()
    const started = service.deps.clock()
    await poll(app, [current, previous])
    const seen = await seenOf(app)
    expect(Object.keys(seen).sort()).toEqual([current, previous].sort())
    for (const kid of [current, previous]) {
      expect(seen[kid]).toEqual({
        app_code: app.code,
        signing: 'shared',
        kid,
        is_ours: true,
        last_seen_at: expect.any(String),
        last_missing_at: null,
      })
      expect(Date.parse(seen[kid].last_seen_at)).toBeGreaterThanOrEqual(started)
    }
    await poll(app, ['0badcafe'])
    expect((await seenOf(app))['0badcafe'].is_ours).toBe(false)
  })

  test('the route shows that one instance of an app was not updated', async () => {
    const app = await newApp()
    await poll(app, [previous])
    expect(Object.keys(await seenOf(app))).toEqual([previous])
    service.advance(120)
    const updated = service.deps.clock()
    await poll(app, [current, previous])
    const between = (await seenOf(app))[current]
    expect(Date.parse(between.last_seen_at)).toBeGreaterThanOrEqual(updated)
    expect(Date.parse(between.last_missing_at)).toBeLessThan(updated)
    // The instance that was not updated calls again.
    await poll(app, [previous])
    expect(Date.parse((await seenOf(app))[current].last_missing_at)).toBeGreaterThanOrEqual(updated)
    expect((await seenOf(app))[previous].last_missing_at).toBeNull()
  })

  test('consumers that do not say what they accept have a line without kid', async () => {
    const app = await newApp()
    await poll(app, [])
    await poll(app, [current])
    const seen = await seenOf(app)
    expect(Object.keys(seen).sort()).toEqual([current, 'null'].sort())
    expect(seen.null).toMatchObject({ kid: null, is_ours: false })
    expect(seen[current].last_missing_at).not.toBeNull()
  })

  test('the time at which a consumer was seen is written at most once a minute', async () => {
    const app = await newApp()
    const times = async () => (await rowsOf(app)).map((row: Json) => row.last_seen_at)
    await poll(app, [current])
    const [first] = await times()
    for (let count = 0; count < 20; count += 1) await poll(app, [current])
    service.advance(50)
    await poll(app, [current])
    expect(await times()).toEqual([first])
    service.advance(15)
    await Promise.all(Array.from({ length: 10 }, () => poll(app, [current])))
    const [second] = await times()
    expect(second - first).toBeGreaterThanOrEqual(60_000)
  })

  test('a consumer with an open stream counts as seen all the time', async () => {
    const app = await newApp()
    const url = `${service.url}/api/v1/revocations/stream`
    const stream = await openEventStream(url, assertion(app, { claims: { kids: [previous, current] } }))
    const opened = Date.parse((await seenOf(app))[current].last_seen_at)
    service.advance(3_600)
    await tendStreams(service.deps)
    expect(Date.parse((await seenOf(app))[current].last_seen_at) - opened).toBeGreaterThanOrEqual(3_600_000)
    expect(await rowsOf(app)).toHaveLength(1)
    stream.close()
  })

  test('a consumer that is behind stays listed among made-up key sets, and the list stays small', async () => {
    const app = await newApp()
    await poll(app, [current, previous])
    service.advance(120)
    await poll(app, [previous], { secret: previousSecret })
    const seenBehind = service.deps.clock()
    service.advance(1)
    const madeUp = Array.from({ length: 20 }, (_, index) => (0xa0000000 + index).toString(16))
    // All of them hold the current key, so none of them is behind.
    const sets = madeUp.flatMap((kid) => [
      [current, kid],
      [current, previous, kid],
    ])
    for (const kids of sets.slice(0, 20)) await poll(app, kids)
    await Promise.all(sets.slice(20).map((kids) => poll(app, kids)))
    const { last_missing_at } = (await seenOf(app))[current]
    expect(Math.abs(Date.parse(last_missing_at) - seenBehind)).toBeLessThan(1_000)
    expect((await rowsOf(app)).length).toBeLessThanOrEqual(9)
  })

  test('open streams with made-up key sets do not make the list grow', async () => {
    const app = await newApp()
    const url = `${service.url}/api/v1/revocations/stream`
    const streams = []
    for (let index = 0; index < 20; index += 1)
      streams.push(await openEventStream(url, assertion(app, { claims: { kids: [current, (0xb0000000 + index).toString(16)] } })))
    await poll(app, [previous], { secret: previousSecret })
    service.advance(120)
    await tendStreams(service.deps)
    const rows: Json[] = await rowsOf(app)
    expect(rows.length).toBeLessThanOrEqual(10)
    expect(rows.map(({ kids }) => kids)).toContain(previous)
    for (const stream of streams) stream.close()
  })

  test('the list is bounded, even with made-up keys, and consumers unseen for long are removed', async () => {
    const app = await newApp()
    await poll(app, [current])
    service.advance(1)
    for (let index = 0; index < 40; index += 1) {
      await poll(app, [index.toString(16).padStart(8, '0')])
      service.advance(1)
    }
    expect((await rowsOf(app)).length).toBeLessThanOrEqual(5)
    const last = (39).toString(16).padStart(8, '0')
    expect(Object.keys(await seenOf(app))).toContain(last)
    await service.admin('DELETE', `/admin/apps/${app.code}?force=true`)
    expect(await rowsOf(app)).toEqual([])

    const old = await newApp()
    await poll(old, [current])
    service.advance(91 * 86_400)
    await removeExpired(service.deps)
    expect(await rowsOf(old)).toEqual([])
  })
})
