// How tests talk to a server, wherever it runs. It imports nothing from the server, so tests
// that start it as a program need not load it.
import { randomBytes, randomUUID } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { DatabaseKind } from './database.ts'

export const ADMIN_EMAIL = 'admin@example.com'
export const PASSWORD = 'correct horse battery staple'
/** The settings by which a server makes its first admin. */
export const bootstrapAdmin = { AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL, AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }
export const ACCESS_SECRET = 'a secret of the tests, at least 32 characters long'

/** Realistic limits for how long a request waits for a connection and how long a statement runs, for tests that reach them. */
export const realLimits = { DB_ACQUIRE_TIMEOUT_MS: '1800', DB_STATEMENT_TIMEOUT_MS: '3000' }
/** All other tests wait longer, because either may be slow on a busy machine. */
const patience = { DB_ACQUIRE_TIMEOUT_MS: '60000', DB_STATEMENT_TIMEOUT_MS: '60000' }

/** The settings of every test service; bcrypt at its lowest cost, and no limit that a test did not ask for. */
export const testEnvironment = {
  ...(process.env.TEST_LIMITS === 'real' ? realLimits : patience),
  NODE_ENV: 'test',
  JWT_ACCESS_SECRET: ACCESS_SECRET,
  AUTH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  AUTH_BCRYPT_COST: '4',
  AUTH_HASH_THREADS: '1',
  AUTH_RATE_LIMIT_IP: 'off',
  AUTH_RATE_LIMIT_USER: 'off',
  LOG_LEVEL: 'silent',
}

/** Stands in for the secrets that a service stores for itself. Throws when a test left one out. */
export const ownSecrets = {
  kept(): never {
    throw new Error('tests bring their own secrets')
  },
  file: (): never => ownSecrets.kept(),
}

// biome-ignore lint/suspicious/noExplicitAny: a reply is whatever came over the wire; the tests say what they expect of it.
export type Json = any

export interface Reply {
  status: number
  body: Json
  headers: Headers
}

export interface CallOptions {
  /** Sent as JSON; a string or bytes are sent as they are. */
  body?: unknown
  token?: string | undefined
  headers?: Record<string, string>
}

/** The line that only hashes made by the tests themselves wait in. */
export const anyLine = { key: 'tests', turns: 1 }

/** A name that is not taken yet. */
export const unique = (prefix: string) => `${prefix}-${randomBytes(4).toString('hex')}`
export const someEmail = (domain = 'example.com') => `user-${randomUUID()}@${domain}`
export const somePool = (prefix = 'pool') => unique(prefix)

/** The database that this vitest project runs on. */
export function testDatabase(): DatabaseKind {
  return process.env.TEST_DATABASE === 'postgres' ? 'postgres' : 'sqlite'
}

// Costs half as much per request as fetch, client and server together. Only an agent with a timeout respects how long the server
// keeps an idle connection; without one, a request may be sent at the moment when the server closes the connection.
const agent = new Agent({ keepAlive: true, timeout: 60_000 })

class HttpReply implements Reply {
  readonly status: number
  readonly body: Json
  readonly #response: IncomingMessage
  #headers: Headers | undefined

  constructor(response: IncomingMessage, body: Json) {
    this.status = response.statusCode!
    this.body = body
    this.#response = response
  }

  /** Made when they are read: few tests read them, and making them takes a good part of the time of a small request. */
  get headers(): Headers {
    if (this.#headers) return this.#headers
    this.#headers = new Headers()
    for (const [name, values] of Object.entries(this.#response.headersDistinct))
      for (const value of values ?? []) this.#headers.append(name, value)
    return this.#headers
  }
}

/** One HTTP request to any server. */
export async function callHttp(url: string, method: string, { body, token, headers = {} }: CallOptions = {}): Promise<Reply> {
  const content = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const sent = request(url, {
    method,
    agent,
    headers: {
      ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  })
  return new Promise((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', (response) => {
      let content = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        content += text
      })
      response.once('error', reject)
      response.once('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') ?? false
        try {
          resolve(new HttpReply(response, isJson ? JSON.parse(content) : content))
        } catch (error) {
          reject(error)
        }
      })
    })
    sent.end(bytes)
  })
}

/** The claims of an access token, unverified. */
export function claimsOf(token: string): Json {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
}
