// `authctl dashboard` as seen by other programs on the machine, other sites and other users.
// test/e2e/dashboard.test.ts tests its looks.
import { writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startPatientClock } from '../support/patient-clock.ts'
import { apiError, gatehouseFixture, type Machine, machine, type Running, register, reply, standIn } from './sandbox.ts'

/** The bound is 200 ms; the rest is for a busy machine. */
const longestMs = 1_500
const { service, signedInOnce } = gatehouseFixture()

/** The figures of a service where nothing happens. */
const empty = {
  at: '2030-05-01T12:00:00.000Z',
  logins: { since: '2030-05-01T11:00:00.000Z', counted_since: '2030-05-01T11:00:00.000Z', outcomes: [], steps: [] },
  failing_addresses: [],
  failing_emails: [],
  locked: { count: 0, items: [] },
  outbox: [],
  failed_webhooks: [],
  consumers: { app_count: 0, behind_count: 0, behind: [] },
}

function tokenFile({ folder }: Machine): string {
  const path = join(folder, 'token')
  writeFileSync(path, 'a-secret-token')
  return path
}

interface Got {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

interface Served {
  running: Running
  url: string
  port: number
  token: string
  /** Sends one request to its port, with exactly this path and these headers. */
  ask(path: string, options?: RequestOptions): Promise<Got>
  /** Requests a page by the part of its path after the token. */
  page(name: string): Promise<Got>
}

async function serve(here: Machine, flags = ''): Promise<Served> {
  const running = here.start(`dashboard ${flags}`)
  const url = await running.line()
  const [, port = '', token = ''] = /^http:\/\/127\.0\.0\.1:(\d+)\/([\w-]{43})\/$/.exec(url) ?? []
  expect(token, url).not.toBe('')
  const ask: Served['ask'] = (path, options = {}) => askPort(Number(port), path, options)
  return { running, url, port: Number(port), token, ask, page: (name) => ask(`/${token}/${name}`) }
}

function askPort(port: number, path: string, options: RequestOptions): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, agent: false, ...options }, async (response) => {
      resolve({ status: response.statusCode!, headers: response.headers, text: await readAll(response) })
    })
    sent.once('error', reject).end()
  })
}

/** Sends text unchanged and returns the first line of the answer. */
function askRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.end(text))
    let got = ''
    socket.setEncoding('utf8').on('data', (part) => {
      got += part
    })
    socket.once('error', reject).once('close', () => resolve(got.split('\r\n')[0] ?? ''))
  })
}

test('the dashboard answers only its own address, and 404 under another name or path', async () => {
  const { ask, port, token } = await serve(await signedInOnce())
  const good = await ask(`/${token}/`)
  expect(good.status).toBe(200)
  expect(good.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    ),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'content-type': 'text/html; charset=utf-8',
  })

  // DNS rebinding: a page of a site whose name resolves to 127.0.0.1 sends requests with that name as the host.
  const names = [
    'evil.example',
    `evil.example:${port}`,
    `localhost:${port}`,
    '127.0.0.1',
    `127.0.0.1:${port + 1}`,
    `127.0.0.1.:${port}`,
  ]
  const refusals = await Promise.all([
    ...names.map((host) => ask(`/${token}/`, { headers: { host } })),
    // Another user of the machine knows only the port.
    ...[
      '/',
      '/users',
      `/${token}`,
      `//${token}/`,
      `/${token.slice(0, -1)}/`,
      `/${'A'.repeat(43)}/`,
      `/${token}/users/`,
      `/${token}/nothing`,
    ].map((path) => ask(path)),
    ask(`/${token}/../${token}/users`),
    ask(`http://127.0.0.1:${port}/${token}/`),
    ask(`/${token}/__proto__`),
  ])
  for (const { status, text, headers } of refusals) {
    expect([status, text]).toEqual([404, 'not found'])
    expect(headers['referrer-policy']).toBe('no-referrer')
  }
  const twice = `GET /${token}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`
  expect(await askRaw(port, twice)).toMatch(/^HTTP\/1\.1 40[04] /)
  expect(await askRaw(port, `GET /${token}/ HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 404 /)

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
    const { status, headers } = await ask(`/${token}/`, { method })
    expect([method, status, headers.allow]).toEqual([method, 405, 'GET'])
  }
})

test('another origin cannot read the dashboard, and another address of the machine cannot reach it', async () => {
  const { ask, port, token } = await serve(await signedInOnce())
  const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'GET' }
  for (const [method, headers] of [
    ['GET', { origin: 'https://evil.example' }],
    ['OPTIONS', preflight],
  ] as const) {
    const answer = await ask(`/${token}/`, { method, headers })
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin')
  }
  for (const host of ['127.0.0.2', '::1'])
    await expect(askPort(port, `/${token}/`, { host })).rejects.toMatchObject({ code: expect.stringMatching(/^E/) })
})

test('each dashboard has another token', async () => {
  const here = await signedInOnce()
  const [one, other] = [await serve(here), await serve(here)]
  expect(one.token).not.toBe(other.token)
  expect((await other.ask(`/${one.token}/`)).status).toBe(404)
})

test('the dashboard shows users, grants and events, escaped, and never a token', async () => {
  const here = await signedInOnce()
  await here.authctl('app create shop --name Shop --auto-grant')
  const hostile = '<script>alert(1)</script>\u202e"'
  const person = { email: 'eve@example.com', password: 'correct horse battery', app_code: 'shop', first_name: hostile }
  const { user } = await register(service.url, person)
  const { page } = await serve(here)

  const users = await page('users?q=EVE@')
  expect(users.text).toContain('eve@example.com')
  expect(users.text).toContain('&#60;script&#62;alert(1)&#60;/script&#62;\\u202e&#34;')
  expect(users.text).not.toContain('<script')
  expect(users.text).toContain(`./sessions?user=${user.id}`)
  expect((await page('users?q=nobody-at-all')).text).toContain('No users.')

  for (const query of ['app=shop', 'user=eve@example.com', `user=${user.id}&app=shop`]) {
    const { status, text } = await page(`grants?${query}`)
    expect([query, status, text.includes('auto_grant') || text.includes('Active') || text.includes('active')]).toEqual([
      query,
      200,
      true,
    ])
  }
  expect((await page('grants')).text).toContain('Fill in user or app')
  const audit = await page('audit?event=user.registered&user=eve@example.com&since=1h')
  expect(audit.text).toContain('user.registered')
  expect(audit.text).toMatch(/<option value="user\.registered" selected>/)
  expect((await page('webhooks?app=shop')).text).toContain('No deliveries.')
  expect((await page('')).text).toContain('<svg')

  const { tokens } = here.readContexts().contexts.default!
  for (const name of ['', 'users', `grants?user=${user.id}`, 'audit', 'webhooks?app=shop']) {
    const { text } = await page(name)
    for (const secret of Object.values(tokens!)) if (typeof secret === 'string') expect(text).not.toContain(secret)
  }
})

test('a wrong entry is explained on the page, beside the form as it was filled in', async () => {
  const { page } = await serve(await signedInOnce())
  for (const [path, status, message] of [
    ['audit?since=sometime&ip=192.0.2.1', 400, 'since sometime is not a valid time'],
    ['grants?user=nobody@example.com', 404, 'no user matches nobody@example.com'],
    ['webhooks?app=../users', 400, 'is not a valid code of an app'],
    ['webhooks?app=no-such-app', 404, 'No app has the code or id no-such-app'],
    ['users?cursor=wrong', 400, 'cursor: must be a cursor of this list'],
    ['users?status=%22%3E%3Cb%3E', 400, 'status'],
  ] as const) {
    const answer = await page(path)
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.text).toContain('role="alert"')
    expect(answer.text).toContain(message)
    expect(answer.text).not.toContain('"><b>')
  }
  expect((await page('audit?since=sometime&ip=192.0.2.1')).text).toContain('value="192.0.2.1"')
})

test('the dashboard asks for sessions by user id, and lists continue by their cursor', async () => {
  const id = '01997c2f-0000-7000-8000-000000000001'
  const at = '2030-05-01T12:00:00.000Z'
  const session = { id, app: { id, code: 'shop' }, auth_method: 'password', ip: '192.0.2.1', user_agent: 'curl/8' }
  const times = { created_at: at, last_used_at: at, expires_at: at, current: false }
  const there = await standIn(({ path }, response) => {
    if (path.includes('/sessions')) reply(response, 200, { items: [{ ...session, ...times }], next_cursor: 'the next' })
    else reply(response, 200, { ...empty, at })
  })
  const here = machine()
  const { page } = await serve(here, `--base-url ${there.url} --token-file ${tokenFile(here)}`)
  const { status, text } = await page(`sessions?user=${id}`)
  expect(status).toBe(200)
  expect(text).toContain('curl/8')
  expect(text).toContain(`./sessions?user=${id}&#38;cursor=the+next`)
  await page(`sessions?user=${id}&cursor=the+next`)
  const asked = there.requests.map(({ path }) => path).filter((path) => path.includes('/sessions'))
  expect(asked).toEqual([
    `/api/v1/admin/users/${id}/sessions?limit=50`,
    `/api/v1/admin/users/${id}/sessions?limit=50&cursor=the%20next`,
  ])
})

test('the dashboard says at once that the service is away or the session has ended', async () => {
  let turns: [status: number, code: string] | undefined
  const there = await standIn((_, response) => {
    if (turns) reply(response, turns[0], apiError(...turns), { 'retry-after': '15' })
    else reply(response, 200, empty)
  })
  const here = machine()
  const { page } = await serve(here, `--base-url ${there.url} --token-file ${tokenFile(here)}`)
  for (const each of [
    [503, 'unavailable'],
    [401, 'token_revoked'],
  ] as [number, string][]) {
    turns = each
    const before = there.requests.length
    const { status, text } = await page('')
    expect([status, text.includes(`it is ${each[1]}`)]).toEqual([502, true])
    expect(there.requests.length - before).toBe(1)
  }
  turns = undefined
  expect((await page('')).status).toBe(200)
})

test('Ctrl-C ends the dashboard at once, even while a page is loading', async () => {
  const there = await standIn(({ turn }, response) => {
    if (turn === 1) reply(response, 200, empty)
  })
  const here = machine()
  const { running, page } = await serve(here, `--base-url ${there.url} --token-file ${tokenFile(here)}`)
  const cut = page('').catch((error: Error) => error)
  await expect.poll(() => there.requests.length).toBe(2)
  const clock = startPatientClock()
  running.interrupt()
  expect(await running.exit).toBe(130)
  expect(clock()).toBeLessThan(longestMs)
  expect(await cut).toBeInstanceOf(Error)
})

test('the dashboard refuses a user who is not signed in, a taken port and an invalid port', async () => {
  const here = machine()
  expect((await here.authctlProcess(`dashboard --base-url ${service.url}`)).exit).toBe(4)
  const signedIn = await signedInOnce()
  const { port } = await serve(signedIn)
  const taken = await signedIn.authctlProcess(`dashboard --port ${port}`)
  expect([taken.exit, taken.stderr.includes('another --port')]).toEqual([6, true])
  expect((await signedIn.authctl('dashboard --port 70000')).exit).toBe(2)
})
