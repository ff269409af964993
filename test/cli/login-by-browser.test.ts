// `authctl login` through the browser: what it does with answers that a healthy service seldom gives.
// test/e2e/authctl-login.test.ts signs in at a real one.
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startPatientClock } from '../support/patient-clock.ts'
import { apiError, errorOf, type Machine, machine, reply, type StandIn, standIn, type Terminal } from './sandbox.ts'

const tokens = {
  token_type: 'Bearer',
  access_token: 'access-1',
  expires_in: 900,
  refresh_token: 'refresh-1',
  refresh_expires_in: 9000,
  user: { id: 'u-1', email: 'ada@example.com' },
  organization: null,
  scope: '',
}
const issuer = 'https://login.example'
const metadata = { issuer, authorization_endpoint: `${issuer}/oauth/authorize` }
const metadataPath = '/.well-known/oauth-authorization-server'

/** A service whose sign-in page the tests play themselves. `exchange` is its answer to the code. */
const startService = (exchange: { status: number; body: unknown } = { status: 200, body: tokens }) =>
  standIn(({ path }, response) => {
    if (path === metadataPath) reply(response, 200, metadata)
    else if (path === '/oauth/token') reply(response, exchange.status, exchange.body)
    else if (path === '/oauth/revoke') reply(response, 200, {})
    else reply(response, 404, apiError(404, 'not_found'))
  })

/** The environment of a machine whose browser writes down the pages that it opens. */
function withBrowser({ folder }: Machine, script = `echo "$1" >> ${join(folder, 'opened')}`) {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(bin, 'xdg-open'), 0o755)
  return { DISPLAY: ':0', SSH_TTY: '', PATH: `${bin}:${process.env.PATH}` }
}

async function openedPage({ folder }: Machine): Promise<URL> {
  const path = join(folder, 'opened')
  await expect.poll(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'), { interval: 10 }).toBe(true)
  return new URL(readFileSync(path, 'utf8').trim())
}

interface Waiting {
  here: Machine
  service: StandIn
  login: Terminal
  asked: Record<string, string>
  /** Sends the browser back to authctl. */
  answer(query: Record<string, string>, init?: RequestInit): Promise<{ status: number; text: string }>
}

/** Starts a login, which has opened the browser and waits. */
async function begin(flags = '', service = startService()): Promise<Waiting> {
  const here = machine()
  const { url } = await service
  const login = here.terminal(`login --base-url ${url} ${flags}`, { env: withBrowser(here), columns: 1000 })
  const page = await openedPage(here)
  expect(page.origin + page.pathname).toBe(metadata.authorization_endpoint)
  const asked = Object.fromEntries(page.searchParams)
  const answer: Waiting['answer'] = async (query, init) => {
    const back = new URLSearchParams({ iss: issuer, state: asked.state!, ...query })
    const response = await fetch(`${asked.redirect_uri}?${back}`, init)
    return { status: response.status, text: await response.text() }
  }
  return { here, service: await service, login, asked, answer }
}

const exchangesOf = ({ requests }: StandIn) =>
  requests.filter(({ path }) => path === '/oauth/token').map(({ body }) => JSON.parse(body))

test('login opens and prints the address, signs in with the answer, and says so in the browser', async () => {
  const { here, service, login, asked, answer } = await begin('--email ada@example.com')
  expect(asked).toEqual({
    client_id: 'authctl',
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    response_type: 'code',
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
    state: expect.stringMatching(/^[\w-]{43}$/),
    login_hint: 'ada@example.com',
  })
  const { status, text } = await answer({ code: 'c-1' })
  expect([status, text]).toEqual([
    200,
    expect.stringMatching(/signed in at http:\S+ as ada@example\.com\. You can close this window/),
  ])
  const { screen, exit } = await login.ended()
  expect(exit).toBe(0)
  expect(screen).toContain(`${metadata.authorization_endpoint}?client_id=authctl&`)
  expect(screen).not.toContain('Password:')
  const [{ code_verifier, ...grant }] = exchangesOf(service)
  expect(grant).toEqual({
    grant_type: 'authorization_code',
    client_id: 'authctl',
    code: 'c-1',
    redirect_uri: asked.redirect_uri,
  })
  expect(hash('sha256', code_verifier, 'base64url')).toBe(asked.code_challenge)
  const { base_url, email, tokens } = here.readContexts().contexts.default!
  expect({ base_url, email, tokens }).toMatchObject({
    base_url: service.url,
    email: 'ada@example.com',
    tokens: { access_token: 'access-1', refresh_token: 'refresh-1' },
  })
  for (const secret of ['access-1', 'refresh-1', 'c-1', code_verifier]) expect(screen).not.toContain(secret)
})

test('the port of login ignores other requests, and a repeated answer gets the same page', async () => {
  let release = () => {}
  const held = standIn(({ path }, response) => {
    if (path === metadataPath) reply(response, 200, metadata)
    else release = () => reply(response, 200, tokens)
  })
  const { service, login, asked, answer } = await begin('--email ada@example.com', held)
  const port = new URL(asked.redirect_uri!).origin
  expect((await fetch(`${port}/favicon.ico`)).status).toBe(404)
  expect((await fetch(port)).status).toBe(404)
  expect((await answer({ code: 'c-1' }, { method: 'POST' })).status).toBe(404)
  expect((await answer({ code: 'c-1' }, { method: 'HEAD' })).status).toBe(404)
  expect((await answer({ code: 'c-1', state: 'forged' })).status).toBe(400)
  expect((await answer({ error: 'access_denied', state: 'forged' })).status).toBe(400)
  expect(exchangesOf(service)).toEqual([])
  const first = answer({ code: 'c-1' })
  await expect.poll(() => exchangesOf(service).length, { interval: 10 }).toBe(1)
  const second = request(`${asked.redirect_uri}?${new URLSearchParams({ code: 'c-1', state: asked.state!, iss: issuer })}`)
  const answered = once(second, 'response')
  await once(second.end(), 'finish')
  // This is answered only after the request before it has arrived.
  await fetch(`${port}/favicon.ico`)
  release()
  const [message] = await answered
  expect([(await first).status, await readAll(message)]).toEqual([200, (await first).text])
  expect((await login.ended()).exit).toBe(0)
  expect(exchangesOf(service).length).toBe(1)
})

test.each([
  [
    { error: 'access_denied', error_description: 'The <b>person</b> has refused' },
    'access_denied',
    'The <b>person</b> has refused',
  ],
  [{ error: 'server_error' }, 'server_error', 'server_error'],
  [{ code: 'c-1', iss: 'https://evil.example' }, 'issuer_mismatch', 'not from the service'],
  [{ iss: issuer }, 'invalid_answer', 'has no code'],
] as [Record<string, string>, string, string][])(
  'the answer %j ends login with exit 4, and nothing is exchanged',
  async (query, code, words) => {
    const { here, service, login, answer } = await begin('--json')
    const { text } = await answer(query)
    expect(text).toContain('You are not signed in')
    expect(text).not.toContain('<b>')
    const { screen, exit } = await login.ended()
    expect(exit).toBe(4)
    expect(screen).toContain(`"code":"${code}"`)
    expect(screen).toContain(words)
    expect(exchangesOf(service)).toEqual([])
    expect(existsSync(here.contextsPath)).toBe(false)
  },
)

test('a code that the service refuses ends login with exit 4 and the command to sign in', async () => {
  const body = { error: 'invalid_grant', error_description: 'The code has expired', code: 'invalid_grant', request_id: 'r-1' }
  const { login, answer } = await begin('', startService({ status: 400, body }))
  expect((await answer({ code: 'c-1' })).text).toContain('The code has expired')
  const { screen, exit } = await login.ended()
  expect(exit).toBe(4)
  expect(screen).toMatch(/The code has expired[\s\S]*authctl login/)
})

test.each(['', '--email bob@example.com'])(
  'an account that was not named (%j) is kept only after a yes, as another user may have answered',
  async (flags) => {
    const refusing = await begin(flags)
    const { text } = await refusing.answer({ code: 'c-1' })
    expect(text).toMatch(/Go back to the terminal[\s\S]*There authctl asks whether to go on at http:\S+ as ada@example\.com\./)
    expect(text).not.toMatch(/signed in/)
    await refusing.login.shows('Go on as ada@example.com?')
    refusing.login.type('no\r')
    expect((await refusing.login.ended()).exit).not.toBe(0)
    expect(existsSync(refusing.here.contextsPath)).toBe(false)
    const revoked = refusing.service.requests.find(({ path }) => path === '/oauth/revoke')
    expect(JSON.parse(revoked?.body ?? '{}')).toEqual({ token: 'refresh-1', client_id: 'authctl' })

    const agreeing = await begin(flags)
    await agreeing.answer({ code: 'c-1' })
    await agreeing.login.shows('Go on as ada@example.com?')
    agreeing.login.type('yes\r')
    expect((await agreeing.login.ended()).exit).toBe(0)
  },
)

test('Ctrl-C ends login at once and closes its port', async () => {
  const { login, asked } = await begin()
  const clock = startPatientClock()
  login.type('\u0003')
  expect((await login.ended()).exit).toBe(130)
  expect(clock()).toBeLessThan(1_500)
  await expect(fetch(asked.redirect_uri!)).rejects.toThrow()
})

test('a connection that a browser keeps open does not keep login running', async () => {
  const { login, asked, answer } = await begin('--email ada@example.com')
  const { port } = new URL(asked.redirect_uri!)
  const idle = connect(Number(port), '127.0.0.1').on('error', () => {})
  await answer({ code: 'c-1' })
  const clock = startPatientClock()
  expect((await login.ended()).exit).toBe(0)
  expect(clock()).toBeLessThan(5_000)
  idle.destroy()
})

test.each(['exit 3', 'missing'])(
  'login without a browser (%s) says so, and continues with one that the person opens',
  async (kind) => {
    const here = machine()
    const { url } = await startService()
    const env = withBrowser(here, 'exit 3')
    if (kind === 'missing') env.PATH = join(here.folder, 'nowhere')
    const login = here.terminal(`login --base-url ${url} --email ada@example.com --quiet`, { env, columns: 1000 })
    await login.shows('open the page yourself')
    const page = new URL(/https:\S+/.exec(login.screen())![0])
    const { redirect_uri, state } = Object.fromEntries(page.searchParams)
    await fetch(`${redirect_uri}?${new URLSearchParams({ code: 'c-1', state: state!, iss: issuer })}`)
    expect((await login.ended()).exit).toBe(0)
  },
)

test.each([
  ['--no-browser', {}],
  ['over SSH', { SSH_CONNECTION: '10.0.0.1 50000 10.0.0.2 22' }],
  ['without a display', { DISPLAY: '' }],
])('login asks for the password on the terminal: %s', async (kind, env) => {
  const here = machine()
  const { url, requests } = await startService()
  const flags = kind.startsWith('--') ? kind : ''
  const login = here.terminal(`login --base-url ${url} ${flags}`, { env: { ...withBrowser(here), ...env } })
  await login.shows('E-mail:')
  login.type('ada@example.com\r')
  await login.shows('Password:')
  login.type('\u0003')
  expect((await login.ended()).exit).toBe(130)
  expect(requests).toEqual([])
})

test.each([
  ['an older service', (response: Parameters<typeof reply>[0]) => reply(response, 404, apiError(404, 'not_found'))],
  ['a proxy in front of it', (response: Parameters<typeof reply>[0]) => void response.writeHead(403).end('<h1>Forbidden</h1>')],
  ['another page there', (response: Parameters<typeof reply>[0]) => void response.writeHead(200).end('<h1>Welcome</h1>')],
  [
    'a page of another kind',
    (response: Parameters<typeof reply>[0]) => reply(response, 200, { issuer, authorization_endpoint: 'file:///' }),
  ],
])('login asks for the password on the terminal if the sign-in page is missing: %s', async (_, answer) => {
  const here = machine()
  const { url } = await standIn(({ path }, response) => (path === metadataPath ? answer(response) : reply(response, 200, tokens)))
  const login = here.terminal(`login --base-url ${url} --email ada@example.com`, { env: withBrowser(here) })
  await login.shows('has no sign-in page')
  await login.shows('Password:')
  login.type('a password\r')
  expect((await login.ended()).exit).toBe(0)
  expect(existsSync(join(here.folder, 'opened'))).toBe(false)
})

test('login exits with 7 before it opens a page if the service does not answer', async () => {
  const here = machine()
  const { screen, exit } = await here.terminal('login --base-url http://127.0.0.1:9', { env: withBrowser(here) }).ended()
  expect(exit).toBe(7)
  expect(screen).toContain('cannot reach')
  expect(existsSync(join(here.folder, 'opened'))).toBe(false)
})

test('login opens no browser with --dry-run or without a terminal', async () => {
  const here = machine()
  const { url } = await startService()
  const env = withBrowser(here)
  const piped = await here.authctlProcess(`login --base-url ${url} --email ada@example.com --json`, { env })
  expect([piped.exit, errorOf(piped).message]).toEqual([2, '--password-stdin is required'])
  const planned = here.terminal(`login --base-url ${url} --email ada@example.com --dry-run`, { env })
  await planned.shows('Password:')
  planned.type('a password\r')
  expect((await planned.ended()).exit).toBe(0)
  expect(existsSync(join(here.folder, 'opened'))).toBe(false)
})
