import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTestAuth } from '@gatehouse/sdk/testing'
import './build.js'

const { default: workerd } = createRequire(import.meta.url)('workerd')
const { env, userId, bearer, badTokens, revoke, close } = createTestAuth({ appCode: 'notes' })
let program
let url

before(async () => {
  program = spawn(workerd, ['serve', 'config.capnp', '--socket-addr=http=127.0.0.1:0', '--control-fd=3'], {
    cwd: import.meta.dirname,
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  // workerd writes the port that it listens on to file descriptor 3 (`--control-fd`).
  const [chunk] = await once(program.stdio[3].setEncoding('utf8'), 'data')
  url = `http://127.0.0.1:${JSON.parse(chunk).port}/`
})

after(async () => {
  program.kill('SIGKILL')
  await close()
})

const ask = (headers) => fetch(url, { headers })

test('a request with a token of this app is answered 200', async () => {
  const reply = await ask(bearer())
  assert.equal(reply.status, 200)
  assert.deepEqual(await reply.json(), { hello: 'test.user@example.com', app: 'notes' })
})

test('a request without a token is answered 401', async () => {
  const reply = await ask({})
  assert.equal(reply.status, 401)
  assert.match(reply.headers.get('www-authenticate'), /^Bearer/)
})

for (const { name, token } of badTokens())
  test(`${name} is refused`, async () => assert.equal((await ask({ authorization: `Bearer ${token}` })).status, 401))

test('a revoked token is refused', async () => {
  const headers = bearer()
  assert.equal((await ask(headers)).status, 200)
  await revoke(userId)
  // The Worker asks the service again within five seconds.
  while ((await ask(headers)).status === 200) await setTimeout(100)
  assert.equal((await ask(headers)).status, 401)
})
