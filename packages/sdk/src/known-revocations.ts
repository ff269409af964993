import type { Claims } from './claims.ts'

/** One event of the feed: a floor under the token version of a user, or the end of one session. */
export interface Revocation {
  readonly cursor: number
  readonly user_id: string
  /** The app it is about; null for all. */
  readonly app_id: string | null
  readonly session_id: string | null
  readonly min_tv: number | null
  readonly at: string
}

interface Floors {
  readonly heardAt: number
  /** The token versions below which tokens are dead, by app id; null for all apps, '' for a session, which is no user's id. */
  readonly byApp: Map<string | null, number>
}

/** Access tokens live for an hour at most, and clocks may differ by a minute: what was revoked before that has expired. */
const KEEP_MS = 3_660_000

/** What was heard of in the last hour, by the id of the user or the session, the latest last. */
export class KnownRevocations {
  readonly #floors = new Map<string, Floors>()

  /** Throws when the event has another shape. */
  add({ user_id, app_id, session_id, min_tv }: Revocation, now: number): void {
    // A session has ended whole: no token of it is above its floor.
    const [id, app, floor] = session_id ? [session_id, '', Number.MAX_VALUE] : [user_id, app_id, min_tv]
    if (typeof id !== 'string' || typeof floor !== 'number') throw new TypeError()
    const byApp = this.#floors.get(id)?.byApp ?? new Map<string | null, number>()
    byApp.set(app, Math.max(byApp.get(app) ?? 0, floor))
    this.#floors.delete(id)
    this.#floors.set(id, { heardAt: now, byApp })
    for (const [id, { heardAt }] of this.#floors) {
      if (heardAt + KEEP_MS > now) break
      this.#floors.delete(id)
    }
  }

  /** Events of other apps say nothing about this token. */
  include({ uid, sid, app_id, tv }: Claims): boolean {
    if (this.#floors.size === 0) return false
    const user = this.#floors.get(uid)?.byApp
    return tv < (user?.get(null) ?? 0) || tv < (user?.get(app_id) ?? 0) || tv < (this.#floors.get(sid)?.byApp.get('') ?? 0)
  }
}
