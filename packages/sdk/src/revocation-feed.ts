import { callService, jitter, type Timer, unreachable, unref } from './call-service.ts'
import type { Claims } from './claims.ts'
import type { Config, FeedOptions } from './config.ts'
import { AuthError } from './errors.ts'
import { KnownRevocations, type Revocation } from './known-revocations.ts'

/** The mean time between two questions. */
const POLL_MS = 5_000
const POLL_TIMEOUT_MS = 10_000
/** The service sends a heartbeat each 15 s: a stream is not stale before one is overdue, and dead when two are missing. */
const HEARTBEAT_SEC = 20
const SILENCE_MS = 40_000
const BACKOFF_MS = 200
const BACKOFF_MAX_MS = 30_000
const EVENT_MAX_CHARACTERS = 65_536

interface FeedPage {
  readonly items: readonly Revocation[]
  readonly cursor: string | number
  readonly has_more?: boolean
  /** The service has another database than before. */
  readonly reset?: boolean
}

export interface RevocationFeed {
  /** Throws when the token was revoked, or when nobody can tell and the app wants it refused then. */
  check(claims: Claims): void
  health(): { readonly connected: boolean; readonly ageSec: number | null }
}

/**
 * Follows the revocations of the service (docs/revocation.md): by server-sent events while they come through, by polling while
 * they do not. It works in the background, where it neither throws nor keeps the process alive.
 */
export function followRevocations(config: Config, { onStale, maxStaleSec = 60 }: FeedOptions): RevocationFeed {
  const { now, tell } = config
  const { signal } = config.closing
  const known = new KnownRevocations()
  let cursor: string | undefined
  /** When nothing that the service knew was missing here. */
  let completeAt = now()
  let stream: 'opening' | 'alive' | undefined
  let connected = false
  /** The transport that was told last, then each reason since why nothing came. */
  let told = ['']
  let toldStale = false
  let failures = 0
  let timer: Timer | undefined
  signal.onabort = () => {
    connected = false
    clearTimeout(timer)
  }

  const age = () => (now() - completeAt) / 1000
  const ageSec = () => (cursor === undefined ? null : Math.floor(age()))
  const isStale = () => !(age() <= (stream === 'alive' ? Math.max(maxStaleSec, HEARTBEAT_SEC) : maxStaleSec))

  const schedule = (ms: number) => {
    clearTimeout(timer)
    if (!signal.aborted) timer = unref(setTimeout(step, ms))
  }

  const reached = (transport: 'stream' | 'poll') => {
    completeAt = now()
    connected = true
    toldStale = false
    if (told[1] || told[0] !== transport) tell({ type: 'revocation.connected', transport })
    told = [transport]
  }

  const lost = ({ code, hint, message }: AuthError) => {
    connected = false
    const retryInMs = jitter(failures++, BACKOFF_MS, BACKOFF_MAX_MS) + (code === 'SERVICE_REJECTED' ? BACKOFF_MAX_MS : 0)
    const reason = hint ?? message
    if (!told.includes(reason, 1)) {
      told.push(reason)
      tell({ type: 'revocation.disconnected', reason, retryInMs })
    }
    if (!toldStale && isStale()) {
      toldStale = true
      tell({ type: 'revocation.stale', ageSec: ageSec() })
    }
    schedule(retryInMs)
  }

  const advance = (to: string | number) => {
    if (!to && to !== 0) throw unreachable('no cursor')
    cursor = String(to)
  }
  const take = (event: Revocation) => {
    known.add(event, now())
    advance(event.cursor)
  }

  const poll = async () => {
    let page: FeedPage
    do {
      const path = `/revocations${cursor === undefined ? '' : `?since=${encodeURIComponent(cursor)}`}`
      page = await callService(config, { path, signal, timeoutMs: POLL_TIMEOUT_MS, background: true })
      if (page.reset) known.clear()
      page.items.forEach(take)
      advance(page.cursor)
    } while (page.has_more)
    reached('poll')
  }

  const follow = async () => {
    let isAlive = false
    let rest = ''
    const onText = (text: string) => {
      const events = (rest + text).split(/\r?\n\r?\n/)
      rest = events.pop()!
      if (rest.length > EVENT_MAX_CHARACTERS) throw unreachable('an event is too large')
      for (const event of events) {
        const data = event.match(/(?<=^data:).*/gm)
        if (data) take(JSON.parse(data.join('')))
      }
      isAlive = true
      stream = 'alive'
      reached('stream')
    }
    stream = 'opening'
    const headers = { 'last-event-id': cursor! }
    const request = { path: '/revocations/stream', headers, signal, timeoutMs: SILENCE_MS, onText, background: true }
    const reason = await callService<undefined>(config, request).catch((error: AuthError) => error)
    stream = undefined
    if (isAlive) lost(reason ?? unreachable('the stream ended'))
  }

  const step = async () => {
    // A connection that breaks soon does not begin the backoff anew.
    if (connected) failures = 0
    try {
      if (stream !== 'alive') await poll()
      if (!stream) void follow()
      schedule(2 * POLL_MS * Math.random())
    } catch (error) {
      lost(error as AuthError)
    }
  }
  void step()

  return {
    check(claims) {
      if (known.include(claims)) throw new AuthError('TOKEN_REVOKED')
      if (onStale === 'deny' && (cursor === undefined || isStale())) throw new AuthError('REVOCATION_UNAVAILABLE')
    },
    health: () => ({ connected, ageSec: ageSec() }),
  }
}
