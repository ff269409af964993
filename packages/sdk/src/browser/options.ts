import { BrowserAuthError } from './errors.ts'
import type { Platform, TokenStorage } from './platform.ts'
import { MemoryStore, type SessionStore, SharedStore } from './session-store.ts'

/** The options of `createBrowserAuth`. */
export interface BrowserAuthOptions {
  /** The address of the service, with or without `/api/v1`. */
  readonly authUrl: string
  /** The code of the app that users sign in to. */
  readonly appCode: string
  /**
   * Where the tokens are kept: `local` (default) in localStorage, for all tabs and until logout; `memory` in this tab until it is
   * reloaded; or your own storage, which all tabs that use it must see alike. docs/sign-users-in/browser.md compares them.
   */
  readonly storage?: 'local' | 'memory' | TokenStorage
  /** Whether tabs take turns to refresh, and tell each other of login and logout (default true). */
  readonly crossTab?: boolean
  /**
   * Where the sign-in page sends users back to: a page of this origin, listed exactly so in the app's `allowed_redirect_urls`
   * (default `/callback`). That page calls `handleRedirect`.
   */
  readonly redirectUrl?: string
  /** Origins that `fetch` may send the token to, besides this page's and the service's (default none). */
  readonly apiOrigins?: readonly string[]
}

export interface BrowserConfig {
  /** Ends with `/api/v1`. */
  readonly baseUrl: string
  readonly appCode: string
  /** The key of the stored session, of the lock, and of the channel between tabs. */
  readonly name: string
  readonly store: SessionStore
  /** Whether users begin to sign in in one tab and may end in another: their session is in localStorage too. */
  readonly isLocal: boolean
  readonly redirectUrl: string
  readonly crossTab: boolean
  readonly tokenOrigins: ReadonlySet<string>
}

/** Throws `config_invalid`, naming the option. */
export function readOptions(options: BrowserAuthOptions, { localStorage, location }: Platform): BrowserConfig {
  const { authUrl, appCode, storage = 'local', crossTab = true, redirectUrl = '/callback', apiOrigins = [] } = options
  const baseUrl = `${httpUrl('authUrl', authUrl).href.replace(/(\/api\/v1)?\/*$/, '')}/api/v1`
  if (typeof appCode !== 'string' || !/^\S+$/.test(appCode)) throw invalid('appCode')
  const name = `gatehouse:${appCode}@${baseUrl}`
  const origins = [authUrl, ...apiOrigins].map((url) => httpUrl('apiOrigins', url).origin)
  return {
    baseUrl,
    appCode,
    name,
    store: chooseStore(storage, localStorage, name),
    isLocal: storage === 'local',
    redirectUrl,
    crossTab,
    tokenOrigins: new Set(location ? [...origins, location.origin] : origins),
  }
}

function chooseStore(storage: BrowserAuthOptions['storage'], localStorage: TokenStorage | undefined, name: string): SessionStore {
  if (typeof storage === 'object' && typeof storage?.getItem === 'function') return new SharedStore(storage, name)
  if (storage !== 'local' && storage !== 'memory') throw invalid('storage')
  // If the user forbids storage, or on a server that renders pages, only memory is left.
  return storage === 'local' && localStorage ? new SharedStore(localStorage, name) : new MemoryStore()
}

function httpUrl(name: string, value: string): URL {
  if (!/^https?:/.test(value) || !URL.canParse(value)) throw invalid(name)
  return new URL(value)
}

function invalid(name: string): BrowserAuthError {
  return new BrowserAuthError('config_invalid', `createBrowserAuth: ${name} is missing or invalid`)
}
