import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTestAuth } from '@gatehouse/sdk/testing'

const next = createRequire(import.meta.url).resolve('next/dist/bin/next')
const { env, userId, token, bearer, badTokens, revoke, close } = createTestAuth({ appCode: 'notes' })
const bare = {
  PATH: process.env.PATH,
  HOME: import.meta.dirname,
  NO_COLOR: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  NODE_ENV: 'production',
}
const options = { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] }
let program
let url

before(async () => {
  const build = spawn(process.execPath, [next, 'build'], { ...options, env: bare, stdio: ['ignore', 'ignore', 'inherit'] })
  assert.deepEqual(await once(build, 'exit'), [0, null])
  program = spawn(process.execPath, [next, 'start', '--hostname', '127.0.0.1', '--port', '0'], {
    ...options,
    env: { ...bare, ...env },
  })
  url = await new Promise((resolve) => {
    program.stdout.setEncoding('utf8').on('data', (text) => {
      const [, port] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(text) ?? []
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
    })
  })
})

after(async () => {
  program?.kill('SIGKILL')
  await close()
})

const ask = (path, headers = {}, method = 'GET') => fetch(url + path, { method, headers })
const becomes = async (status, path, headers) => {
  while ((await ask(path, headers)).status !== status) await setTimeout(20)
}

test('a route handler answers the users of this app', async () => {
  const reply = await ask('/api/notes', bearer())
  assert.equal(reply.status, 200)
  assert.deepEqual(await reply.json(), { hello: 'test.user@example.com' })
})

test('a request without a token is answered 401', async () => {
  const reply = await ask('/api/notes')
  assert.equal(reply.status, 401)
  assert.match(reply.headers.get('www-authenticate'), /^Bearer/)
  assert.equal((await reply.json()).status, 401)
})

for (const { name, token } of badTokens())
  test(`${name} is refused`, async () =>
    assert.equal((await ask('/api/notes', { authorization: `Bearer ${token}` })).status, 401))

test('DELETE needs a permission', async () => {
  assert.equal((await ask('/api/notes', bearer('notes:delete'), 'DELETE')).status, 204)
  const refused = await ask('/api/notes', bearer('notes:read'), 'DELETE')
  assert.equal(refused.status, 403)
  assert.equal((await refused.json()).status, 403)
})

test('a server component knows the user of the request', async () => {
  assert.match(await (await ask('/', bearer())).text(), /<h1>test\.user@example\.com</)
  assert.match(await (await ask('/')).text(), /<h1>nobody</)
})

test('proxy.ts guards the pages below its path', async () => {
  assert.equal((await ask('/guarded', bearer())).status, 200)
  assert.equal((await ask('/guarded')).status, 401)
})

test('the sign-in page gets the address of the service at run time, not from the build', async () => {
  const reply = await ask('/login')
  assert.equal(reply.status, 200)
  assert.ok((await reply.text()).includes(env.SERVICE_AUTH_URL))
})

test('a revoked token is refused', { timeout: 60_000 }, async () => {
  const headers = { authorization: `Bearer ${token()}` }
  assert.equal((await ask('/api/notes', headers)).status, 200)
  await revoke(userId)
  await becomes(401, '/api/notes', headers)
})
