import { callPatiently } from './call-patiently.ts'
import { type Timer, unreachable, unref } from './call-service.ts'
import type { Config } from './config.ts'
import type { AuthError } from './errors.ts'

/**
 * A change of a user of this app, or `reset`: changes are missing, so compare your whole table. A later version of the service may
 * have more types; ignore those that you do not know.
 */
export type UserChange =
  | {
      /** `grant_ended`: the user's access to this app was revoked or has expired. */
      readonly type: 'email_changed' | 'names_changed' | 'user_deleted' | 'grant_ended'
      readonly user_id: string
      /** As it is now, like the names. Null if the user is deleted or has no access to the app now. */
      readonly email: string | null
      readonly first_name: string | null
      readonly last_name: string | null
      /** When it happened, in ISO 8601. */
      readonly at: string
    }
  | { readonly type: 'reset' }

/** The options of `onUserChange`. */
export interface UserChangeOptions {
  /** The last cursor that `onCursor` was given. Without one, the changes of the last 30 days come first. */
  readonly since?: number | null | undefined
  /** Called when all changes up to this cursor are handled. Store it, next to the table that the handler writes. */
  readonly onCursor?: (cursor: number) => unknown
}

/** Handles one change. The next one waits for the promise that it returns. */
export type UserChangeHandler = (change: UserChange) => unknown

interface Page {
  readonly items: readonly UserChange[]
  readonly cursor: number
  readonly has_more: boolean
  readonly reset: boolean
}

const LONGEST_BACKOFF_MS = 60_000

/**
 * Polls the changes of the app's users (docs/guard-a-backend/user-changes.md) until `stopping` or `auth.close()`. It works in the
 * background, never throws, and does not keep the process alive.
 */
export function onUserChange(
  config: Config,
  stopping: AbortController,
  handle: UserChangeHandler,
  { since, onCursor }: UserChangeOptions = {},
): void {
  const { warn, closing } = config
  const signal = AbortSignal.any([closing.signal, stopping.signal])
  let cursor = since ?? undefined
  let failures = 0
  let timer: Timer | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))

  const unread = ({ hint }: AuthError) => warn(`user changes: ${hint}`, `user changes cannot be read: ${hint}`)
  const read = async (): Promise<Page> => {
    const path = `/consumer/changes${cursor === undefined ? '' : `?since=${cursor}`}`
    const request = { path, inBackground: true, signal }
    const page = await callPatiently<Page>(config, request, undefined, undefined, (error, _, wait) => {
      unref(wait)
      unread(error)
    })
    if (!Array.isArray(page?.items) || typeof page.cursor !== 'number') throw unreachable('no cursor')
    return page
  }
  const take = async ({ items, cursor: to, reset }: Page) => {
    const changes: readonly UserChange[] = reset ? [{ type: 'reset' }, ...items] : items
    for (const change of changes) {
      await handle(change)
      signal.throwIfAborted()
    }
    if (to !== cursor) await onCursor?.(to)
    cursor = to
  }

  const step = async () => {
    // What the service refuses is tried again as rarely as it is asked for news: an app may get its own key later.
    let waitMs = 30_000 * (1 + Math.random())
    let page: Page | undefined
    try {
      const from = cursor
      page = await read()
      signal.throwIfAborted()
      await take(page)
      failures = 0
      // A service that repeats itself must not keep this busy.
      if (page.has_more && cursor !== from) waitMs = 0
    } catch (error) {
      if (signal.aborted) return
      if (page) {
        waitMs = (1 + Math.random()) * 0.5 * Math.min(LONGEST_BACKOFF_MS, 1_000 * 2 ** failures++)
        // The name alone: the message may quote an e-mail.
        const { name = 'unknown' } = Object(error)
        warn(`user change: ${name}`, `a user change was not handled and will come again: ${name}`)
      } else unread(error as AuthError)
    }
    if (!signal.aborted) timer = unref(setTimeout(step, waitMs))
  }
  void step()
}
