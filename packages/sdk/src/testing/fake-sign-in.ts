import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Claims, UserClaims } from '../claims.ts'

/** A user of the fake service. */
export interface TestUser {
  readonly id: string
  readonly email: string
  readonly password: string
  readonly first_name: string | null
  readonly last_name: string | null
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
  /** With it, a login asks for this code of a second factor. The sign-in page then takes it for shown. */
  readonly two_factor_code?: string
}

export interface FakeSignInOptions {
  readonly app: { readonly id: string; readonly code: string }
  /** In milliseconds since 1970. */
  readonly now: () => number
  readonly token: (claims: Partial<Claims>) => string
  /** The number that rises when the tokens of a user are revoked. */
  readonly versionOf: (userId: string) => number
  /** Called when a session ends, to tell the consumers. */
  readonly onEnd: (session: { readonly id: string; readonly user: TestUser }) => void
  /** Where the service listens. */
  readonly url: () => string
}

/** The claims about how a user signed in. A refresh keeps them. */
type Proof = Pick<UserClaims, 'auth_time' | 'amr'>

interface Session {
  readonly id: string
  readonly user: TestUser
  readonly version: number
  readonly proof: Proof
  refresh: string
  /** The token before `refresh`, and when it was spent. */
  spent?: { readonly token: string; readonly at: number }
}

interface Code {
  readonly user: TestUser
  readonly proof: Proof
  readonly challenge: string
  readonly redirectUri: string
  session?: Session
}

type Handler = (request: { query: URLSearchParams; body: Record<string, string>; bearer: string }) => Reply
interface Reply {
  readonly status: number
  readonly body?: object
  readonly location?: string
}

const LEEWAY_MS = 10_000
const TOKEN_LIFE_SEC = 900
const opaque = (prefix: string) => `${prefix}${randomBytes(32).toString('base64url')}`
const refuse = (status: number, code: string): Reply => ({ status, body: { status, code, title: code.replaceAll('_', ' ') } })

/**
 * The part of the fake service that pages and server-rendered apps call: logins, refresh with rotation, and a sign-in page that
 * answers at once, with PKCE. The user that it signs in has just shown a password, and a second factor if they own one or the app
 * asks for one.
 */
export class FakeSignIn {
  readonly #options: FakeSignInOptions
  readonly #users: TestUser[] = []
  readonly #sessions = new Set<Session>()
  readonly #codes = new Map<string, Code>()
  /** Whom the sign-in page signs in. Null: they cancel. */
  atPage: TestUser | null = null

  constructor(options: FakeSignInOptions) {
    this.#options = options
  }

  add(given: Partial<TestUser>): TestUser {
    const id = given.id ?? randomUUID()
    const names = { first_name: 'Test', last_name: 'User' }
    const user = { id, email: `${id}@example.com`, password: 'a password of the tests', roles: ['base_user'], permissions: [] }
    const added: TestUser = { ...names, ...user, ...given }
    this.#users.push(added)
    return added
  }

  /** Answers a request of a page, of a browser or of an app. Returns false for other paths. */
  async answer(request: IncomingMessage, response: ServerResponse, path: string, url: URL): Promise<boolean> {
    const handler = this.#handlers[`${request.method} ${path}`]
    const isPreflight = request.method === 'OPTIONS' && Object.keys(this.#handlers).some((each) => each.endsWith(` ${path}`))
    if (!handler && !isPreflight) return false
    const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'authorization, content-type' }
    if (!handler) {
      response.writeHead(204, { ...headers, 'access-control-allow-methods': 'GET, POST, PATCH, DELETE' }).end()
      return true
    }
    const bearer = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const { status, body, location } = handler({ query: url.searchParams, body: parse(await readText(request)), bearer })
    const type = body && { 'content-type': 'application/json; charset=utf-8' }
    response.writeHead(status, { ...headers, 'cache-control': 'no-store', ...type, ...(location && { location }) })
    response.end(body && JSON.stringify(body))
    return true
  }

  readonly #handlers: Readonly<Record<string, Handler>> = {
    'GET /.well-known/oauth-authorization-server': () => {
      const issuer = this.#options.url()
      const endpoints = { authorization_endpoint: `${issuer}/oauth/authorize`, end_session_endpoint: `${issuer}/oauth/logout` }
      return { status: 200, body: { issuer, token_endpoint: `${issuer}/oauth/token`, ...endpoints } }
    },

    'GET /oauth/authorize': ({ query }) => {
      const redirectUri = query.get('redirect_uri') ?? ''
      const challenge = query.get('code_challenge') ?? ''
      const isKnown = query.get('client_id') === this.#options.app.code && URL.canParse(redirectUri) && challenge !== ''
      if (!isKnown) return refuse(400, 'invalid_request')
      const back = new URL(redirectUri)
      const code = opaque('gac_')
      const demanded = query.get('acr_values') ?? 'mfa'
      const user = this.atPage
      const isStrong = user?.two_factor_code !== undefined || query.has('acr_values')
      if (user) this.#codes.set(code, { user, proof: this.#prove(isStrong), challenge, redirectUri })
      const error = demanded === 'mfa' ? 'access_denied' : 'unmet_authentication_requirements'
      const answer = user && demanded === 'mfa' ? { code } : { error }
      const given = { ...answer, state: query.get('state') ?? '', iss: this.#options.url() }
      for (const [name, value] of Object.entries(given)) back.searchParams.set(name, value)
      return { status: 303, location: back.href }
    },

    'GET /oauth/logout': ({ query }) => {
      const back = query.get('post_logout_redirect_uri') ?? ''
      if (!URL.canParse(back)) return refuse(400, 'invalid_request')
      const url = new URL(back)
      url.searchParams.set('state', query.get('state') ?? '')
      return { status: 303, location: url.href }
    },

    'POST /oauth/token': ({ body }) => {
      if (body.client_id !== this.#options.app.code) return asOAuth(refuse(400, 'invalid_client'))
      if (body.grant_type === 'authorization_code') return this.#exchange(body)
      if (body.grant_type === 'refresh_token') return asOAuth(this.#refresh(body.refresh_token))
      return asOAuth(refuse(400, 'unsupported_grant_type'))
    },

    'POST /oauth/revoke': ({ body }) => {
      this.#end(body.token)
      return { status: 200, body: {} }
    },

    'POST /auth/login': ({ body }) => {
      if (body.app_code !== undefined && body.app_code !== this.#options.app.code) return refuse(404, 'app_not_found')
      const user = this.#users.find(({ email, password }) => email === body.email && password === body.password)
      if (!user) return refuse(401, 'invalid_credentials')
      if (user.two_factor_code !== undefined && body.two_factor_code === undefined)
        return { status: 401, body: { status: 401, requires_2fa: true } }
      if (user.two_factor_code !== body.two_factor_code) return refuse(401, 'invalid_two_factor_code')
      return { status: 200, body: this.#show(this.#begin(user, this.#prove(user.two_factor_code !== undefined))) }
    },

    'POST /auth/refresh': ({ body }) => this.#refresh(body.refresh_token),

    'POST /auth/logout': ({ body }) => {
      this.#end(body.refresh_token)
      return { status: 204 }
    },

    'GET /auth/me': ({ bearer }) => {
      const { sid }: { sid?: unknown } = parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString())
      const session = [...this.#sessions].find(({ id }) => id === sid)
      if (!session || !this.#isAlive(session)) return refuse(401, 'token_invalid')
      const { roles, permissions } = session.user
      return { status: 200, body: { user: this.#record(session.user), app: this.#options.app, roles, permissions } }
    },
  }

  #exchange({ code = '', redirect_uri, code_verifier = '' }: Record<string, string>): Reply {
    const known = this.#codes.get(code)
    if (known?.session) this.#drop(known.session)
    const challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const isGood = known && !known.session && known.challenge === challenge && known.redirectUri === redirect_uri
    if (!isGood) {
      this.#codes.delete(code)
      return asOAuth(refuse(400, 'invalid_grant'))
    }
    known.session = this.#begin(known.user, known.proof)
    return { status: 200, body: { ...this.#show(known.session), scope: '' } }
  }

  #refresh(token: string | undefined): Reply {
    const session = this.#find(token)
    if (!session || !this.#isAlive(session)) return refuse(401, 'invalid_refresh_token')
    const now = this.#options.now()
    const { spent } = session
    if (token === session.refresh) {
      session.spent = { token, at: now }
      session.refresh = opaque('grt_')
    } else if (!spent || now - spent.at > LEEWAY_MS) {
      this.#drop(session)
      return refuse(401, 'refresh_token_reused')
    }
    return { status: 200, body: this.#show(session) }
  }

  #prove(isStrong: boolean): Proof {
    return { auth_time: Math.floor(this.#options.now() / 1000), amr: isStrong ? ['pwd', 'otp', 'mfa'] : ['pwd'] }
  }

  #begin(user: TestUser, proof: Proof): Session {
    const session = { id: randomUUID(), user, proof, version: this.#options.versionOf(user.id), refresh: opaque('grt_') }
    this.#sessions.add(session)
    return session
  }

  #find(token: string | undefined): Session | undefined {
    return [...this.#sessions].find(({ refresh, spent }) => token !== undefined && (refresh === token || spent?.token === token))
  }

  #end(token: string | undefined): void {
    const session = this.#find(token)
    if (session) this.#drop(session)
  }

  #drop(session: Session): void {
    if (this.#sessions.delete(session)) this.#options.onEnd(session)
  }

  #isAlive({ user, version }: Session): boolean {
    return version === this.#options.versionOf(user.id)
  }

  #show({ id: sid, user, proof, refresh }: Session): object {
    const { id: uid, email, first_name, last_name, roles, permissions } = user
    const claims = { uid, sid, email, first_name, last_name, roles: [...roles], permissions: [...permissions], ...proof }
    const access = { access_token: this.#options.token(claims), expires_in: TOKEN_LIFE_SEC }
    const more = { user: this.#record(user), app: this.#options.app, organization: null }
    return { token_type: 'Bearer', ...access, refresh_token: refresh, refresh_expires_in: 30 * 86_400, ...more }
  }

  #record({ id, email, first_name, last_name }: TestUser): object {
    const pools = { namespace: 'default', namespaces: ['default'] }
    const created_at = new Date(this.#options.now()).toISOString()
    return { id, email, email_verified: true, first_name, last_name, ...pools, status: 'active', created_at }
  }
}

function asOAuth({ status, body, ...rest }: Reply): Reply {
  const { code }: { code?: string } = Object(body)
  return code === undefined ? { status, body, ...rest } : { status: 400, body: { error: 'invalid_grant', code } }
}

function parse(text: string): Record<string, string> {
  try {
    return text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
  } catch {
    return {}
  }
}

export async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
