import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTestAuth } from '@gatehouse/sdk/testing'
import './build.js'

const { env, userId, bearer, badTokens, revoke, close } = createTestAuth({ appCode: 'notes' })
let program
let url

before(async () => {
  program = spawn(process.execPath, ['dist/server.js'], {
    cwd: import.meta.dirname,
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(program.stdout.setEncoding('utf8'), 'data')
  ;[url] = /http:\S+/.exec(line)
})

after(async () => {
  program.kill('SIGKILL')
  await close()
})

const ask = (path, headers, method = 'GET') => fetch(url + path, { method, headers })

test('a request with a token of this app is answered 200', async () => {
  const reply = await ask('/', bearer())
  assert.equal(reply.status, 200)
  assert.deepEqual(await reply.json(), { hello: 'test.user@example.com', app: 'notes' })
})

test('a request without a token is answered 401', async () => {
  const reply = await ask('/', {})
  assert.equal(reply.status, 401)
  assert.match(reply.headers.get('www-authenticate'), /^Bearer/)
  assert.equal((await reply.json()).status, 401)
})

for (const { name, token } of badTokens())
  test(`${name} is refused`, async () => assert.equal((await ask('/', { authorization: `Bearer ${token}` })).status, 401))

for (const path of ['/notes', '/notes/1'])
  test(`DELETE ${path} needs a permission`, async () => {
    assert.equal((await ask(path, bearer('notes:delete'), 'DELETE')).status, 204)
    const refused = await ask(path, bearer('notes:read'), 'DELETE')
    assert.equal(refused.status, 403)
    assert.equal((await refused.json()).status, 403)
  })

test('a revoked token is refused', async () => {
  const headers = bearer()
  assert.equal((await ask('/', headers)).status, 200)
  await revoke(userId)
  // The revocation takes a moment to reach the backend.
  while ((await ask('/', headers)).status === 200) await setTimeout(10)
  assert.equal((await ask('/', headers)).status, 401)
})
