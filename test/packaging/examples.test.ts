// Starts each example backend as a program, with a service of the tests, and sends it tokens.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFastLane } from '../support/lane.ts'

const hasPython = !isFastLane && spawnSync('python3', ['--version']).status === 0
const node = process.execPath

describe.each([
  { name: 'express-api', command: node, file: 'server.ts', hasNotes: true },
  { name: 'fastify-api', command: node, file: 'server.ts', hasNotes: true },
  { name: 'hono-api', command: node, file: 'server.ts', hasNotes: true },
  { name: 'koa-api', command: node, file: 'server.ts', hasNotes: false },
  ...(hasPython ? [{ name: 'python-api', command: 'python3', file: 'server.py', hasNotes: true }] : []),
])('$name', ({ name, command, file, hasNotes }) => {
  const { env, userId, token, bearer, badTokens, revoke, close } = createTestAuth({ appCode: 'notes' })
  const stop = new AbortController()
  let url: string

  beforeAll(async () => {
    const program = fileURLToPath(new URL(`../../examples/${name}/${file}`, import.meta.url))
    const example = spawn(command, [program], {
      env: { PATH: process.env.PATH, PORT: '0', PYTHONDONTWRITEBYTECODE: '1', ...env },
      signal: stop.signal,
      // The Python example logs each refused token to stderr.
      stdio: ['ignore', 'pipe', command === node ? 'inherit' : 'ignore'],
    })
    example.on('error', () => {})
    url = await new Promise((resolve, reject) => {
      example.on('exit', (code) => reject(new Error(`the example ended with ${code}`)))
      example.stdout.setEncoding('utf8').on('data', (text: string) => {
        const found = /listening on (\S+)/.exec(text)
        if (found) resolve(found[1]!)
      })
    })
  })

  afterAll(() => {
    stop.abort()
    return close()
  })

  test('a token of this app is accepted', async () => {
    const reply = await fetch(url, { headers: bearer() })
    expect(reply.status).toBe(200)
    expect(await reply.json()).toEqual({ hello: 'test.user@example.com', app: 'notes' })
  })

  test.each([{ name: 'no token', token: undefined }, ...badTokens()])(
    '$name is refused with 401 and a challenge',
    async ({ token }) => {
      const reply = await fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
      expect(reply.status).toBe(401)
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/)
      expect(await reply.json()).toMatchObject({ status: 401 })
    },
  )

  if (hasNotes)
    test('a route that takes a permission is refused without it', async () => {
      expect((await fetch(`${url}/notes`, { method: 'DELETE', headers: bearer('notes:delete') })).status).toBe(204)
      expect((await fetch(`${url}/notes`, { method: 'DELETE', headers: bearer('notes:read') })).status).toBe(403)
    })

  test('a revoked token is refused', async () => {
    const headers = { authorization: `Bearer ${token()}` }
    expect((await fetch(url, { headers })).status).toBe(200)
    await revoke(userId)
    await expect.poll(async () => (await fetch(url, { headers })).status, { interval: 10, timeout: 60_000 }).toBe(401)
  })
})
