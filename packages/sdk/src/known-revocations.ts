import type { Claims } from './claims.ts'

/**
 * One event of the feed: the minimum token version of a user, the end of one session, or the earliest time of issue of an app's
 * tokens. Newer services may send other events.
 */
export interface Revocation {
  readonly cursor: number
  /** Null for all users. Then `min_iat` is set. */
  readonly user_id: string | null
  /** The app that the event is about. Null for all apps. */
  readonly app_id: string | null
  readonly session_id: string | null
  readonly min_tv: number | null
  /** In seconds since 1970. */
  readonly min_iat?: number
  readonly at: string
}

interface Floors {
  /** By the clock that is never set: `performance.now()`. */
  readonly heardAt: number
  /** When it was revoked, in seconds since 1970. */
  readonly since: number
  /**
   * Tokens below these minimums are dead. For a user: token versions by app id, null for all apps. For a session or an app: one
   * minimum, by ''.
   */
  readonly byApp: Map<unknown, number>
}

/** Access tokens live for an hour at most, and clocks may differ by a minute. Tokens revoked longer ago have expired. */
const KEEP_MS = 3_660_000
/** Used in place of an app's id. */
const ALL_APPS = '*'

/** The revocations of the last hour by the id of the user, the session or the app, the latest last. */
export class KnownRevocations {
  readonly #floors = new Map<string, Floors>()
  /**
   * Tokens issued until then may have been revoked by events that were forgotten since. They have expired, and must not come back
   * to life if the clock of this machine is set back.
   */
  #forgotten: number

  /** `former`: the revocations of another database. They say which tokens may have been revoked by forgotten events. */
  constructor(former?: KnownRevocations) {
    this.#forgotten = former ? former.#forgotten : 0
  }

  /** Adds an event. Returns false if it does not know this kind of event. `now` is that of `performance.now()`. */
  add(event: unknown, now = performance.now()): boolean {
    const { user_id, app_id, session_id, min_tv, min_iat, at }: { readonly [Name in keyof Revocation]?: unknown } = Object(event)
    const isOfApp = user_id === null && min_iat !== undefined
    // The whole session has ended: no token reaches this minimum.
    const [id, app, floor] = isOfApp
      ? [app_id ?? ALL_APPS, '', min_iat]
      : session_id
        ? [session_id, '', Number.MAX_VALUE]
        : [user_id, app_id, min_tv]
    if (typeof id !== 'string' || typeof floor !== 'number') return false
    const byApp = this.#floors.get(id)?.byApp ?? new Map<unknown, number>()
    byApp.set(app, Math.max(byApp.get(app) ?? 0, floor))
    this.#floors.delete(id)
    // A service whose clock is ahead must not make this one refuse tokens that it has yet to issue.
    const since = Math.min(Date.parse(`${at}`) || 0, performance.timeOrigin + now) / 1000
    this.#floors.set(id, { heardAt: now, since, byApp })
    for (const [id, { heardAt, since }] of this.#floors) {
      if (heardAt + KEEP_MS > now) break
      this.#floors.delete(id)
      this.#forgotten = Math.max(this.#forgotten, since)
    }
    return true
  }

  /** Whether the token is revoked. Ignores events of other apps. */
  include({ uid, sid, app_id, tv, iat }: Claims): boolean {
    if (iat <= this.#forgotten) return true
    if (this.#floors.size === 0) return false
    const user = this.#floors.get(uid)?.byApp
    return (
      tv < (user?.get(null) ?? 0) ||
      tv < (user?.get(app_id) ?? 0) ||
      tv < this.#floorOf(sid) ||
      iat < this.#floorOf(app_id) ||
      iat < this.#floorOf(ALL_APPS)
    )
  }

  #floorOf(id = ''): number {
    return this.#floors.get(id)?.byApp.get('') ?? 0
  }
}
