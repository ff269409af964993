import type { TokenStorage } from './platform.ts'
import { parseSession, type Session } from './session.ts'

/** Stores the session. Read it each time: another tab may have written it. */
export interface SessionStore {
  /** Whether other tabs read and write the same session. */
  readonly isShared: boolean
  /**
   * Returns the device token, which shows the service at the next login that this browser has signed in before. A token that is
   * passed in replaces it. It stays when the session ends, and opens nothing.
   */
  device(token?: string): string | undefined
  read(): Session | undefined
  write(session: Session): void
  clear(): void
}

/** Keeps the session in this tab until it is closed or reloaded. */
export class MemoryStore implements SessionStore {
  readonly isShared = false
  #session: Session | undefined

  /** Keeps nothing after the session. */
  device(): undefined {}

  read(): Session | undefined {
    return this.#session
  }

  write(session: Session): void {
    this.#session = session
  }

  clear(): void {
    this.#session = undefined
  }
}

/** Keeps the session in a storage that all tabs of the origin see. */
export class SharedStore implements SessionStore {
  readonly isShared = true
  readonly #storage: TokenStorage
  readonly #key: string
  /** The session that a full storage did not take. Losing a rotated refresh token would end the session. */
  #unsaved: Session | undefined
  /** Parsing the same text again would give another object, and subscribers another state. */
  #last: { text: string; session: Session | undefined } | undefined

  constructor(storage: TokenStorage, key: string) {
    this.#storage = storage
    this.#key = key
  }

  device(token?: string): string | undefined {
    const key = `${this.#key}:device`
    try {
      if (token) this.#storage.setItem(key, token)
    } catch {
      // A full storage keeps the previous token.
    }
    return this.#storage.getItem(key) ?? token
  }

  read(): Session | undefined {
    if (this.#unsaved) return this.#unsaved
    const text = this.#storage.getItem(this.#key)
    if (text === null) return undefined
    if (this.#last?.text !== text) this.#last = { text, session: parseSession(text) }
    return this.#last.session
  }

  write(session: Session): void {
    try {
      this.#storage.setItem(this.#key, JSON.stringify(session))
      this.#unsaved = undefined
    } catch {
      this.#storage.removeItem(this.#key)
      this.#unsaved = session
    }
  }

  clear(): void {
    this.#unsaved = undefined
    this.#storage.removeItem(this.#key)
  }
}
