import { createHmac, hkdfSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Auth, type AuthEvent, type AuthOptions, createAuth } from './index.ts'
import { useFakeTimers } from './test-timers.ts'
import { CLAIMS, createKid, NOW, PREVIOUS_SECRET, SECRET, signToken } from './test-tokens.ts'

// Against servers that speak the protocol, or something like it. Only the test moves the timers. The network is real.

let nowMs: number
beforeEach(() => {
  nowMs = NOW * 1000
  useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Moves the clock and the timers, and lets the network run in between, so that no answer takes as long as a time-out. */
async function advance(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    nowMs += Math.min(left, 1_000)
    vi.advanceTimersByTime(Math.min(left, 1_000))
    await settle(5)
  }
}

/** Lets the network run until the condition holds. */
async function until(holds: () => unknown): Promise<void> {
  for (const end = performance.now() + 5_000; !holds(); ) {
    if (performance.now() > end) throw new Error(`never: ${holds}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Lets the network run for a while, to show that something does not happen. */
async function settle(ms = 60): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) await new Promise((resolve) => setImmediate(resolve))
}

const OTHER_APP = '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c99'
let lastCursor = 100
/** An event about the user of the tests. By default it revokes all tokens below version 9, in every app. */
const event = (members: object = {}) => {
  lastCursor += 1
  const at = new Date(nowMs).toISOString()
  return { cursor: lastCursor, user_id: CLAIMS.uid, app_id: null, session_id: null, min_tv: 9, at, ...members }
}
type Event = ReturnType<typeof event>
const frame = (sent: Event) => `id: ${sent.cursor}\ndata: ${JSON.stringify(sent)}\n\n`

type Answer = (response: ServerResponse, request: IncomingMessage) => void
const page =
  (items: Event[] = [], more: object = {}): Answer =>
  (response) => {
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(JSON.stringify({ items, cursor: lastCursor, has_more: false, reset: false, ...more }))
  }
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end('{}')
/** A refusal in the service's error shape. */
const refusing =
  (code: number): Answer =>
  (response) =>
    void response
      .writeHead(code, { 'content-type': 'application/json' })
      .end(JSON.stringify({ status: code, code: 'token_invalid', title: 'The token is not valid' }))
const openStream: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': open\n\n')
}

/** A service that answers as the test says. By default nothing was revoked and the stream is open. */
async function buildService(answers: { poll?: Answer; stream?: Answer } = {}) {
  const service = {
    url: '',
    poll: answers.poll ?? page(),
    stream: answers.stream ?? openStream,
    polls: [] as IncomingMessage[],
    streams: [] as { request: IncomingMessage; response: ServerResponse }[],
    send: (text: string | Uint8Array) => service.streams.at(-1)!.response.write(text),
    /** Breaks every connection. */
    drop: () => server.closeAllConnections(),
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://x')
    if (pathname === '/api/v1/revocations/stream') {
      service.streams.push({ request, response })
      service.stream(response, request)
    } else if (pathname === '/api/v1/revocations') {
      service.polls.push(request)
      service.poll(response, request)
    } else response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return service
}

function buildAuth(url: string, options: AuthOptions = {}): { auth: Auth; events: AuthEvent[] } {
  const events: AuthEvent[] = []
  const auth = createAuth({
    authUrl: url,
    appCode: 'billing',
    secret: SECRET,
    issuer: 'gatehouse',
    now: () => nowMs,
    onEvent: (event) => events.push(event),
    logger: false,
    ...options,
  })
  onTestFinished(() => auth.close())
  return { auth, events }
}

const token = signToken({ exp: NOW + 100_000 })
const codeOf = async (auth: Auth, presented: string = token) => {
  const result = await auth.safeVerify(presented)
  return result.ok ? 'ok' : result.error.code
}
const typesOf = (events: AuthEvent[]) => events.map(({ type }) => type.replace('revocation.', ''))

/** A feed that is connected: the snapshot is read, the stream is open. */
async function buildConnected(options: AuthOptions = {}, answers: { poll?: Answer; stream?: Answer } = {}) {
  const service = await buildService(answers)
  const { auth, events } = buildAuth(service.url, options)
  await until(() => events.some((event) => event.type === 'revocation.connected' && event.transport === 'stream'))
  return { service, auth, events }
}

const ofEverybody = { user_id: null, min_tv: null }

describe('the effect of revocations', () => {
  test.for<[string, object, string]>([
    ['a token below the minimum version of its user is refused in every app', {}, 'TOKEN_REVOKED'],
    ['a token below the minimum version of its user in this app is refused', { app_id: CLAIMS.app_id }, 'TOKEN_REVOKED'],
    [
      'a token whose session has ended is refused',
      { app_id: CLAIMS.app_id, session_id: CLAIMS.sid, min_tv: null },
      'TOKEN_REVOKED',
    ],
    ['a token of exactly the minimum version is accepted', { min_tv: CLAIMS.tv }, 'ok'],
    ['a minimum version for another app does not count', { app_id: OTHER_APP }, 'ok'],
    ['a minimum version of another user does not count', { user_id: CLAIMS.sid }, 'ok'],
    ['the end of another session does not count', { session_id: CLAIMS.jti, min_tv: null }, 'ok'],
    [
      'a token issued before the earliest time of issue of its app is refused',
      { ...ofEverybody, app_id: CLAIMS.app_id, min_iat: NOW + 1 },
      'TOKEN_REVOKED',
    ],
    [
      'a token issued before the earliest time of issue of all apps is refused',
      { ...ofEverybody, min_iat: NOW + 1 },
      'TOKEN_REVOKED',
    ],
    ['a token issued at the earliest time of issue is accepted', { ...ofEverybody, app_id: CLAIMS.app_id, min_iat: NOW }, 'ok'],
    ['the earliest time of issue of another app does not count', { ...ofEverybody, app_id: OTHER_APP, min_iat: NOW + 1 }, 'ok'],
  ])('%s', async ([, members, code]) => {
    const first = await buildConnected({}, { poll: page([event(members)]) })
    expect(await codeOf(first.auth)).toBe(code)
    const second = await buildConnected()
    second.service.send(frame(event(members)) + frame(event({ user_id: OTHER_APP })))
    const other = signToken({ uid: OTHER_APP, exp: NOW + 100_000 })
    await until(() => !trySync(second.auth, other))
    expect(await codeOf(second.auth)).toBe(code)
  })

  test('the highest minimum token version of a user counts, in whatever order they arrive', async () => {
    const { auth } = await buildConnected({}, { poll: page([event({ min_tv: 9 }), event({ min_tv: 2 })]) })
    expect(await codeOf(auth, signToken({ tv: 8 }))).toBe('TOKEN_REVOKED')
    expect(await codeOf(auth, signToken({ tv: 9 }))).toBe('ok')
  })

  test('a token that is invalid for another reason gets its own code although it is revoked', async () => {
    const { auth } = await buildConnected({}, { poll: page([event()]) })
    expect(await codeOf(auth, signToken({ exp: NOW - 60 }))).toBe('TOKEN_EXPIRED')
    expect(await codeOf(auth, signToken({ app_id: '' }))).toBe('APP_MISMATCH')
  })

  test('a token that was seen before is refused once it is revoked', async () => {
    const { service, auth } = await buildConnected({ cacheTokens: 10 })
    expect(await codeOf(auth)).toBe('ok')
    service.send(frame(event()))
    await until(() => !trySync(auth, token))
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
  })

  test('verifySync refuses a revoked token like verify', async () => {
    const { auth } = await buildConnected({}, { poll: page([event()]) })
    expect(() => auth.verifySync(token)).toThrow(expect.objectContaining({ code: 'TOKEN_REVOKED', status: 401 }))
  })
})

function trySync(auth: Auth, presented: string): boolean {
  try {
    auth.verifySync(presented)
    return true
  } catch {
    return false
  }
}

describe('the feed', () => {
  test('the feed is read with an assertion that opens nothing else and has a key of its own', async () => {
    const { service } = await buildConnected({ secret: [SECRET, PREVIOUS_SECRET] })
    for (const { headers } of [service.polls[0]!, service.streams[0]!.request]) {
      const [header, payload, signature] = headers.authorization!.replace('Bearer ', '').split('.') as [string, string, string]
      const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
      const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'gatehouse-consumer', 32))
      expect(signature).toBe(createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url'))
      expect(parse(header)).toEqual({ alg: 'HS256', typ: 'consumer+jwt', kid: createKid(SECRET) })
      const kids = [createKid(SECRET), createKid(PREVIOUS_SECRET)]
      expect(parse(payload)).toEqual({ sub: 'billing', iat: NOW - 30, exp: NOW + 30, kids })
    }
  })

  test('the feed is read page by page and then followed from the last cursor', async () => {
    const first = event({ user_id: OTHER_APP })
    const second = event()
    const answers = [page([first], { cursor: first.cursor, has_more: true }), page([second], { cursor: second.cursor })]
    const { service, auth } = await buildConnected({}, { poll: (...args) => answers.shift()!(...args) })
    expect(service.polls.map(({ url }) => url)).toEqual([
      '/api/v1/revocations?form=2',
      `/api/v1/revocations?form=2&since=${first.cursor}`,
    ])
    expect(service.streams[0]!.request.url).toBe('/api/v1/revocations/stream?form=2')
    expect(service.streams[0]!.request.headers['last-event-id']).toBe(String(second.cursor))
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
  })

  test.each(['/', '/api/v1', '/api/v1/'])('the feed is found if the address ends in %j', async (path) => {
    const service = await buildService()
    const { events } = buildAuth(service.url + path)
    await until(() => events.length > 0)
    expect(typesOf(events)).toEqual(['connected'])
  })

  test.each([
    ['repeats a page', {}],
    ['says on each page that it has a new database', { reset: true }],
  ])('the feed gives up on a service that %s, and asks again later', async (_, more) => {
    const service = await buildService({ poll: page([event()], { cursor: 7, has_more: true, ...more }) })
    const { auth, events } = buildAuth(service.url)
    await until(() => events.length > 0)
    await settle()
    expect(events).toEqual([expect.objectContaining({ reason: 'the cursor does not advance' })])
    expect(service.polls).toHaveLength(2)
    // What it did say counts.
    expect(await auth.safeVerify(signToken())).toMatchObject({ error: { code: 'TOKEN_REVOKED' } })
  })

  test('the feed understands a stream however it is cut', async () => {
    const { service, auth } = await buildConnected()
    const sent = event({ user_id: OTHER_APP, note: 'é' })
    const text = `: heartbeat\r\n\r\nid: ${sent.cursor}\r\nevent: revocation\r\ndata: ${JSON.stringify(sent)}\r\n\r\n${frame(event())}`
    for (const byte of Buffer.from(text)) {
      service.send(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => !trySync(auth, token))
    expect(trySync(auth, signToken({ uid: OTHER_APP }))).toBe(false)
  })

  test('the feed forgets the revocations of another database when the service reports a new one', async () => {
    const { service, auth } = await buildConnected({}, { poll: page([event()]) })
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
    service.poll = page([], { cursor: 3, reset: true })
    service.send('event: reset\ndata: {}\n\n')
    await until(() => !auth.health().revocation.connected)
    await advance(1_000)
    await until(() => service.streams.length === 2)
    expect(await codeOf(auth)).toBe('ok')
    expect(service.streams[1]!.request.headers['last-event-id']).toBe('3')
  })

  test('the feed keeps its revocations until all of a new database are known, even if the list breaks off', async () => {
    const { service, auth } = await buildConnected({}, { poll: page([event()]) })
    const first = event({ user_id: OTHER_APP })
    const answers = [page([first], { cursor: 3, has_more: true, reset: true }), status(503), page([], { cursor: 4 })]
    service.poll = (...args) => (answers.shift() ?? page([], { cursor: 4 }))(...args)
    service.send('event: reset\ndata: {}\n\n')
    await until(() => !auth.health().revocation.connected)
    await advance(1_000)
    await until(() => answers.length === 1)
    await settle()
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
    await advance(5_000)
    await until(() => auth.health().revocation.connected)
    expect(await codeOf(auth)).toBe('ok')
    expect(await auth.safeVerify(signToken({ uid: OTHER_APP }))).toMatchObject({ error: { code: 'TOKEN_REVOKED' } })
  })

  test('the feed is on by default, and health shows it', async () => {
    const { auth } = await buildConnected()
    expect(auth.health().revocation).toEqual({ mode: 'feed', connected: true, ageSec: 0 })
    nowMs += 12_900
    expect(auth.health().revocation).toEqual({ mode: 'feed', connected: true, ageSec: 12 })
  })

  test('the feed is off by default if the runtime is not Node', async () => {
    const service = await buildService()
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    onTestFinished(() => void vi.unstubAllGlobals())
    expect(buildAuth(service.url).auth.health().revocation).toEqual({ mode: 'off', connected: false, ageSec: null })
    expect(buildAuth(service.url, { revocation: { mode: 'feed' } }).auth.health().revocation.mode).toBe('feed')
  })

  test('the feed uses the fetch of the options', async () => {
    const service = await buildService()
    const asked: string[] = []
    const { events } = buildAuth(service.url, {
      fetch: (url, init) => {
        asked.push(String(url))
        return fetch(url, init)
      },
    })
    await until(() => events.length === 2)
    expect(asked).toEqual([`${service.url}/api/v1/revocations?form=2`, `${service.url}/api/v1/revocations/stream?form=2`])
  })
})

describe('events of a newer service', () => {
  const unknown: [string, unknown][] = [
    ['of another kind', { kind: 'device', device_id: 'd' }],
    ['without a minimum version', { user_id: CLAIMS.uid, app_id: null, session_id: null, min_tv: null }],
    ['of nobody', { session_id: null, min_tv: 9 }],
    ['about a user, with an unknown kind of minimum', { user_id: CLAIMS.uid, app_id: null, min_iat: 2 * NOW }],
    ['that is a text', 'new'],
    ['that is null', null],
  ]
  test.for(unknown)('an unknown event is skipped and counted, and does not end the feed: one %s', async ([, sent]) => {
    const item = typeof sent === 'object' && sent !== null ? { cursor: ++lastCursor, ...sent } : sent
    const { service, auth, events } = await buildConnected({}, { poll: page([item as Event]) })
    expect(events.filter(({ type }) => type === 'revocation.skipped')).toEqual([{ type: 'revocation.skipped', count: 1 }])
    expect(await codeOf(auth)).toBe('ok')
    service.send(`data: ${JSON.stringify(sent)}\n\n${frame(event())}`)
    await until(() => !trySync(auth, token))
    expect(events.at(-1)).toEqual({ type: 'revocation.skipped', count: 2 })
    expect(auth.health().revocation.connected).toBe(true)
    expect(service.streams).toHaveLength(1)
  })
})

describe('the app of the feed', () => {
  const ofApp =
    (id: string, answer: Answer): Answer =>
    (response, request) => {
      response.setHeader('x-app-id', id)
      answer(response, request)
    }
  const otherToken = signToken({ app_id: OTHER_APP, exp: NOW + 100_000 })

  test('the id of the app is learned, and a token of an earlier app with the same code is refused', async () => {
    const answers = { poll: ofApp(OTHER_APP, page()), stream: ofApp(OTHER_APP, openStream) }
    const service = await buildService({ ...answers, poll: () => {} })
    const { auth, events } = buildAuth(service.url, { cacheTokens: 10 })
    await until(() => service.polls.length === 1)
    expect([await codeOf(auth), await codeOf(auth, otherToken)]).toEqual(['ok', 'ok'])
    service.poll = answers.poll
    service.stream = answers.stream
    service.drop()
    await until(() => events.length > 0)
    await advance(1_000)
    await until(() => auth.health().revocation.connected)
    // A token that was verified before, and is remembered, is refused too.
    expect([await codeOf(auth), await codeOf(auth, otherToken)]).toEqual(['APP_MISMATCH', 'ok'])
  })

  test('the id of the app stays required for the life of the process, and another feed is refused and logged', async () => {
    const lines: string[] = []
    const service = await buildService({ poll: ofApp(CLAIMS.app_id, page()), stream: ofApp(CLAIMS.app_id, openStream) })
    const { auth, events } = buildAuth(service.url, { logger: { warn: (line) => void lines.push(line) } })
    await until(() => events.length === 2)
    service.poll = ofApp(OTHER_APP, page([event()]))
    service.stream = ofApp(OTHER_APP, openStream)
    service.drop()
    await until(() => !auth.health().revocation.connected)
    await advance(1_000)
    const reason = `X-App-Id ${OTHER_APP}, not ${CLAIMS.app_id}`
    await until(
      () => events.at(-1)!.type === 'revocation.disconnected' && (events.at(-1) as { reason: string }).reason === reason,
    )
    expect(lines.filter((line) => line.includes(reason))).toHaveLength(1)
    expect([await codeOf(auth), await codeOf(auth, otherToken)]).toEqual(['ok', 'APP_MISMATCH'])
  })

  test('SERVICE_APP_ID wins over the id that the feed reports', async () => {
    const lines: string[] = []
    const service = await buildService({ poll: ofApp(OTHER_APP, page()), stream: ofApp(OTHER_APP, openStream) })
    const { auth, events } = buildAuth(service.url, { appId: CLAIMS.app_id, logger: { warn: (line) => void lines.push(line) } })
    await until(() => events.length > 0)
    const reason = `X-App-Id ${OTHER_APP}, not ${CLAIMS.app_id}`
    expect(events[0]).toMatchObject({ type: 'revocation.disconnected', reason })
    expect(lines).toEqual([`gatehouse: revocations cannot be read from ${service.url}: ${reason}`])
    expect([await codeOf(auth), await codeOf(auth, otherToken)]).toEqual(['ok', 'APP_MISMATCH'])
  })

  test('the service need not send the id of the app', async () => {
    const { auth } = await buildConnected()
    expect([await codeOf(auth), await codeOf(auth, otherToken)]).toEqual(['ok', 'ok'])
  })
})

describe('a rotation of the secret', () => {
  /** Accepts only assertions that were signed with this secret. */
  const only =
    (secret: string, answer: Answer): Answer =>
    (response, request) => {
      const kid = JSON.parse(Buffer.from(request.headers.authorization!.slice(7).split('.')[0]!, 'base64url').toString()).kid
      return (kid === createKid(secret) ? answer : status(401))(response, request)
    }

  test('the feed shows the previous secret if the service refuses the current one', async () => {
    const answers = { poll: only(PREVIOUS_SECRET, page([event()])), stream: only(PREVIOUS_SECRET, openStream) }
    const { auth, events } = await buildConnected({ secret: [SECRET, PREVIOUS_SECRET] }, answers)
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
    expect(typesOf(events)).toEqual(['connected', 'connected'])
  })
})

describe('an outage of the service', () => {
  test('verification continues with the known revocations, the outage is reported once, and the feed resumes', async () => {
    const { service, auth, events } = await buildConnected({}, { poll: page([event()]) })
    const seen = lastCursor
    service.poll = service.stream = (response) => void response.destroy()
    service.drop()
    await until(() => !auth.health().revocation.connected)
    await advance(180_000)
    expect(service.polls.length).toBeGreaterThan(10)
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
    expect(await codeOf(auth, signToken({ uid: OTHER_APP, exp: NOW + 1000 }))).toBe('ok')
    expect(auth.health().revocation).toEqual({ mode: 'feed', connected: false, ageSec: 180 })
    const told = typesOf(events)
    expect(told.filter((type) => type === 'stale')).toHaveLength(1)
    expect(told.filter((type) => type === 'disconnected').length).toBeLessThanOrEqual(2)

    const missed = event({ user_id: OTHER_APP })
    service.poll = page([missed])
    service.stream = openStream
    await advance(15_000)
    await until(() => auth.health().revocation.connected)
    expect(service.polls.at(-1)!.url).toBe(`/api/v1/revocations?form=2&since=${seen}`)
    expect(await codeOf(auth, signToken({ uid: OTHER_APP, exp: NOW + 1000 }))).toBe('TOKEN_REVOKED')
  })

  test('the feed reconnects at once, then at random intervals of up to 5 s', async () => {
    // Each answer is different, since the same reason is reported only once.
    let code = 500
    const service = await buildService({ poll: (...args) => status(code++)(...args) })
    const { events } = buildAuth(service.url)
    await advance(90_000)
    const delays = events.flatMap((event) => (event.type === 'revocation.disconnected' ? [event.retryInMs] : []))
    expect(delays.slice(0, 8)).toEqual([100, 200, 400, 800, 1600, 2500, 2500, 2500])
    // Each wait is half of the longest one.
    expect(service.polls.length).toBeLessThan(42)
    expect(typesOf(events).filter((type) => type === 'stale')).toHaveLength(1)
  })

  test('the log reports an outage that lasts, and a service without a stream', async () => {
    const lines: string[] = []
    const { service, auth } = await buildConnected({ logger: { warn: (line) => void lines.push(line) } })
    await advance(5_000)
    service.drop()
    await until(() => !auth.health().revocation.connected)
    await advance(1_000)
    await until(() => auth.health().revocation.connected)
    await advance(5_000)
    expect(lines).toEqual([])
    service.poll = service.stream = status(503)
    service.drop()
    await until(() => !auth.health().revocation.connected)
    await advance(20_000)
    const unavailable = `revocations cannot be read from ${service.url}: HTTP 503 (not an answer of the service)`
    expect(lines).toEqual([`gatehouse: ${unavailable}`])
    service.poll = page()
    await advance(10_000)
    await until(() => lines.length > 1)
    const noStream = `no stream comes through from ${service.url}: HTTP 503 (not an answer of the service)`
    expect(lines.slice(1)).toEqual([`gatehouse: ${noStream}`])
  })

  test('verification works without revocations if the service was never there, and the age is null', async () => {
    const { auth, events } = buildAuth('http://127.0.0.1:9')
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ type: 'revocation.disconnected', reason: expect.stringMatching(/\w/) })
    expect(auth.health().revocation).toEqual({ mode: 'feed', connected: false, ageSec: null })
    expect(await codeOf(auth)).toBe('ok')
  })
})

describe("onStale: 'deny'", () => {
  const revocation = { mode: 'feed', onStale: 'deny', maxStaleSec: 30 } as const

  test('a token is answered 503 before the feed was read, and accepted afterwards', async () => {
    let answer = () => {}
    const service = await buildService({
      poll(...args) {
        answer = () => page()(...args)
      },
    })
    const { auth, events } = buildAuth(service.url, { revocation })
    expect(await auth.safeVerify(token)).toMatchObject({ ok: false, error: { code: 'REVOCATION_UNAVAILABLE', status: 503 } })
    await until(() => service.polls.length === 1)
    answer()
    await until(() => events.length > 0)
    expect(await codeOf(auth)).toBe('ok')
  })

  test('a token is answered 503 once the feed is older than maxStaleSec, and a revoked one 401', async () => {
    const { service, auth, events } = await buildConnected({ revocation }, { poll: page([event({ user_id: OTHER_APP })]) })
    service.poll = service.stream = (response) => void response.destroy()
    service.drop()
    await until(() => !auth.health().revocation.connected)
    nowMs += 29_000
    expect(await codeOf(auth)).toBe('ok')
    nowMs += 2_000
    expect(await codeOf(auth)).toBe('REVOCATION_UNAVAILABLE')
    expect(await codeOf(auth, signToken({ uid: OTHER_APP }))).toBe('TOKEN_REVOKED')
    service.poll = page()
    await advance(15_000)
    await until(() => events.at(-1)?.type === 'revocation.connected')
    expect(await codeOf(auth)).toBe('ok')
  })

  test('a feed does not become fresh because the clock was set back', async () => {
    const service = await buildService({ stream: status(404) })
    const { auth } = buildAuth(service.url, { revocation: { mode: 'feed', onStale: 'deny', maxStaleSec: 1 } })
    const old = signToken({ iat: NOW - 3_600, nbf: NOW - 3_600 })
    await until(() => auth.health().revocation.connected)
    nowMs -= 3_600_000
    expect((await auth.safeVerify(old)).ok).toBe(true)
    await settle(1_100)
    expect(await auth.safeVerify(old)).toMatchObject({ error: { code: 'REVOCATION_UNAVAILABLE' } })
    expect(auth.health().revocation.ageSec).toBe(1)
  })

  test('a quiet stream is not stale before a heartbeat is overdue', async () => {
    const { auth } = await buildConnected({ revocation: { ...revocation, maxStaleSec: 1 } })
    nowMs += 19_000
    expect(await codeOf(auth)).toBe('ok')
    nowMs += 2_000
    expect(await codeOf(auth)).toBe('REVOCATION_UNAVAILABLE')
  })
})

describe('networks that block streams', () => {
  const buffered: Answer = () => {}

  test.for<[string, Answer]>([
    ['a proxy that holds the stream back', buffered],
    ['a page in its place', (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['404', status(404)],
    ['501', status(501)],
  ])('the feed polls: %s', async ([, stream]) => {
    const service = await buildService({ stream })
    const { auth, events } = buildAuth(service.url)
    await until(() => service.streams.length === 1)
    await settle()
    service.poll = page([event()])
    await advance(5_000)
    await until(() => !trySync(auth, token))
    for (let i = 0; i < 4; i += 1) {
      await settle()
      await advance(5_000)
    }
    expect(service.polls.length).toBeGreaterThanOrEqual(4)
    expect(events).toEqual([{ type: 'revocation.connected', transport: 'poll' }])
    expect(auth.health().revocation).toMatchObject({ connected: true, ageSec: expect.any(Number) })
  })

  test('the feed gives up a silent stream after 20 s, tries again, and stops polling once a stream works', async () => {
    const service = await buildService({ stream: buffered })
    const { events } = buildAuth(service.url)
    await until(() => service.streams.length === 1)
    let isClosed = false
    service.streams[0]!.response.on('close', () => {
      isClosed = true
    })
    service.stream = openStream
    for (let i = 0; i < 6; i += 1) {
      await advance(5_000)
      await settle()
    }
    expect(isClosed).toBe(true)
    await until(() => events.length === 2)
    expect(events[1]).toEqual({ type: 'revocation.connected', transport: 'stream' })
    const { length } = service.polls
    await advance(5_000)
    await settle()
    await advance(5_000)
    await settle()
    expect(service.polls.length).toBe(length)
  })

  test('the feed gives up a stream whose heartbeat is overdue, and health shows it', async () => {
    const { service, auth, events } = await buildConnected()
    await advance(15_000)
    service.send(': heartbeat\n\n')
    await settle()
    await advance(19_000)
    await settle()
    expect(auth.health().revocation).toMatchObject({ connected: true, ageSec: 19 })
    // The server is frozen: it takes the connection, but does not answer.
    service.poll = () => {}
    await advance(1_000)
    await until(() => events.at(-1)!.type === 'revocation.disconnected')
    expect(events.at(-1)).toMatchObject({ reason: 'timeout' })
    expect(auth.health().revocation.connected).toBe(false)
    service.poll = page()
    await advance(15_000)
    await until(() => service.streams.length === 2)
  })
})

describe('a service that answers nonsense', () => {
  const json =
    (text: string): Answer =>
    (response) =>
      void response.setHeader('content-type', 'application/json').end(text)
  const hostilePolls: [string, Answer][] = [
    ['500', status(500)],
    ['a redirect', status(302, { location: '/api/v1/stolen' })],
    ['no JSON', json('<html>')],
    ['half of it', json('{"items":[')],
    ['null', json('null')],
    ['a list', json('[]')],
    ['items that are not a list', json('{"items":{},"cursor":1}')],
    ['no cursor', json('{"items":[]}')],
    [
      'another type of content',
      (response) => void response.setHeader('content-type', 'text/html').end('{"items":[],"cursor":1}'),
    ],
    ['a broken connection', (response) => void response.destroy()],
    ['an answer that breaks off', (response) => void response.writeHead(200, { 'content-length': '50' }).end('{"items":[')],
  ]
  test.for(hostilePolls)('verification and the feed survive this answer: %s', async ([, hostile]) => {
    const service = await buildService({ poll: hostile })
    const { auth, events } = buildAuth(service.url)
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ type: 'revocation.disconnected', retryInMs: 100 })
    expect(await codeOf(auth)).toBe('ok')
    expect(auth.health().revocation.ageSec).toBeNull()
    service.poll = page([event()])
    await advance(1_000)
    await until(() => !trySync(auth, token))
  })

  test('an incomplete answer is given up after 10 s', async () => {
    const service = await buildService({
      poll(response) {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{')
      },
    })
    const { events } = buildAuth(service.url)
    await until(() => service.polls.length === 1)
    await settle()
    await advance(6_000)
    await settle()
    expect(events).toEqual([])
    await advance(5_000)
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ reason: 'timeout' })
  })

  const hostileFrames: [string, string][] = [
    ['no JSON', 'data: <html>\n\n'],
    ['an event without end', `data: ${'x'.repeat(70_000)}`],
  ]
  test.for(hostileFrames)('the feed leaves a stream of %s and reads the missed events again', async ([, text]) => {
    const { service, auth, events } = await buildConnected()
    const seen = lastCursor
    service.poll = page([event()])
    service.send(text)
    await until(() => events.at(-1)!.type === 'revocation.disconnected')
    await advance(1_000)
    await until(() => !trySync(auth, token))
    expect(service.polls.at(-1)!.url).toBe(`/api/v1/revocations?form=2&since=${seen}`)
    await until(() => service.streams.length === 2)
  })

  test.for([401, 403, 404])('a refusal of the service with %i is reported once and tried again slowly', async (code) => {
    const service = await buildService({ poll: refusing(code) })
    const { auth, events } = buildAuth(service.url)
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ type: 'revocation.disconnected', reason: `HTTP ${code} token_invalid` })
    expect((events[0] as { retryInMs: number }).retryInMs).toBeGreaterThanOrEqual(30_000)
    await advance(29_000)
    await settle()
    expect(service.polls).toHaveLength(1)
    // In steps: one leap would run past the time-out of the second poll.
    for (let seconds = 0; service.polls.length < 2 && seconds < 20; seconds += 1) {
      await advance(1_000)
      await settle()
    }
    expect(service.polls).toHaveLength(2)
    await settle()
    expect(typesOf(events).filter((type) => type === 'disconnected')).toHaveLength(1)
    expect(await codeOf(auth)).toBe('ok')
  })

  test.for<[string, Answer]>([
    ['a page', (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>default backend - 404')],
    [
      'JSON of another shape',
      (response) => void response.writeHead(404, { 'content-type': 'application/json' }).end('{"status":"Failure","code":404}'),
    ],
  ])(
    'a 404 with %s from in front of the service is an outage, and the feed is back within 5 s of its end',
    async ([, answer]) => {
      const service = await buildService({ poll: answer })
      const { auth, events } = buildAuth(service.url)
      await until(() => events.length > 0)
      expect(events[0]).toMatchObject({ reason: 'HTTP 404 (not an answer of the service)', retryInMs: 100 })
      await advance(30_000)
      service.poll = page()
      await advance(5_000)
      await until(() => auth.health().revocation.connected)
    },
  )

  test('a connection that breaks each time does not restart the backoff', async () => {
    const { service, events } = await buildConnected()
    for (let i = 2; i < 7; i += 1) {
      service.drop()
      await until(() => events.at(-1)!.type === 'revocation.disconnected')
      await advance((events.at(-1) as { retryInMs: number }).retryInMs)
      await until(() => service.streams.length === i && events.at(-1)!.type === 'revocation.connected')
      await until(() => (events.at(-1) as { transport?: string }).transport === 'stream')
    }
    const delaysOf = () => events.flatMap((event) => (event.type === 'revocation.disconnected' ? [event.retryInMs] : []))
    expect(delaysOf()).toEqual([100, 200, 400, 800, 1600])

    // A connection that lasts for 5 s does.
    await advance(5_000)
    service.drop()
    await until(() => events.at(-1)!.type === 'revocation.disconnected')
    expect(delaysOf().at(-1)).toBe(100)
  })
})

describe('the feed and the app around it', () => {
  test('an error that onEvent throws, now or later, has no effect', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    onTestFinished(() => void process.off('unhandledRejection', unhandled))
    for (const onEvent of [
      () => {
        throw new Error('now')
      },
      async () => {
        throw new Error('later')
      },
    ]) {
      const service = await buildService()
      const { auth } = buildAuth(service.url, { onEvent })
      await until(() => service.streams.length === 1)
      service.drop()
      await until(() => !auth.health().revocation.connected)
      expect(await codeOf(auth)).toBe('ok')
    }
    await settle()
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('no event, health or printed auth shows a secret or an assertion', async () => {
    const { service, auth, events } = await buildConnected()
    service.drop()
    await until(() => events.length === 3)
    const { inspect } = await import('node:util')
    const printed = inspect([auth, events, auth.health()], { depth: null, showHidden: true })
    expect(printed).not.toContain(SECRET)
    expect(printed).not.toContain('eyJ')
  })

  test('close ends the stream and all timers, and tokens are still verified with the known revocations', async () => {
    const { service, auth, events } = await buildConnected({}, { poll: page([event()]) })
    const told = events.length
    let isClosed = false
    service.streams[0]!.response.on('close', () => {
      isClosed = true
    })
    await auth.close()
    await auth.close()
    await until(() => isClosed)
    expect(vi.getTimerCount()).toBe(0)
    await advance(60_000)
    await settle()
    expect(service.polls).toHaveLength(1)
    expect(events).toHaveLength(told)
    expect(auth.health().revocation.connected).toBe(false)
    expect(await codeOf(auth)).toBe('TOKEN_REVOKED')
  })
})
