/** The type of the platform's `fetch`, from the type library that the app uses. */
export type Fetch = typeof globalThis extends { fetch: infer Known } ? Known : never

/** The part of `Storage` that this package uses. */
export interface TokenStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** A storage of the browser itself, whose keys can be listed. */
export interface BrowserStorage extends TokenStorage {
  readonly length: number
  key(index: number): string | null
}

export interface Channel {
  postMessage(message: unknown): void
  close(): void
  onmessage: ((event: { data: unknown }) => void) | null
}

interface Locks {
  request<Result>(
    name: string,
    options: { signal: AbortSignal } | { mode: 'shared' },
    work: () => Promise<Result>,
  ): Promise<Result>
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>
}

/**
 * The parts of the browser that are used, each as far as it exists: a server that renders pages has none of them. Typed here,
 * since the types of the DOM would reach every file of the package.
 */
export interface Platform {
  readonly fetch: Fetch
  readonly now: () => number
  readonly localStorage: BrowserStorage | undefined
  readonly sessionStorage: BrowserStorage | undefined
  readonly location: { readonly href: string; readonly origin: string; assign(url: string): void } | undefined
  readonly history: { readonly state: unknown; replaceState(state: unknown, unused: string, url: string): void } | undefined
  readonly locks: Locks | undefined
  readonly openChannel: ((name: string) => Channel) | undefined
  /** False when the device has no network at all. */
  readonly isOnline: () => boolean
  readonly listen: (name: string, listener: () => void) => () => void
}

type Globals = Partial<Pick<Platform, 'localStorage' | 'sessionStorage' | 'location' | 'history'>> & {
  navigator?: { locks?: Locks; onLine?: boolean }
  addEventListener?(name: string, listener: () => void): void
  removeEventListener?(name: string, listener: () => void): void
}

export function browserPlatform(): Platform {
  const globals: object & Globals = globalThis
  // Node has some of these too, but the users for whom it renders pages must not share them.
  const isBrowser = globals.location !== undefined
  return {
    // Browsers refuse to call it as a method of another object.
    fetch: (input, init) => globalThis.fetch(input, init),
    // Looked up at each call, so that a test that replaces the clock moves this one too.
    now: () => Date.now(),
    localStorage: isBrowser ? allowed(() => globals.localStorage) : undefined,
    sessionStorage: isBrowser ? allowed(() => globals.sessionStorage) : undefined,
    location: globals.location,
    history: globals.history,
    locks: isBrowser ? globals.navigator?.locks : undefined,
    openChannel:
      isBrowser && typeof BroadcastChannel === 'function'
        ? (name) => new BroadcastChannel(name) as unknown as Channel
        : undefined,
    isOnline: () => globals.navigator?.onLine !== false,
    listen(name, listener) {
      globals.addEventListener?.(name, listener)
      return () => globals.removeEventListener?.(name, listener)
    },
  }
}

/** Reading the property throws if the user has forbidden storage. */
function allowed<Value>(read: () => Value): Value | undefined {
  try {
    return read() ?? undefined
  } catch {
    return undefined
  }
}
