import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Server } from 'node:net'
import type { Revocation } from '../known-revocations.ts'
import { COMMON_REFUSALS } from '../protocol.ts'
import type { UserChange } from '../user-changes.ts'
import { FakeSignIn, type FakeSignInOptions, readText } from './fake-sign-in.ts'
import { headerFor, isAssertion } from './sign-token.ts'

/** Shorter than the silence after which a stream counts as dead. */
const HEARTBEAT_MS = 15_000

export interface FakeService {
  /** Where it listens, without `/api/v1`. */
  readonly url: string
  /** Its users, and who is at its sign-in page. */
  readonly signIn: FakeSignIn
  /** Sends an event to the consumers, at once or as soon as the service is up again. */
  revoke(event: Omit<Revocation, 'cursor'>): void
  /** Adds a change to the list that the consumers read. */
  change(change: TestUserChange): void
  /** Cuts all connections and answers nothing more: requests for revocations wait, all others are cut off. */
  down(): void
  up(): void
  close(): void
}

export interface FakeServiceOptions {
  readonly secret: string
  readonly serviceToken: string
  /** The app of the consumers. */
  readonly app: { readonly id: string; readonly code: string }
  /** The time that the service tells consumers, in milliseconds since 1970. */
  readonly now: () => number
  /** Returns what `POST /auth/introspect` answers about a token. */
  readonly introspect: (token: string) => Promise<object>
  readonly signIn: Omit<FakeSignInOptions, 'app' | 'url' | 'onEnd'>
}

/** A change of a user, for `auth.onUserChange`. What you leave out is made up. */
export type TestUserChange = Partial<Omit<Exclude<UserChange, { type: 'reset' }>, 'type'>> & { readonly type: UserChange['type'] }

interface Declaration {
  readonly service: string
  readonly permissions: readonly DeclaredPermission[]
}

interface DeclaredPermission {
  readonly code: string
  readonly name: string
}

/**
 * Starts the part of the service that an app calls, on loopback: for its backend the settings, revocations, permission
 * registration, introspection and health, for its users sign-in.
 */
export function startFakeService(options: FakeServiceOptions): FakeService {
  const { secret, serviceToken, app, now } = options
  const revocations = new RevocationList()
  const changes = new ChangeList(app.id, now)
  const answers = answersOf(options, revocations, changes)
  /** The waiting requests while the service is down. */
  let held: Set<() => void> | undefined

  const address = () => `http://127.0.0.1:${portOf(server)}`
  const onEnd: FakeSignInOptions['onEnd'] = ({ id, user }) =>
    revocations.add({ user_id: user.id, app_id: app.id, session_id: id, min_tv: null, at: new Date(now()).toISOString() })
  const signIn = new FakeSignIn({ ...options.signIn, app, url: address, onEnd })

  const isCaller = (request: IncomingMessage) => {
    const bearer = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    return bearer === serviceToken || isAssertion(bearer, secret)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const path = url.pathname.replace(/^\/api\/v1/, '')
    if (await signIn.answer(request, response, path, url)) return
    const answer = answers[`${request.method} ${path}`]
    if (answer === undefined) return send(response, 404, { status: 404, code: 'not_found', title: 'Not found' })
    if (path !== '/health' && !isCaller(request))
      return send(response, 401, { status: 401, code: 'token_invalid', title: COMMON_REFUSALS.token_invalid.title })
    await answer(request, response, url)
  }

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const go = () =>
      void serve(request, response).catch(() =>
        send(response, 400, { status: 400, code: 'invalid_json', title: 'Body is not JSON' }),
      )
    if (held === undefined) return go()
    if (!request.url?.includes('/revocations')) return void response.destroy()
    held.add(go)
    response.on('close', () => held?.delete(go))
  }

  // Without a host name, the port is known at once. Only this machine can connect.
  const server = createServer(onRequest).listen(0).unref()
  server.on('connection', (socket) => {
    if (/^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')) socket.unref()
    else socket.destroy()
  })
  const heartbeat = setInterval(() => revocations.beat(), HEARTBEAT_MS).unref()

  return {
    url: address(),
    signIn,
    revoke: (event) => revocations.add(event),
    change: (given) => changes.add(given),
    down() {
      held ??= new Set()
      server.closeAllConnections()
    },
    up() {
      const waiting = held ?? []
      held = undefined
      for (const go of waiting) go()
    },
    close() {
      clearInterval(heartbeat)
      server.close()
      server.closeAllConnections()
    },
  }
}

type Answer = (request: IncomingMessage, response: ServerResponse, url: URL) => unknown

/** What the service answers its apps, by method and path. */
function answersOf(
  { secret, app, now, introspect }: FakeServiceOptions,
  revocations: RevocationList,
  changes: ChangeList,
): Record<string, Answer> {
  const serviceId = randomUUID()
  const declared = new Map<string, Map<string, string>>()
  return {
    'GET /health': (_, response) => send(response, 200, { status: 'ok', version: 'test' }),

    'GET /consumer'(_, response) {
      const kids = [headerFor(secret).kid]
      const known = { ...app, status: 'active', permission_scope: 'roles', signing: 'shared' }
      send(response, 200, { service_id: serviceId, app: known, kids, time: new Date(now()).toISOString() })
    },

    'GET /revocations': (_, response, { searchParams }) => send(response, 200, revocations.pageSince(searchParams.get('since'))),

    'GET /revocations/stream': (request, response) => revocations.stream(response, request.headers['last-event-id']),

    'GET /consumer/changes': (_, response, { searchParams }) => send(response, 200, changes.pageSince(searchParams.get('since'))),

    async 'POST /admin/permissions/register'(request, response) {
      const { service, permissions }: Declaration = JSON.parse(await readText(request))
      send(response, 200, registerPermissions(declared, service, permissions))
    },

    async 'POST /auth/introspect'(request, response) {
      const text = await readText(request)
      const form = { token: new URLSearchParams(text).get('token') }
      const { token }: { token?: unknown } = text.startsWith('{') ? JSON.parse(text) : form
      send(response, 200, await introspect(String(token)))
    },
  }
}

type Numbered<Row> = Row & { readonly cursor: number }

function after<Row extends { readonly cursor: number }>(rows: readonly Row[], cursor: unknown): Row[] {
  return rows.filter((row) => row.cursor > Number(cursor ?? 0))
}

class RevocationList {
  readonly #events: Numbered<Revocation>[] = []
  readonly #streams = new Set<ServerResponse>()

  add(revocation: Omit<Revocation, 'cursor'>): void {
    const event = { ...revocation, cursor: this.#events.length + 1 }
    this.#events.push(event)
    for (const stream of this.#streams) stream.write(frame(event))
  }

  pageSince(cursor: unknown): object {
    return { items: after(this.#events, cursor), cursor: this.#events.length, has_more: false, reset: false }
  }

  stream(response: ServerResponse, cursor: unknown): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(`: open\n\n${after(this.#events, cursor).map(frame).join('')}`)
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
  }

  beat(): void {
    for (const stream of this.#streams) stream.write(':\n\n')
  }
}

function frame(event: Revocation): string {
  return `id: ${event.cursor}\ndata: ${JSON.stringify(event)}\n\n`
}

class ChangeList {
  readonly #appId: string
  readonly #now: () => number
  readonly #changes: Numbered<TestUserChange>[] = []
  #isReset = false

  constructor(appId: string, now: () => number) {
    this.#appId = appId
    this.#now = now
  }

  add(given: TestUserChange): void {
    if (given.type === 'reset') this.#isReset = true
    else this.#changes.push({ ...nobodyAt(this.#now()), ...given, cursor: this.#changes.length + 1 })
  }

  pageSince(cursor: unknown): object {
    const items = after(this.#changes, cursor)
    const page = { items, cursor: this.#changes.length, app_id: this.#appId, has_more: false, reset: this.#isReset }
    this.#isReset = false
    return page
  }
}

function nobodyAt(ms: number) {
  return { user_id: randomUUID(), email: null, first_name: null, last_name: null, at: new Date(ms).toISOString() }
}

/** The TCP port where a server listens. */
export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port')
  return address.port
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

/** Works as the service does: adds new permissions and removes missing ones. */
function registerPermissions(
  declared: Map<string, Map<string, string>>,
  service: string,
  permissions: readonly DeclaredPermission[],
): object {
  const before = declared.get(service) ?? new Map<string, string>()
  const now = new Map(permissions.map(({ code, name }) => [code, name]))
  declared.set(service, now)
  const codes = [...now.keys()]
  const created = codes.filter((code) => !before.has(code)).length
  const unchanged = codes.filter((code) => before.get(code) === now.get(code)).length
  const pruned = [...before.keys()].filter((code) => !now.has(code)).length
  return { service, created, updated: codes.length - created - unchanged, pruned, unchanged, permissions }
}
