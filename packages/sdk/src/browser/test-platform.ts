// Helpers for the tests of this folder: the parts of a browser, and a service on a real socket.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { onTestFinished } from 'vitest'
import { portOf } from '../testing/fake-service.ts'
import { TabAuth } from './browser-auth.ts'
import { type BrowserAuthOptions, readOptions } from './options.ts'
import { type BrowserStorage, browserPlatform, type Platform } from './platform.ts'

export class MapStorage implements BrowserStorage {
  readonly items = new Map<string, string>()
  /** Makes each write throw, as in a full storage. */
  isFull = false

  get length(): number {
    return this.items.size
  }

  key(index: number): string | null {
    return [...this.items.keys()][index] ?? null
  }

  getItem(key: string): string | null {
    return this.items.get(key) ?? null
  }

  setItem(key: string, value: string): void {
    if (this.isFull) throw new Error('QuotaExceededError')
    this.items.set(key, value)
  }

  removeItem(key: string): void {
    this.items.delete(key)
  }
}

/** A storage as a tab in another process sees it: what others write appears only after `deliver`. */
export class LaggingStorage extends MapStorage {
  readonly #shared: MapStorage

  constructor(shared: MapStorage) {
    super()
    this.#shared = shared
    this.deliver()
  }

  deliver(): void {
    this.items.clear()
    for (const [key, value] of this.#shared.items) this.items.set(key, value)
  }

  override setItem(key: string, value: string): void {
    super.setItem(key, value)
    this.#shared.setItem(key, value)
  }

  override removeItem(key: string): void {
    super.removeItem(key)
    this.#shared.removeItem(key)
  }
}

export interface TestPlatform extends Platform {
  /** Moves this tab's clock. */
  advance(seconds: number): void
  /** Fires an event of the browser: `online`, `pageshow`, … */
  fire(name: string): void
  setOnline(isOnline: boolean): void
  /** Changes the address without leaving the page. */
  visit(url: string): void
  /** The URLs that the page was sent to. */
  readonly assigned: string[]
}

const globals: object & { readonly navigator?: Partial<Pick<Platform, 'locks'>> } = globalThis

/** A tab on `https://app.example/start`; tabs of one browser share `localStorage`. */
export function buildPlatform({
  localStorage = new MapStorage(),
}: {
  localStorage?: BrowserStorage | undefined
} = {}): TestPlatform {
  let offsetMs = 0
  let isOnline = true
  let href = 'https://app.example/start?x=1#top'
  const assigned: string[] = []
  const listeners = new Map<string, Set<() => void>>()
  return {
    ...browserPlatform(),
    now: () => Date.now() + offsetMs,
    localStorage,
    sessionStorage: new MapStorage(),
    location: {
      get href() {
        return href
      },
      origin: 'https://app.example',
      assign: (url) => void assigned.push(url),
    },
    history: {
      state: null,
      replaceState(_state, _unused, url) {
        href = url
      },
    },
    locks: globals.navigator?.locks,
    openChannel: (name) => new BroadcastChannel(name) as never,
    isOnline: () => isOnline,
    listen(name, listener) {
      const known = listeners.get(name) ?? new Set()
      listeners.set(name, known.add(listener))
      return () => void known.delete(listener)
    },
    advance(seconds) {
      offsetMs += seconds * 1000
    },
    fire(name) {
      for (const listener of listeners.get(name) ?? []) listener()
    },
    setOnline(online) {
      isOnline = online
    },
    visit(url) {
      href = url
    },
    assigned,
  }
}

/** Creates the login of that tab, as `createBrowserAuth` does. */
export function buildAuth(platform: Platform, options: BrowserAuthOptions): TabAuth {
  const auth = new TabAuth(readOptions(options, platform), platform)
  onTestFinished(() => auth.dispose())
  return auth
}

/** Returns a promise and the function that resolves it. */
export function later<Value = void>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: whatever came over the wire.
  readonly body: any
}

/** `cut` breaks the connection without an answer. */
export type PeerReply = { status: number; body?: unknown; headers?: Record<string, string> } | 'cut'
export type Answering = (request: SeenRequest, count: number) => PeerReply | Promise<PeerReply>

export interface Peer {
  readonly url: string
  readonly seen: SeenRequest[]
  /** How it answers. A test may replace it. */
  answer: Answering
}

export async function startPeer(answer: Answering): Promise<Peer> {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { method = '', url = '', headers } = request
    const body = headers['content-type'] === 'application/json' && text !== '' ? JSON.parse(text) : text
    const entry = { method, path: url.replace('/api/v1', ''), headers, body }
    seen.push(entry)
    const reply = await peer.answer(entry, seen.filter(({ path }) => path === entry.path).length)
    if (reply === 'cut') return void request.socket.destroy()
    const isText = typeof reply.body === 'string'
    response.writeHead(reply.status, { 'content-type': isText ? 'text/html' : 'application/json', ...reply.headers })
    response.end(reply.body === undefined ? undefined : isText ? reply.body : JSON.stringify(reply.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const peer: Peer = { url: `http://127.0.0.1:${portOf(server)}`, seen, answer }
  return peer
}

export const USER = { id: 'u-1', email: 'ada@example.com', first_name: 'Ada', last_name: null, namespace: 'default' }

/** The service's answer with the tokens `access-N` and `refresh-N`. */
export function tokensOf(n: number, extra: object = {}): PeerReply {
  const tokens = { token_type: 'Bearer', access_token: `access-${n}`, expires_in: 900, refresh_token: `refresh-${n}` }
  return { status: 200, body: { ...tokens, refresh_expires_in: 2_592_000, user: USER, organization: null, ...extra } }
}

/** A refusal in the service's shape. */
export function refusal(status: number, code: string, extra: object = {}): PeerReply {
  return { status, body: { status, code, title: 'Refused', request_id: 'r-1', ...extra } }
}
