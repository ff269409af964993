// Compares SDK verification with jsonwebtoken, jose and fast-jwt: CPU time per token, in interleaved rounds. Run it after a
// build: `node test/bench/verify.ts`. The bounds are the project's own targets.
import { createHmac, createSecretKey, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { type Auth, createAuth } from '@gatehouse/sdk'
import { chance } from '../support/chance.ts'
import { record } from './support/results.ts'

type Verify = (token: string) => unknown

interface Peers {
  jsonwebtoken: { verify(token: string, key: unknown, options: object): unknown }
  jose: { jwtVerify(token: string, key: unknown, options: object): Promise<unknown> }
  'fast-jwt': { createVerifier(options: object): Verify }
}

/** The peers are dev dependencies of the SDK, whose tests use them too. */
const requireOfSdk = createRequire(import.meta.resolve('@gatehouse/sdk'))
const peer = <Name extends keyof Peers>(name: Name): Peers[Name] => requireOfSdk(name)
const jsonwebtoken = peer('jsonwebtoken')
const jose = peer('jose')
const { createVerifier } = peer('fast-jwt')

const TOKENS = 2000
const WARM_UP_ROUNDS = 5
const ROUNDS = 60

const secret = 'a secret that both sides of the bench hold'
const key = createSecretKey(Buffer.from(secret))
const auth = createAuth({ secret, appCode: 'billing', revocation: { mode: 'off' } })
const cachingAuth = createAuth({ secret, appCode: 'billing', revocation: { mode: 'off' }, cacheTokens: 2 * TOKENS })
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

/** An `Auth` that has `count` revocations in memory, none of them about the tokens of the bench. */
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

/** A verifier that only calls native code, as the lower limit for any verifier that checks each claim. */
function nativeLimit(token: string): unknown {
  const end = token.lastIndexOf('.')
  const signature = createHmac('sha256', key).update(token.slice(0, end)).digest('base64url')
  if (signature !== token.slice(end + 1)) throw new Error('signature')
  const claims = JSON.parse(Buffer.from(token.slice(token.indexOf('.') + 1, end), 'base64url').toString())
  if (claims.exp <= now || claims.aud !== 'billing' || claims.iss !== 'gatehouse') throw new Error('claims')
  return claims
}

const options = { algorithms: ['HS256'], issuer: 'gatehouse', audience: 'billing', clockTolerance: 5 }
const fastJwtOptions = {
  key: Buffer.from(secret),
  algorithms: ['HS256'],
  allowedIss: 'gatehouse',
  allowedAud: 'billing',
  // In milliseconds, unlike in the other libraries.
  clockTolerance: 5_000,
}
const fastJwt = createVerifier({ ...fastJwtOptions, cache: false })
const fastJwtCached = createVerifier({ ...fastJwtOptions, cache: 2 * TOKENS })

const subjects: Record<string, Verify> = {
  'jsonwebtoken, KeyObject': (token) => jsonwebtoken.verify(token, key, options),
  'jose, KeyObject': (token) => jose.jwtVerify(token, key, options),
  'fast-jwt, cache off': fastJwt,
  'fast-jwt, cache on, all seen': fastJwtCached,
  'native HMAC, JSON.parse': nativeLimit,
  'SDK verifySync': (token) => auth.verifySync(token),
  'SDK verify': (token) => auth.verify(token),
  'SDK verifySync, all seen': (token) => cachingAuth.verifySync(token),
  'SDK verifySync, quiet feed': (token) => quietAuth.verifySync(token),
  'SDK verifySync, 1,000 revocations': (token) => busyAuth.verifySync(token),
}

/** Which results are compared, and the upper bound of the ratio. */
const ratios: [of: string, to: string, bound?: number][] = [
  ['SDK verifySync', 'fast-jwt, cache off', 0.55],
  ['SDK verifySync', 'jsonwebtoken, KeyObject', 0.5],
  ['SDK verifySync', 'jose, KeyObject', 0.15],
  ['SDK verifySync', 'native HMAC, JSON.parse', 1.25],
  ['SDK verify', 'fast-jwt, cache off', 0.55],
  ['SDK verify', 'jsonwebtoken, KeyObject', 0.5],
  ['SDK verify', 'jose, KeyObject', 0.15],
  ['SDK verify', 'native HMAC, JSON.parse', 1.25],
  ['SDK verifySync, all seen', 'fast-jwt, cache on, all seen', 0.35],
  ['SDK verifySync, quiet feed', 'SDK verifySync'],
  ['SDK verifySync, 1,000 revocations', 'SDK verifySync'],
]

/** CPU microseconds per token. Each call gets a new string, as from a socket, because V8 caches the hash of a string. */
async function measure(verify: Verify): Promise<number> {
  const before = process.cpuUsage()
  for (const bytes of tokens) {
    const result = verify(bytes.toString('latin1'))
    if (result instanceof Promise) await result
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / TOKENS
}

const random = chance(1)
function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

const measured = new Map<string, number[]>()
for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
  // The order changes each round, because the garbage of one subject is often collected while the next one runs.
  for (const [name, verify] of shuffle(Object.entries(subjects))) {
    const cost = await measure(verify)
    if (round >= WARM_UP_ROUNDS) measured.set(name, [...(measured.get(name) ?? []), cost])
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

console.log(`Node ${process.version}, ${tokens[0]!.length}-byte tokens, ${TOKENS} distinct, medians of ${ROUNDS} rounds`)
for (const name of Object.keys(subjects))
  console.log(`${name.padEnd(34)}${median(measured.get(name)!).toFixed(2).padStart(6)} µs CPU`)
for (const [of, to, bound] of ratios) {
  const [ours, theirs] = [measured.get(of)!, measured.get(to)!]
  const ratio = median(ours.map((cost, round) => cost / theirs[round]!))
  record({ what: of, beside: to, ours: median(ours), peer: median(theirs), ratio, unit: 'µs CPU', better: 'lower', bound })
}
for (const each of [auth, cachingAuth, quietAuth, busyAuth]) await each.close()
