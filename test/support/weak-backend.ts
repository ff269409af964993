// A backend that checks tokens correctly except for its weaknesses: it repairs what a
// weakness overlooks before the SDK sees the token.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAuth } from '@gatehouse/sdk'
import { encode, signParts } from '../../packages/sdk/src/testing/sign-token.ts'
import { kidOf } from './consumer.ts'

// biome-ignore lint/suspicious/noExplicitAny: claims of any form are what it is about
type Loose = any

interface Seen {
  header: Loose
  claims: Loose
  /** The parts of the token as it arrived. */
  parts: string[]
  /** The settings of the backend. */
  own: { app: { id: string; code: string }; secret: string; kid: string; now: number }
}

/** If the weakness applies, repairs the header and the claims in place and returns true. */
type Mend = (seen: Seen) => boolean

const within = (seen: Seen, changes: object): true => {
  Object.assign(seen.claims, changes)
  return true
}

/** The repairs, by the mistake of the developer. */
const mends = {
  'needs no signature part': ({ parts }) => parts.length === 2,
  'cuts padding off': ({ parts }) => parts[2]?.endsWith('=') === true,
  'takes alg none': ({ header }) => header.alg === 'none',
  'does not compare the signature': ({ header, claims, parts, own }) =>
    JSON.stringify(header) === JSON.stringify({ alg: 'HS256', typ: 'JWT', kid: own.kid }) && !!parts[2] && !Array.isArray(claims),
  'finds no key by the kid, and goes on': ({ header, own }) => header.kid !== own.kid,
  'takes an empty signature': ({ header, parts }) => header.alg === 'HS256' && parts[2] === '',
  'takes the first of a list of claims': (seen) => {
    if (!Array.isArray(seen.claims)) return false
    seen.claims = seen.claims[0]
    return true
  },
  'takes the hash from the token': ({ header, parts, own }) =>
    header.alg === 'HS512' && signParts(parts[0]!, parts[1]!, own.secret, 'sha512') === parts.join('.'),
  'does not look at alg': ({ header }) => header.alg === 'RS256',
  'does not look at typ': ({ header }) => header.typ !== 'JWT',
  'does not look at crit': ({ header }) => 'crit' in header,
  'does not look at exp': (seen) => seen.claims.exp < seen.own.now && within(seen, { exp: seen.own.now + 60 }),
  'does not look at nbf': (seen) => seen.claims.nbf > seen.own.now && within(seen, { nbf: seen.own.now }),
  'does not look at iat': (seen) => seen.claims.iat > seen.own.now && within(seen, { iat: seen.own.now }),
  'does not look at iss': (seen) => seen.claims.iss !== 'gatehouse' && within(seen, { iss: 'gatehouse' }),
  'serves every app': (seen) => {
    const { aud, app_code } = seen.claims
    return typeof aud === 'string' && aud === app_code && aud !== seen.own.app.code && within(seen, named(seen))
  },
  'looks for itself in a list of apps': (seen) => Array.isArray(seen.claims.aud) && within(seen, named(seen)),
  'looks at aud alone': (seen) =>
    seen.claims.aud === seen.own.app.code && seen.claims.app_code !== seen.claims.aud && within(seen, named(seen)),
  'does not look at app_id': (seen) => seen.claims.app_id === undefined && within(seen, named(seen)),
  'needs no exp': (seen) => seen.claims.exp === undefined && within(seen, { exp: seen.own.now + 60 }),
  'converts exp': (seen) => typeof seen.claims.exp === 'string' && within(seen, { exp: Number(seen.claims.exp) }),
  'needs no uid': (seen) => seen.claims.uid === undefined && within(seen, { uid: seen.claims.sid }),
  'needs no tv': (seen) => seen.claims.tv === undefined && within(seen, { tv: 0 }),
  'takes text for permissions': (seen) => typeof seen.claims.permissions === 'string' && within(seen, { permissions: [] }),
} satisfies Record<string, Mend>

const named = ({ own: { app } }: Seen) => ({ aud: app.code, app_code: app.code, app_id: app.id })

type Other = 'needs no token' | 'takes any word' | 'takes machine tokens' | 'follows no revocations'
export type Weakness = keyof typeof mends | Other

interface BackendOptions {
  authUrl: string
  app: { id: string; code: string }
  secret: string
}

/** You may change `weaknesses` while it runs, except the one about revocations. `answerWith` overrides its answers. */
export async function startWeakBackend({ authUrl, app, secret }: BackendOptions, weaknesses: Set<Weakness>) {
  const shared = { authUrl, secret, appCode: app.code, appId: app.id, check: 'off', logger: false } as const
  const auth = createAuth(weaknesses.has('follows no revocations') ? { ...shared, revocation: { mode: 'off' } } : shared)
  await auth.ready
  let answer: (() => number | 'never' | undefined) | undefined

  const isGood = async (token: string) => {
    const result = await auth.safeVerify(token)
    return result.ok && (result.principal.kind === 'user' || weaknesses.has('takes machine tokens'))
  }
  const mended = (token: string): string | undefined => {
    const parts = token.split('.')
    if (parts.length < 2) return undefined
    const [header, claims] = parts.map((part, index) =>
      index < 2 ? JSON.parse(Buffer.from(part, 'base64url').toString()) : part,
    )
    const own = { app, secret, kid: kidOf(secret), now: Math.floor(Date.now() / 1000) }
    const seen: Seen = { header, claims, parts, own }
    const isMended =
      Object.entries<Mend>(mends).filter(([name, mend]) => weaknesses.has(name as Weakness) && mend(seen)).length > 0
    return isMended ? signParts(encode({ alg: 'HS256', typ: 'JWT', kid: own.kid }), encode(seen.claims), secret) : undefined
  }
  const accepts = async (authorization: string | undefined): Promise<boolean> => {
    if (authorization === undefined) return weaknesses.has('needs no token')
    const token = authorization.replace('Bearer ', '')
    if (!token.includes('.')) return weaknesses.has('takes any word')
    if (await isGood(token)) return true
    const other = mended(token)
    return other !== undefined && isGood(other)
  }

  const server = createServer(async ({ headers }, response) => {
    const status = answer?.() ?? ((await accepts(headers.authorization)) ? 200 : 401)
    if (status === 'never') return
    response.statusCode = status
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/me`,
    answerWith(next: typeof answer) {
      answer = next
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await auth.close()
    },
  }
}
