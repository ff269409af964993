// Starts the example as its README does and shows it three tokens.
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const secret = 'the secret that the example shares with the service'
const stop = new AbortController()
let url: string

/** A token as the service signs them; the format is in docs/tokens.md. */
function tokenFor(appCode: string, signedWith: string = secret): string {
  const now = Math.floor(Date.now() / 1000)
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claims = {
    app_id: '01931c2a-5b7e-7c3d-8f10-2b6f4d9a0e11',
    app_code: appCode,
    uid: '01931c2a-5b7e-7c3d-8f10-2b6f4d9a0e12',
    email: 'ada@example.com',
    first_name: 'Ada',
    last_name: null,
    tv: 0,
    sid: '01931c2a-5b7e-7c3d-8f10-2b6f4d9a0e13',
    iss: 'gatehouse',
    aud: appCode,
    exp: now + 60,
    nbf: now,
    iat: now,
    jti: '01931c2a-5b7e-7c3d-8f10-2b6f4d9a0e14',
    roles: ['base_user'],
    permissions: [],
  }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', signedWith).update(signed).digest('base64url')}`
}

beforeAll(async () => {
  const example = spawn(process.execPath, [fileURLToPath(new URL('server.ts', import.meta.url))], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      SERVICE_AUTH_URL: 'http://127.0.0.1:4000',
      SERVICE_APP_CODE: 'notes',
      JWT_ACCESS_SECRET: secret,
    },
    signal: stop.signal,
    stdio: ['ignore', 'pipe', 'inherit'],
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

afterAll(() => stop.abort())

const get = (token?: string) => fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })

test('a token of this app gets in', async () => {
  const reply = await get(tokenFor('notes'))
  expect(reply.status).toBe(200)
  expect(await reply.json()).toEqual({ hello: 'ada@example.com', app: 'notes' })
})

test.each([
  ['no token', undefined],
  ['a token of another app', tokenFor('shop')],
  ['a token that somebody else signed', tokenFor('notes', 'the secret of somebody else, just as long')],
])('%s is refused with 401 and a challenge', async (_, token) => {
  const reply = await get(token)
  expect(reply.status).toBe(401)
  expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/)
  expect(await reply.json()).toMatchObject({ status: 401 })
})
