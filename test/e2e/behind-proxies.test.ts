// A server behind real proxies, which share their connections to it among all clients. If a proxy and the server disagreed about
// where a request ends, one client could put a request of its own before that of another.
import { request as sendRequest } from 'node:http'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, someEmail } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { ambiguousRequests, http2Requests, oddRequests, sendBytes } from '../support/hostile-http.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { proxyKinds, type ReverseProxy, startReverseProxy } from '../support/reverse-proxies.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'

/** On Linux, every address of 127.0.0.0/8 is one of this machine. */
const client = '127.0.0.2'
const lanes = 6
const appCode = 'shop'

async function startService(): Promise<ServerInstance> {
  const database = await createDatabase('sqlite')
  onFileEnd(() => database.drop())
  const server = await startInstance({ DATABASE_URL: database.url, AUTH_TRUST_PROXY: '1', ...bootstrapAdmin }, onFileEnd)
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const body = { code: appCode, name: 'Shop', auto_grant_on_signup: true }
  expect(await server.call('POST', '/admin/apps', { body, token })).toMatchObject({ status: 201 })
  return server
}

async function newUser(server: ServerInstance): Promise<Json> {
  const body = { email: someEmail(), password: PASSWORD, app_code: appCode }
  return (await server.call('POST', '/auth/register', { body })).body
}

const requestsOf = (server: ServerInstance): Json[] =>
  server.lines().flatMap((line) => (line.includes('"msg":"request"') ? [JSON.parse(line)] : []))

interface Answer {
  status: number
  headers: Record<string, string | undefined>
  body: Json
}

/** A request of an ordinary client, on a connection of its own. `headers` are sent as they are. */
function ask(port: number, path: string, headers: string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = sendRequest(
      { port, host: '127.0.0.1', path, localAddress: client, agent: false, headers: ['Host', 'x', ...headers] },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('error', reject)
        response.on('end', () => {
          const body = text.startsWith('{') ? JSON.parse(text) : text
          resolve({ status: response.statusCode!, headers: response.headers as Answer['headers'], body })
        })
      },
    )
    sent.on('error', reject).end()
  })
}

/** Runs the work for each of the list, some at a time. */
async function inLanes<T>(list: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const left = [...list]
  const lane = async () => {
    for (let each = left.shift(); each !== undefined; each = left.shift()) await work(each)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

test('the service answers no request that is hidden in the body of an ambiguous one', async () => {
  const server = await startService()
  await inLanes(ambiguousRequests, async ([, bytes]) => void (await sendBytes(Number(new URL(server.url).port), bytes)))
  expect(requestsOf(server).length).toBeGreaterThan(5)
  expect(requestsOf(server).filter(({ path }) => path.includes('hidden'))).toEqual([])
})

describe('bytes after a request that are not HTTP', () => {
  let port: number
  beforeAll(async () => {
    port = Number(new URL((await startService()).url).port)
  })
  const login = JSON.stringify({ email: ADMIN_EMAIL, password: PASSWORD, app_code: 'authctl' })
  const head = 'Host: x\r\nContent-Type: application/json\r\n'
  const statusesIn = (answer: string) => [...answer.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)

  test('such bytes get no answer in place of the answer to the request', async () => {
    const whole = `POST /api/v1/auth/login HTTP/1.1\r\n${head}Content-Length: ${login.length}\r\n\r\n${login}`
    expect(statusesIn(await sendBytes(port, Buffer.from(`${whole}no HTTP`)))).toEqual([])
  })

  test('such bytes in the body of a request get no answer after its own', async () => {
    const early = `POST /nowhere HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`
    expect(statusesIn(await sendBytes(port, Buffer.from(early), { next: 'no chunk' }))).toEqual(['404'])
  })

  test('such bytes are answered with 400 if no request waits', async () => {
    const whole = 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n'
    expect(statusesIn(await sendBytes(port, Buffer.from(whole), { next: 'no HTTP' }))).toEqual(['200', '400'])
    const unread = `POST /api/v1/auth/login HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nno chunk`
    expect(statusesIn(await sendBytes(port, Buffer.from(unread)))).toEqual(['400'])
  })
})

test('a connection ends after chunks in HTTP/1.0, which does not define them', async () => {
  const port = Number(new URL((await startService()).url).port)
  const request = 'POST /nowhere HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  expect(await sendBytes(port, Buffer.from(request))).toContain('\r\nConnection: close\r\n')
})

describe.each(proxyKinds)('the service behind %s', (kind) => {
  let server: ServerInstance
  let proxy: ReverseProxy
  let obstacle: string | undefined
  let user: Json
  let other: Json

  beforeAll(async () => {
    server = await startService()
    const started = await startReverseProxy(kind, server.url).catch((error: Error) => {
      obstacle = error.message
      process.stderr.write(`[gatehouse] tests behind ${kind} are skipped: ${obstacle}\n`)
    })
    if (!started) return
    proxy = started
    onFileEnd(() => proxy.stop())
    ;[user, other] = [await newUser(server), await newUser(server)]
  })
  beforeEach(({ skip }) => {
    if (obstacle !== undefined) skip(obstacle)
  })

  const bearer = ({ access_token }: Json) => `Bearer ${access_token}`

  /** The requests that reached the service since then, except those that the proxy knows. Each id counts once. */
  function unknownSince(before: number): Json[] {
    const ids = proxy.ids()
    return requestsOf(server)
      .slice(before)
      .filter(({ request_id }) => !ids.delete(request_id))
  }

  test.each([
    ['ambiguous', [...ambiguousRequests, ...oddRequests], () => proxy.port],
    ['HTTP/2', http2Requests, () => proxy.http2Port],
  ] as const)(
    'the service reads %s requests as the proxy did, and others get their own answers meanwhile',
    async (_, list, port) => {
      const before = requestsOf(server).length
      await inLanes(list, async ([name, bytes]) => {
        await sendBytes(port(), bytes, { from: client })
        for (const each of [user, other]) {
          const { status, headers, body } = await ask(proxy.port, '/api/v1/auth/me', ['Authorization', bearer(each)])
          expect([name, status, body.user?.id]).toEqual([name, 200, each.user.id])
          expect([name, headers['x-request-id']]).toEqual([name, headers['x-proxy-id']])
        }
      })
      expect(requestsOf(server).length).toBeGreaterThan(before + 2 * list.length)
      // A proxy logs a request when it has ended.
      await expect.poll(() => unknownSince(before)).toEqual([])
    },
  )

  test('a request that bypasses the proxy would be noticed', async () => {
    const before = requestsOf(server).length
    await server.call('GET', '/health')
    expect(unknownSince(before)).toHaveLength(1)
  })

  test.each([
    ['an address', ['X-Forwarded-For', '192.0.2.1']],
    ['a list', ['X-Forwarded-For', '192.0.2.1, 127.0.0.1']],
    ['a list that ends with a comma', ['X-Forwarded-For', '192.0.2.1,']],
    ['two headers', ['X-Forwarded-For', '192.0.2.1', 'x-forwarded-for', '192.0.2.2']],
    ['no address', ['X-Forwarded-For', 'unknown']],
    ['a similar name', ['X_Forwarded_For', '192.0.2.1']],
    ['headers of other proxies', ['Forwarded', 'for=192.0.2.1', 'X-Real-IP', '192.0.2.1', 'True-Client-IP', '192.0.2.1']],
    ['a header that Connection removes', ['Connection', 'close, X-Forwarded-For', 'X-Forwarded-For', '192.0.2.1']],
    ['ten thousand', ['X-Forwarded-For', '192.0.2.1,'.repeat(700)]],
  ])('the address of a client is that of its connection, whatever X-Forwarded-For says: %s', async (_, headers) => {
    const before = requestsOf(server).length
    expect((await ask(proxy.port, '/api/v1/health', headers)).status).toBe(200)
    expect(
      requestsOf(server)
        .slice(before)
        .map(({ ip }) => ip),
    ).toEqual([client])
  })

  test('two Authorization headers open nothing, whatever their form', async () => {
    const [mine, theirs] = [bearer(user), bearer(other)]
    for (const headers of [
      ['Authorization', mine, 'Authorization', theirs],
      ['authorization', mine, 'AUTHORIZATION', theirs],
      ['Authorization', mine, 'Authorization', mine],
      ['Authorization', `${mine}, ${theirs}`],
      ['Authorization', '', 'Authorization', mine],
    ]) {
      const { status } = await ask(proxy.port, '/api/v1/auth/me', headers)
      expect([400, 401]).toContain(status)
    }
    const { status, body } = await ask(proxy.port, '/api/v1/auth/me', ['Proxy-Authorization', theirs, 'Authorization', mine])
    expect([status, body.user.id]).toEqual([200, user.user.id])
  })
})
