import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { createTestAuth } from '@gatehouse/sdk/testing'

const next = createRequire(import.meta.url).resolve('next/dist/bin/next')
const { env, user, close } = createTestAuth({ appCode: 'notes' })
const bare = {
  PATH: process.env.PATH,
  HOME: import.meta.dirname,
  NO_COLOR: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  NODE_ENV: 'production',
}
const options = { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] }
let program
let origin

before(async () => {
  const build = spawn(process.execPath, [next, 'build'], { ...options, env: bare, stdio: ['ignore', 'ignore', 'inherit'] })
  assert.deepEqual(await once(build, 'exit'), [0, null])
  const port = await freePort()
  origin = `http://localhost:${port}`
  const settings = { SERVICE_REDIRECT_URL: `${origin}/callback`, SERVICE_COOKIE_SECRET: 'a secret of the tests, 32 characters' }
  program = spawn(process.execPath, [next, 'start', '--port', `${port}`], { ...options, env: { ...bare, ...env, ...settings } })
  await new Promise((resolve) => {
    program.stdout.setEncoding('utf8').on('data', (text) => {
      if (text.includes('Ready')) resolve()
    })
  })
})

after(async () => {
  program?.kill('SIGKILL')
  await close()
})

async function freePort() {
  const server = createServer().listen(0)
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A browser without scripts. */
function openBrowser() {
  const jar = new Map()
  const ask = async (path, { method = 'GET', ...headers } = {}) => {
    const page = {
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      'sec-fetch-site': 'same-origin',
      accept: 'text/html',
    }
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const sent = request(new URL(path, origin), { method, headers: { ...page, ...(cookie && { cookie }), ...headers } }).end()
    const [answer] = await once(sent, 'response')
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) text += chunk
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]*)=([^;]*)/.exec(line)
      if (line.includes('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
    return { status: answer.statusCode, location: answer.headers.location, text, headers: answer.headers }
  }
  /** Follows redirects, also to the sign-in page of the service, which answers at once. */
  const follow = async (path) => {
    for (let url = new URL(path, origin); ; ) {
      const isOurs = url.origin === origin
      const answer = isOurs ? await ask(url) : await fetch(url, { redirect: 'manual' })
      const location = isOurs ? answer.location : answer.headers.get('location')
      if (!location) return { ...answer, path: url.pathname }
      url = new URL(location, url)
    }
  }
  return { jar, ask, follow }
}

const script = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', accept: '*/*' }

test('a visitor can read the open page and is sent to sign in on the guarded one', async () => {
  const { ask, follow } = openBrowser()
  assert.match((await ask('/')).text, /<h1>Hello<\/h1>/)
  const page = await follow('/notes')
  assert.deepEqual([page.status, page.path], [200, '/notes'])
  assert.ok(page.text.replaceAll('<!-- -->', '').includes(`Notes of ${user.email}`))
  assert.match((await ask('/')).text, /Hello, test\.user@example\.com/)
})

test('a page fetched in the background, such as by a link of Next.js, begins no sign-in', async () => {
  const { ask, jar, follow } = openBrowser()
  for (const path of ['/notes', '/notes?_rsc=1', '/login?returnTo=/notes']) {
    const refused = await ask(path, { ...script, rsc: '1', 'next-router-prefetch': '1' })
    assert.deepEqual([path, refused.status, refused.location, jar.size], [path, 401, undefined, 0])
  }
  const led = await ask('/notes')
  assert.deepEqual([led.status, new URL(led.location, origin).pathname], [303, '/login'])
  await follow('/notes')
  // Next.js leads a request of its router to the right value of `_rsc` first.
  const { location } = await ask('/notes?_rsc=1', { ...script, rsc: '1' })
  assert.equal(new URL(location, origin).pathname, '/notes')
  assert.equal((await ask(location, { ...script, rsc: '1' })).status, 200)
})

test('a route handler answers a signed-in user and refuses everyone else with 401', async () => {
  const { ask, follow } = openBrowser()
  assert.equal((await ask('/api/notes', script)).status, 401)
  await follow('/login')
  assert.deepEqual(JSON.parse((await ask('/api/notes', script)).text), { notesOf: user.email })
  assert.equal((await ask('/api/notes', { ...script, method: 'DELETE' })).status, 403)
  assert.equal((await ask('/api/notes', { ...script, method: 'DELETE', 'sec-fetch-site': 'cross-site' })).status, 403)
})

test('signing out takes a form of this app and ends the session at the service', async () => {
  const { ask, follow, jar } = openBrowser()
  await follow('/login')
  assert.equal((await ask('/logout')).status, 405)
  assert.equal((await ask('/logout', { method: 'POST', 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal(jar.size, 1)
  const page = await ask('/notes')
  const [, action] = /<form[^>]* action="([^"]*)"/.exec(page.text)
  const out = await ask(action, { method: 'POST' })
  assert.deepEqual([out.status, new URL(out.location).origin], [303, new URL(env.SERVICE_AUTH_URL).origin])
  const back = (await fetch(out.location, { redirect: 'manual' })).headers.get('location')
  assert.equal((await ask(back)).location, '/')
  assert.equal(jar.size, 0)
  assert.equal((await ask('/api/notes', script)).status, 401)
})
