// How `authctl` reaches a service: TLS, proxies, and answers that break off half-way.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { selfSigned } from '../support/self-signed.ts'
import { errorOf, machine, parsed, reply, standIn } from './sandbox.ts'

const noApps = { items: [], next_cursor: null }
const at = (url: string) => ({ AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url })

test('authctl refuses a self-signed certificate unless NODE_EXTRA_CA_CERTS contains it', async () => {
  const server = createServer(selfSigned, (_, response) => reply(response, 200, noApps)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const here = machine()
  const env = at(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)

  const refused = await here.authctlProcess('app list --json', { env })
  expect(refused.exit).toBe(7)
  expect(errorOf(refused)).toMatchObject({ code: 'unreachable', message: expect.stringContaining('SELF_SIGNED') })

  const authority = join(here.folder, 'ca.pem')
  writeFileSync(authority, selfSigned.cert)
  const taken = await here.authctlProcess('app list --json', { env: { ...env, NODE_EXTRA_CA_CERTS: authority } })
  expect({ ...taken, stderr: '' }).toEqual({ stdout: '[]\n', stderr: '', exit: 0 })
})

test('NODE_USE_ENV_PROXY=1 sends requests through HTTP_PROXY, unless NO_PROXY has the host', async () => {
  const service = await standIn((_, response) => reply(response, 200, noApps))
  const proxy = await standIn((_, response) => reply(response, 200, noApps))
  const here = machine()
  const env = { ...at('http://auth.example:4000'), NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' }
  expect(parsed(await here.authctlProcess('app list --json', { env }))).toEqual([])
  expect(proxy.requests.map(({ path }) => path)).toEqual([expect.stringContaining('auth.example:4000/api/v1/admin/apps')])

  expect(parsed(await here.authctlProcess('app list --json', { env: { ...env, AUTHCTL_BASE_URL: service.url } }))).toEqual([])
  expect({ service: service.requests.length, proxy: proxy.requests.length }).toEqual({ service: 1, proxy: 1 })
})

test('an answer that breaks off exits with 7, and one that stalls is awaited until --timeout', async () => {
  const { url } = await standIn(({ path }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"items": [')
    if (path.includes('/apps')) response.socket?.resetAndDestroy()
  })
  const { authctl } = machine()
  const broken = await authctl('app list --json', { env: at(url) })
  expect({ stdout: broken.stdout, exit: broken.exit }).toEqual({ stdout: '', exit: 7 })
  expect(errorOf(broken)).toMatchObject({ code: 'unreachable' })
  const stopped = await authctl('role list --json --timeout 300ms', { env: at(url) })
  expect(stopped.exit).toBe(7)
  expect(errorOf(stopped)).toMatchObject({ code: 'timeout' })
})

test('a character that arrives in two pieces is put together', async () => {
  const app = { id: 'a', code: 'shop', name: 'Käsladen 漢字' }
  const { url } = await standIn(async (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    for (const byte of Buffer.from(JSON.stringify({ items: [app], next_cursor: null }))) {
      response.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  expect(parsed(await machine().authctl('app list --json', { env: at(url) }))).toEqual([app])
})
