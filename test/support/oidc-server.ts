// An OpenID Connect provider on loopback: oidc-provider, with accounts that the test
// adds, and answers that a test can tamper with.
import { generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Json } from './service.ts'

export const CLIENT_ID = 'gatehouse'
export const CLIENT_SECRET = 'a secret between the two'
const scopes = 'openid email profile'

/** The answers that can be tampered with. */
export type Endpoint = 'discovery' | 'jwks' | 'token' | 'userinfo'

const endpoints: Record<string, Endpoint> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/token': 'token',
  '/me': 'userinfo',
}

export interface SigningKey {
  kid: string
  privateKey: KeyObject
  publicJwk: JsonWebKey
}

export interface TestProvider {
  issuer: string
  /** Claims by subject. */
  accounts: Map<string, Json>
  key: SigningKey
  /** Replaces the answer of an endpoint. */
  tamper: Partial<Record<Endpoint, (body: Json) => Json>>
  /** The endpoint answers with this status instead. */
  broken: Partial<Record<Endpoint, number>>
  /** These never answer. */
  hanging: Set<Endpoint>
  /** How many requests each endpoint received. */
  asked: Record<Endpoint, number>
  /** Adds an account and returns its subject. */
  addAccount(claims: Json): string
  /** Signs with a new key from now on. */
  rotateKeys(): void
  /** Logs in at the provider as `subject`, as a browser would. Returns the address that the provider redirects to. */
  logIn(authorizationUrl: string, subject: string): Promise<URL>
  /** Connections are refused from now on, until `open`. */
  close(): Promise<void>
  open(): Promise<void>
}

export function newKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { kid: randomBytes(6).toString('hex'), privateKey, publicJwk: publicKey.export({ format: 'jwk' }) }
}

/** A JWT with these claims. If the key is null, it has `alg: none`. */
export function signToken(claims: Json, key: SigningKey | null): string {
  const header = key ? { alg: 'RS256', kid: key.kid, typ: 'JWT' } : { alg: 'none', typ: 'JWT' }
  const body = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${body}.${key ? sign('sha256', Buffer.from(body), key.privateKey).toString('base64url') : ''}`
}

/**
 * Starts a provider; `redirectUris` are the callbacks of its only client. With `pages` it shows its own login page, which accepts
 * any password, and asks for consent. Without, use `logIn`.
 */
export async function openProvider(redirectUris: readonly string[], { pages = false } = {}): Promise<TestProvider> {
  let server: Server
  let port = 0
  let listener: (request: IncomingMessage, response: ServerResponse) => void
  const open = async () => {
    server = createServer((request, response) => listener(request, response))
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  await open()

  const setKey = (key: SigningKey) => {
    provider.key = key
    listener = listenerOf(provider, createOidcProvider(provider, redirectUris, pages))
  }
  const provider: TestProvider = {
    issuer: `http://127.0.0.1:${port}`,
    accounts: new Map(),
    key: newKey(),
    tamper: {},
    broken: {},
    hanging: new Set(),
    asked: { discovery: 0, jwks: 0, token: 0, userinfo: 0 },
    addAccount(claims) {
      const subject = `subject-${randomBytes(6).toString('hex')}`
      provider.accounts.set(subject, claims)
      return subject
    },
    rotateKeys: () => setKey(newKey()),
    logIn: (url, subject) => followAsBrowser(provider.issuer, `${url}&login_hint=${subject}`),
    close,
    open,
  }
  setKey(provider.key)
  return provider
}

/** Storage for a provider in memory. */
class MemoryAdapter {
  static readonly #rows = new Map<string, Json>()
  readonly #model: string

  constructor(model: string) {
    this.#model = model
  }

  async upsert(id: string, payload: Json) {
    MemoryAdapter.#rows.set(`${this.#model}:${id}`, payload)
  }

  async find(id: string) {
    return MemoryAdapter.#rows.get(`${this.#model}:${id}`)
  }

  async findByUid(uid: string) {
    return [...MemoryAdapter.#rows].find(([key, { uid: other }]) => key.startsWith(`${this.#model}:`) && other === uid)?.[1]
  }

  async consume(id: string) {
    Object.assign(MemoryAdapter.#rows.get(`${this.#model}:${id}`), { consumed: Math.floor(Date.now() / 1000) })
  }

  async destroy(id: string) {
    MemoryAdapter.#rows.delete(`${this.#model}:${id}`)
  }

  async revokeByGrantId(grantId: string) {
    for (const [key, payload] of MemoryAdapter.#rows) if (payload.grantId === grantId) MemoryAdapter.#rows.delete(key)
  }
}

function createOidcProvider({ issuer, accounts, key }: TestProvider, redirectUris: readonly string[], pages: boolean): Provider {
  const provider: Provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: redirectUris }],
    claims: { email: ['email', 'email_verified'], profile: ['given_name', 'family_name'] },
    jwks: { keys: [{ ...key.privateKey.export({ format: 'jwk' }), kid: key.kid, use: 'sig', alg: 'RS256' }] },
    adapter: MemoryAdapter,
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    cookies: { keys: ['a key of the tests'] },
    features: { devInteractions: { enabled: pages } },
    pkce: { required: () => true },
    findAccount: (_: unknown, subject: string) =>
      accounts.has(subject) ? { accountId: subject, claims: () => ({ sub: subject, ...accounts.get(subject) }) } : undefined,
    ...(pages ? {} : withoutPages(() => provider)),
  })
  return provider
}

/** Logs in the user of `login_hint`, without asking for consent. */
function withoutPages(provider: () => Provider) {
  return {
    interactions: { url: () => '/interaction' },
    loadExistingGrant: async ({ oidc }: Json) => {
      const grant = new (provider().Grant)({ accountId: oidc.session.accountId, clientId: oidc.client.clientId })
      grant.addOIDCScope(scopes)
      await grant.save()
      return grant
    },
  }
}

function listenerOf(test: TestProvider, provider: Provider) {
  const callback = provider.callback()
  return (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!.split('?')[0]!
    if (path === '/interaction') {
      const answer = async () => {
        const { params } = await provider.interactionDetails(request, response)
        const isKnown = test.accounts.has(params.login_hint!)
        const result = isKnown ? { login: { accountId: params.login_hint } } : { error: 'access_denied' }
        await provider.interactionFinished(request, response, result)
      }
      void answer().catch((error) => response.writeHead(500).end(String(error)))
      return
    }
    const endpoint = endpoints[path]
    if (endpoint) {
      test.asked[endpoint] += 1
      if (test.hanging.has(endpoint)) return
      if (test.broken[endpoint]) {
        response.writeHead(test.broken[endpoint], { 'content-type': 'application/json' }).end('{"error":"server_error"}')
        return
      }
      if (test.tamper[endpoint]) tamperWith(response, test.tamper[endpoint])
    }
    callback(request, response)
  }
}

function tamperWith(response: ServerResponse, change: (body: Json) => Json): void {
  const end = response.end.bind(response) as (text: string) => ServerResponse
  response.end = ((text: string | Buffer) => {
    const changed = response.statusCode === 200 ? JSON.stringify(change(JSON.parse(String(text)))) : String(text)
    response.setHeader('content-length', Buffer.byteLength(changed))
    return end(changed)
  }) as typeof response.end
}

/** Follows redirects within the provider, with its cookies, and returns the first address outside of it. */
export async function followAsBrowser(issuer: string, start: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  for (let hop = 0; hop < 10; hop += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
    url = new URL(location, url)
    if (url.origin !== issuer) return url
  }
  throw new Error('the provider redirects for ever')
}
