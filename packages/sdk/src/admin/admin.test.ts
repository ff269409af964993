import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { AuthError } from '../errors.ts'
import { createAdmin } from './index.ts'

// test/contract/sdk-admin.test.ts tests the routes against the real service.

let url: string
let asked: string[] = []

beforeAll(async () => {
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    if (request.url!.includes('moved')) response.writeHead(302, { location: '/elsewhere' }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[],"next_cursor":null}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return () => {
    server.closeAllConnections()
    server.close()
  }
})

beforeEach(() => {
  asked = []
})

function setVariables(variables: Record<string, string>): void {
  const before = { ...process.env }
  Object.assign(process.env, variables)
  onTestFinished(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
    Object.assign(process.env, before)
  })
}

test('createAdmin sends the token and accepts an address with or without /api/v1 and slashes', async () => {
  for (const authUrl of [url, `${url}/`, `${url}/api/v1`, `${url}/api/v1/`])
    await createAdmin({ authUrl, token: 'gsa_1' }).GET('/api/v1/admin/apps', { params: { query: { limit: 5 } } })
  expect(asked).toEqual(Array.from({ length: 4 }, () => 'GET /api/v1/admin/apps?limit=5 Bearer gsa_1'))
})

test('a token function is called before each request and may return undefined', async () => {
  const tokens = ['first', 'second', undefined]
  const admin = createAdmin({ authUrl: url, token: async () => tokens.shift() })
  for (let call = 0; call < 3; call += 1) await admin.GET('/api/v1/health')
  expect(asked.map((line) => line.split('health ')[1])).toEqual(['Bearer first', 'Bearer second', 'undefined'])
})

test('createAdmin reads missing options from the environment', async () => {
  setVariables({ SERVICE_AUTH_URL: `${url}/api/v1`, SERVICE_ACCOUNT_TOKEN: 'gsa_2' })
  await createAdmin().GET('/api/v1/admin/apps')
  expect(asked).toEqual(['GET /api/v1/admin/apps Bearer gsa_2'])
})

test.each([undefined, '', 'localhost:4000', 'ftp://x'])(
  'createAdmin refuses the address %s and names the variable',
  (authUrl) => {
    setVariables({ SERVICE_AUTH_URL: '' })
    const make = () => createAdmin({ authUrl })
    expect(make).toThrow(/SERVICE_AUTH_URL/)
    try {
      make()
    } catch (error) {
      expect(AuthError.is(error, 'CONFIG_INVALID')).toBe(true)
    }
  },
)

test('createAdmin does not follow a redirect, which would carry the token along', async () => {
  const admin = createAdmin({ authUrl: url, token: 'gsa_3' })
  await expect(admin.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: 'moved' } } })).rejects.toThrow()
  expect(asked).toEqual(['GET /api/v1/admin/apps/moved Bearer gsa_3'])
})

test('an unknown route, parameter or member does not compile', () => {
  const admin = createAdmin({ authUrl: url })
  const misspelt = () => [
    // @ts-expect-error no such route
    admin.GET('/api/v1/admin/aps'),
    // @ts-expect-error no such method there
    admin.DELETE('/api/v1/admin/apps'),
    // @ts-expect-error no such parameter
    admin.GET('/api/v1/admin/apps', { params: { query: { limits: 5 } } }),
    // @ts-expect-error an app needs its name
    admin.POST('/api/v1/admin/apps', { body: { code: 'shop' } }),
  ]
  expect(misspelt).toBeTypeOf('function')
})
