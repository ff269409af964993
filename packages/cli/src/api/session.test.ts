import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openContexts } from '../command-line/contexts.ts'
import { exchangeHttp } from '../network/exchange-http.ts'
import { bodyOf, createApi, type Wire } from './api-client.ts'
import { contextSession } from './session.ts'

/** A service that accepts only the access tokens it has just renewed. */
async function serviceWithNewSecret() {
  const requests: string[] = []
  const server = createServer((request, response) => {
    request.resume()
    requests.push(request.url!)
    const tokens = { access_token: `new-${requests.length}`, expires_in: 900, refresh_token: 'next', refresh_expires_in: 9000 }
    const isAccepted = request.headers.authorization?.startsWith('Bearer new-')
    const [status, body] = request.url!.endsWith('/refresh')
      ? [200, tokens]
      : isAccepted
        ? [200, { items: [], next_cursor: null }]
        : [401, { code: 'token_invalid' }]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

test('concurrent requests that the service refuses share one renewal of the token', async () => {
  const { baseUrl, requests } = await serviceWithNewSecret()
  const folder = mkdtempSync(join(tmpdir(), 'authctl-session-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const hour = Date.now() + 3_600_000
  const tokens = {
    access_token: 'old',
    access_expires_at: hour,
    renew_at: hour,
    refresh_token: 'first',
    refresh_expires_at: hour,
  }
  const context = { base_url: baseUrl, email: null, tokens }
  writeFileSync(
    join(folder, 'contexts.json'),
    JSON.stringify({ version: 1, current: 'default', contexts: { default: context } }),
    {
      mode: 0o600,
    },
  )
  const contexts = openContexts(folder)
  const wire = {
    world: { exchange: exchangeHttp, now: Date.now },
    io: { complain() {}, note() {} },
    settings: { timeoutMs: 10_000 },
  } as unknown as Wire
  const connection = {
    contextName: 'default',
    context,
    baseUrl,
    token: undefined,
    isStandardAddress: false,
    isContextNamed: false,
  }
  const session = contextSession(wire, contexts, connection)
  const api = createApi(wire, baseUrl, session)
  const lists = await Promise.all(Array.from({ length: 8 }, () => bodyOf(api.GET('/api/v1/admin/apps'))))
  expect(lists).toHaveLength(8)
  expect(requests.filter((path) => path.endsWith('/refresh'))).toHaveLength(1)
  expect(contexts.read().contexts.default!.tokens!.refresh_token).toBe('next')
})
