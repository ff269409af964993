import { expect, test } from 'vitest'
import { apiError, errorOf, machine, reply, standIn } from './sandbox.ts'

const profile = {
  user: { id: 'u', email: 'ada@example.com', namespace: 'default' },
  app: null,
  roles: [],
  permissions: [],
  organizations: [],
  two_factor: false,
}
const at = (url: string) => ({ env: { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url } })

test('authctl exits with 7 and a hint if nobody listens', async () => {
  const refused = await machine().authctl('whoami --json', at('http://127.0.0.1:9'))
  expect({ stdout: refused.stdout, exit: refused.exit }).toEqual({ stdout: '', exit: 7 })
  expect(errorOf(refused)).toMatchObject({ code: 'unreachable', hint: expect.stringContaining('--base-url'), exit: 7 })
})

test('authctl exits with 7 if no answer arrives within --timeout', async () => {
  const { url } = await standIn(() => {})
  const late = await machine().authctl('whoami --json --timeout 200ms', at(url))
  expect(late.exit).toBe(7)
  expect(errorOf(late)).toMatchObject({ code: 'timeout', hint: expect.stringContaining('--timeout') })
})

test.each([429, 500, 502, 503, 504])('authctl tries again after %i and Retry-After, and then uses the answer', async (status) => {
  const { url, requests } = await standIn(({ turn }, response) =>
    turn < 3 ? reply(response, status, apiError(status, 'busy'), { 'retry-after': '0' }) : reply(response, 200, profile),
  )
  const { exit, stdout } = await machine().authctl('whoami --json', at(url))
  expect({ exit, requests: requests.length, email: JSON.parse(stdout).email }).toEqual({
    exit: 0,
    requests: 3,
    email: 'ada@example.com',
  })
})

test.each([429, 503])('authctl exits with 7 after repeated %i, also for a write', async (status) => {
  const { url, requests } = await standIn((_, response) =>
    reply(response, status, apiError(status, 'busy'), { 'retry-after': '0' }),
  )
  for (const command of ['whoami --json', 'app create shop --name Shop --json']) {
    requests.length = 0
    const failed = await machine().authctl(command, at(url))
    expect({ exit: failed.exit, requests: requests.length }).toEqual({ exit: 7, requests: 4 })
    expect(errorOf(failed)).toMatchObject({ code: 'busy', request_id: 'request-1', exit: 7 })
  }
})

test('authctl does not repeat a POST that may have been executed', async () => {
  const { url, requests } = await standIn((_, response) => reply(response, 502, apiError(502, 'bad_gateway')))
  expect((await machine().authctl('app create shop --name Shop', at(url))).exit).toBe(7)
  expect(requests).toHaveLength(1)
})

test('authctl reports a long Retry-After instead of waiting', async () => {
  const { url, requests } = await standIn((_, response) =>
    reply(response, 429, apiError(429, 'rate_limited'), { 'retry-after': '300' }),
  )
  const limited = await machine().authctl('whoami --json', at(url))
  expect({ exit: limited.exit, requests: requests.length }).toEqual({ exit: 7, requests: 1 })
  expect(errorOf(limited).hint).toBe('try again in 300 s')
})

test('authctl exits with 7 if something else answers at the address', async () => {
  const { url } = await standIn(({ path }, response) => {
    if (path.includes('shop')) response.writeHead(302, { location: 'https://elsewhere.example/' }).end()
    else response.writeHead(path.includes('me') ? 200 : 404, { 'content-type': 'text/html' }).end('<h1>hello</h1>')
  })
  const { authctl } = machine()
  expect(errorOf(await authctl('whoami --json', at(url)))).toMatchObject({ code: 'unexpected_answer', exit: 7 })
  expect((await authctl('app list', at(url))).exit).toBe(7)
  const redirected = await authctl('app show shop', at(url))
  expect(redirected.exit).toBe(7)
  expect(redirected.stderr).toContain('https://elsewhere.example/')
})

test('a sign-in that fails at the service keeps the old session', async () => {
  const { url } = await standIn(({ path, turn }, response) => {
    const tokens = {
      token_type: 'Bearer',
      access_token: 'a',
      expires_in: 900,
      refresh_token: 'r',
      refresh_expires_in: 9000,
      user: { id: 'u', email: 'ada@example.com' },
    }
    if (path.endsWith('/login') && turn === 1) reply(response, 200, tokens)
    else if (path.endsWith('/me')) reply(response, 200, profile)
    else reply(response, 500, apiError(500, 'internal_error'), { 'retry-after': '0' })
  })
  const here = machine()
  await here.login(url)
  const failed = await here.authctl(`login --email ada@example.com --password-stdin --base-url ${url}`, { input: 'x' })
  expect(failed.exit).toBe(7)
  expect((await here.authctl('whoami')).exit).toBe(0)
  const out = await here.authctl('logout')
  expect(out.exit).toBe(7)
  expect(here.readContexts().contexts.default!.tokens).toBe(null)
})

test('an answer of the wrong shape is reported as a bug with exit 1, and --debug shows where', async () => {
  const { url } = await standIn((_, response) => reply(response, 200, {}))
  const { authctl } = machine()
  const bug = await authctl('whoami --json', at(url))
  expect({ stdout: bug.stdout, exit: bug.exit }).toEqual({ stdout: '', exit: 1 })
  expect(errorOf(bug)).toMatchObject({ code: 'bug', hint: expect.stringContaining('--debug'), exit: 1 })
  expect((await authctl('whoami --debug', at(url))).stderr).toMatch(/\n +at .*session\.ts:\d+/)
})
