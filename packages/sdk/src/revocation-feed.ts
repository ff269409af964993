import { addressOf, callService, type Timer, unreachable, unref } from './call-service.ts'
import type { Claims } from './claims.ts'
import type { AuthEvent, Config, FeedOptions } from './config.ts'
import { type AuthError, refused } from './errors.ts'
import { KnownRevocations, type Revocation } from './known-revocations.ts'

interface FeedPage {
  readonly items: readonly unknown[]
  readonly cursor: number
  readonly has_more?: boolean
  /** True if the service has another database than before. */
  readonly reset?: boolean
}

export interface RevocationFeed {
  /** Throws `TOKEN_REVOKED` if the token was revoked, and `REVOCATION_UNAVAILABLE` if that is unknown and `onStale` is `deny`. */
  check(claims: Claims): void
  health(): { readonly connected: boolean; readonly ageSec: number | null }
  /**
   * Resolves to true when all revocations so far are known, or to false after `ms`. Rejects when the feed is closed. Logs what it
   * waits for, and keeps the process alive.
   */
  wait(ms?: number): Promise<boolean>
}

/** A connection that lasts this long resets the backoff. */
const STEADY_MS = 5_000
/** The longest wait between two tries. */
const LONGEST_WAIT_MS = 5_000
/** How long somebody waits for the first revocations before the log says so, and how often it says so again. */
const UNREADY_AFTER_MS = 3_000
const UNREADY_EVERY_MS = 60_000
/** The service sends a heartbeat every 15 s: after this silence one is overdue. */
const SILENCE_MS = 20_000

/**
 * Follows the revocations of the service (docs/guard-a-backend/revocation.md): by server-sent events while they come through,
 * otherwise by polling. It works in the background, never throws, and does not keep the process alive.
 */
export function followRevocations(config: Config, { onStale, maxStaleSec = 60 }: FeedOptions): RevocationFeed {
  const { now, tell, warn, closing } = config
  const { signal } = closing
  let known = new KnownRevocations()
  /** Those of another database. They count until all of this one are known: its list may break off. */
  let former: KnownRevocations | undefined
  let cursor: number | undefined
  let skipped = 0
  /** When the revocations known here were last complete, by the clock, and by one that is never set back but may stand still. */
  let completeAt = [now(), performance.now()] as const
  let stream: 'opening' | 'alive' | undefined
  let connected = false
  /** The transport last reported, then what was reported since: each reason for a lost connection, and that the feed is stale. */
  let told: string[] = []
  let failures = 0
  let timer: Timer | undefined
  let steady: Timer | undefined
  let lastReason = 'no answer yet'
  let waiting = 0
  let unready: Timer | undefined
  let isReady: (known: true) => void
  const ready = new Promise<boolean>((resolve, reject) => {
    isReady = resolve
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  // The caller may ignore it.
  ready.catch(() => {})
  signal.onabort = () => {
    connected = false
    clearTimeout(timer)
    clearTimeout(steady)
  }

  const isAlive = () => stream === 'alive'
  const age = () => Math.max(now() - completeAt[0], performance.now() - completeAt[1]) / 1000
  const ageSec = () => (cursor === undefined ? null : Math.floor(age()))
  // A stream is not stale before a heartbeat is overdue.
  const isStale = () => !(age() <= (isAlive() ? Math.max(maxStaleSec, SILENCE_MS / 1000) : maxStaleSec))

  const stale = () =>
    refused('REVOCATION_UNAVAILABLE', `the feed was read ${ageSec() ?? '(never)'} s ago, maxStaleSec is ${maxStaleSec}`)

  const schedule = (ms: number) => {
    clearTimeout(timer)
    if (!signal.aborted) timer = unref(setTimeout(step, ms))
  }

  const beginAnew = () => {
    failures = 0
  }
  const reached = (transport: 'stream' | 'poll') => {
    if (signal.aborted) return
    completeAt = [now(), performance.now()]
    if (!connected) steady = unref(setTimeout(beginAnew, STEADY_MS))
    connected = true
    isReady(true)
    if (told.at(-1) !== transport) tell({ type: 'revocation.connected', transport })
    told = [transport]
  }

  const tellOnce = (what: string, event: AuthEvent) => {
    if (told.includes(what)) return
    told.push(what)
    tell(event)
  }

  const lost = ({ code, hint, message }: AuthError) => {
    // A restart of the service breaks each stream once. That is not a fault, unless reconnecting fails or does not last.
    const isFault = !signal.aborted && (!connected || failures > 0)
    connected = false
    clearTimeout(steady)
    const jitter = Math.random()
    // The service will refuse the same again, so it is tried again only every 30 to 60 s.
    const retryInMs =
      code === 'SERVICE_REJECTED' ? 30_000 * (1 + jitter) : jitter * Math.min(LONGEST_WAIT_MS, 200 * 2 ** failures++)
    const reason = hint ?? message
    lastReason = reason
    tellOnce(reason, { type: 'revocation.disconnected', reason, retryInMs })
    if (isFault) warn(`revocations: ${reason}`, `revocations cannot be read from ${addressOf(config)}: ${reason}`)
    if (isStale()) tellOnce('stale', { type: 'revocation.stale', ageSec: ageSec() })
    schedule(retryInMs)
  }

  const advance = (to: number) => {
    if (!to && to !== 0) throw unreachable('no cursor')
    cursor = to
  }
  const take = (event: unknown) => {
    // A newer service may send other events. This version skips them, and must not miss what follows.
    if (!known.add(event)) tell({ type: 'revocation.skipped', count: ++skipped })
    const { cursor: to } = Object(event) as Partial<Revocation>
    if (typeof to === 'number') cursor = to
  }
  /** A code can come to mean another app, and an address another service. Tokens must be of the app that was there first. */
  const checkApp = ({ headers }: Response) => {
    const appId = headers.get('x-app-id')
    if (!appId) return
    config.appId ??= appId
    if (appId === config.appId) return
    throw refused('SERVICE_REJECTED', `X-App-Id ${appId.slice(0, 36)}, not ${config.appId}`)
  }

  const poll = async () => {
    let page: FeedPage
    let reachedCursor = -1
    do {
      const path = `/revocations?form=2${cursor === undefined ? '' : `&since=${cursor}`}`
      page = await callService(config, { path, inBackground: true, signal, onHead: checkApp }, 10_000)
      if (page.reset) {
        former ??= known
        known = new KnownRevocations(known)
      }
      page.items.forEach(take)
      advance(page.cursor)
      // A service that repeats itself would keep this loop busy for ever.
      if (page.has_more && page.cursor <= reachedCursor) throw unreachable('the cursor does not advance')
      reachedCursor = page.cursor
    } while (page.has_more)
    former = undefined
    reached('poll')
  }

  const follow = async () => {
    let rest = ''
    const onText = (text: string) => {
      const events = (rest + text).split(/\r?\n\r?\n/)
      rest = events.pop()!
      if (rest.length > 65_536) throw unreachable('event too large')
      for (const event of events) {
        if (/^event: *reset/m.test(event)) throw unreachable('reset')
        const data = event.match(/(?<=^data:).*/gm)
        if (data) take(JSON.parse(data.join('')))
      }
      stream = 'alive'
      reached('stream')
    }
    stream = 'opening'
    const headers = { 'last-event-id': `${cursor}` }
    const request = { path: '/revocations/stream?form=2', inBackground: true, headers, signal, onText, onHead: checkApp }
    const error = await callService<undefined>(config, request, SILENCE_MS).catch((error: AuthError) => error)
    const wasAlive = isAlive()
    stream = undefined
    const reason = error ?? unreachable('stream ended')
    if (wasAlive) lost(reason)
    else if (connected) warn('stream', `no stream comes through from ${addressOf(config)}: ${reason.hint}`)
  }

  const sayUnready = () => {
    warn('', `not ready: waiting for the first revocations from ${addressOf(config)} (${lastReason})`)
    unready = setTimeout(sayUnready, UNREADY_EVERY_MS)
  }
  const wait = async (ms?: number) => {
    if (waiting++ === 0) unready = setTimeout(sayUnready, UNREADY_AFTER_MS)
    let timer: Timer | undefined
    try {
      return await Promise.race([
        ready,
        new Promise<boolean>((resolve) => {
          if (ms !== undefined) timer = setTimeout(resolve, ms, false)
        }),
      ])
    } finally {
      clearTimeout(timer)
      if (--waiting === 0) clearTimeout(unready)
    }
  }

  const step = async () => {
    try {
      if (!isAlive()) await poll()
      if (!stream) void follow()
      // 5 s on average.
      schedule(10_000 * Math.random())
    } catch (error) {
      lost(error as AuthError)
    }
  }
  void step()

  return {
    check(claims) {
      if (known.include(claims) || former?.include(claims)) throw refused('TOKEN_REVOKED', 'the service revoked it')
      if (onStale === 'deny' && (cursor === undefined || isStale())) throw stale()
    },
    health: () => ({ connected, ageSec: ageSec() }),
    wait,
  }
}
