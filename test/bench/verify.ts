// SDK verification beside jsonwebtoken: CPU time per token, in interleaved rounds. Run after a build: `node test/bench/verify.ts`.
import { createHmac, createSecretKey, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { type Auth, createAuth } from '@gatehouse/sdk'

interface JsonWebToken {
  verify(token: string, key: unknown, options: object): unknown
}

const jsonwebtoken: JsonWebToken = createRequire(import.meta.resolve('@gatehouse/sdk'))('jsonwebtoken')

const TOKENS = 2000
const WARM_UP_ROUNDS = 5
const ROUNDS = 40

const secret = 'a secret that both sides of the bench hold'
const key = createSecretKey(Buffer.from(secret))
const auth = createAuth({ secret, appCode: 'billing', revocation: { mode: 'off' } })
const quietAuth = await createFedAuth(0)
const busyAuth = await createFedAuth(1000)
const [kid] = auth.health().kids

const now = Math.floor(Date.now() / 1000)
const tokens = Array.from({ length: TOKENS }, () => {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claims = {
    app_id: '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c11',
    app_code: 'billing',
    uid: randomUUID(),
    email: `${randomUUID().slice(0, 8)}@example.com`,
    first_name: 'Ada',
    last_name: 'Lovelace',
    tv: 3,
    sid: randomUUID(),
    iss: 'gatehouse',
    aud: 'billing',
    exp: now + 3600,
    nbf: now,
    iat: now,
    jti: randomUUID(),
    roles: ['base_user', 'billing_clerk'],
    permissions: [
      'invoices:read',
      'invoices:void',
      'invoices:write',
      'orders:read',
      'orders:write',
      'payments:read',
      'reports:read',
      'users:read_self',
      'users:update_self',
    ],
  }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT', kid })}.${encode(claims)}`
  return Buffer.from(`${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`)
})

/** With so many revocations in memory, none of them about the tokens of the bench. */
async function createFedAuth(count: number): Promise<Auth> {
  const at = new Date().toISOString()
  const items = Array.from({ length: count }, (_, index) => {
    const ended = index % 2 === 0 ? { session_id: null, min_tv: 9 } : { session_id: randomUUID(), min_tv: null }
    return { cursor: index + 1, user_id: randomUUID(), app_id: null, at, ...ended }
  })
  const headers = { 'content-type': 'application/json' }
  let fed: Auth | undefined
  await new Promise<void>((resolve) => {
    fed = createAuth({
      secret,
      appCode: 'billing',
      authUrl: 'http://127.0.0.1',
      fetch: async () => new Response(JSON.stringify({ items, cursor: count }), { headers }),
      onEvent: () => resolve(),
    })
  })
  return fed!
}

/** What a verifier that only calls native code would do: the limit for any that checks each claim. */
function nativeLimit(token: string): unknown {
  const end = token.lastIndexOf('.')
  const signature = createHmac('sha256', key).update(token.slice(0, end)).digest('base64url')
  if (signature !== token.slice(end + 1)) throw new Error('signature')
  const claims = JSON.parse(Buffer.from(token.slice(token.indexOf('.') + 1, end), 'base64url').toString())
  if (claims.exp <= now || claims.aud !== 'billing' || claims.iss !== 'gatehouse') throw new Error('claims')
  return claims
}

const options = { algorithms: ['HS256'], issuer: 'gatehouse', audience: 'billing', clockTolerance: 5 }
const subjects: Record<string, (token: string) => unknown> = {
  'jsonwebtoken with a KeyObject': (token) => jsonwebtoken.verify(token, key, options),
  'native HMAC and JSON.parse': nativeLimit,
  'SDK verifySync': (token) => auth.verifySync(token),
  'SDK verify': (token) => auth.verify(token),
  'SDK verifySync, quiet feed': (token) => quietAuth.verifySync(token),
  'SDK verifySync, 1,000 revocations': (token) => busyAuth.verifySync(token),
}

/** Microseconds of CPU per token. Each call gets a fresh string, as a socket gives it: V8 keeps the hash of one seen before. */
async function measure(verify: (token: string) => unknown): Promise<number> {
  const before = process.cpuUsage()
  for (const bytes of tokens) {
    const result = verify(bytes.toString('latin1'))
    if (result instanceof Promise) await result
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / TOKENS
}

const measured = new Map<string, number[]>()
for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
  // Each round begins with another one: the garbage of one is often collected while the next runs.
  const entries = Object.entries(subjects)
  const first = round % entries.length
  for (const [name, verify] of [...entries.slice(first), ...entries.slice(0, first)]) {
    const cost = await measure(verify)
    if (round >= WARM_UP_ROUNDS) measured.set(name, [...(measured.get(name) ?? []), cost])
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const ratio = (of: string, to: string) =>
  median(measured.get(of)!.map((cost, round) => cost / measured.get(to)![round]!)).toFixed(2)

console.log(`Node ${process.version}, ${tokens[0]!.length}-byte tokens, ${TOKENS} distinct, medians of ${ROUNDS} rounds`)
for (const name of Object.keys(subjects))
  console.log(`${name.padEnd(34)}${median(measured.get(name)!).toFixed(2).padStart(6)} µs CPU`)
for (const sdk of ['SDK verifySync', 'SDK verify']) {
  console.log(`${sdk} / jsonwebtoken with a KeyObject: ${ratio(sdk, 'jsonwebtoken with a KeyObject')}`)
  console.log(`${sdk} / native HMAC and JSON.parse: ${ratio(sdk, 'native HMAC and JSON.parse')}`)
}
for (const feed of ['SDK verifySync, quiet feed', 'SDK verifySync, 1,000 revocations'])
  console.log(`${feed} / without the feed: ${ratio(feed, 'SDK verifySync')}`)
for (const each of [auth, quietAuth, busyAuth]) await each.close()
