'use client'

import { createContext, createElement, type ReactElement, type ReactNode, useContext, useSyncExternalStore } from 'react'
import type { AuthState, BrowserAuth } from './browser/index.ts'

export type { AuthState, BrowserAuth } from './browser/index.ts'

export interface AuthProviderProps {
  /** The result of `createBrowserAuth` from `@gatehouse/sdk/browser`. Create it once for the page, outside of components. */
  readonly auth: BrowserAuth
  readonly children?: ReactNode
}

export interface UsedAuth {
  /** Who is signed in. The component renders again when this changes, in this tab or another. */
  readonly state: AuthState
  /** The calls that change it: `login`, `register`, `logout`, `sso`, … */
  readonly auth: BrowserAuth
}

const Provided = createContext<BrowserAuth | undefined>(undefined)
/** The state on a server that renders pages, and for the first rendering in the browser, which must match the server's. */
const nobody: AuthState = { status: 'signed_out', reason: null }

/** Provides the session of this page to `useAuth` and `useFetch` below it: `<AuthProvider auth={auth}>…</AuthProvider>`. */
export function AuthProvider({ auth, children }: AuthProviderProps): ReactElement {
  return createElement(Provided.Provider, { value: auth }, children)
}

/** Returns who is signed in and the calls that change it: `const { state, auth } = useAuth()`. Throws without a provider. */
export function useAuth(): UsedAuth {
  const auth = useProvided()
  const state = useSyncExternalStore(
    auth.subscribe,
    () => auth.state,
    () => nobody,
  )
  return { state, auth }
}

/** Returns the `fetch` of `BrowserAuth`, the same function at each rendering. Throws without an `AuthProvider`. */
export function useFetch(): BrowserAuth['fetch'] {
  return useProvided().fetch
}

function useProvided(): BrowserAuth {
  const auth = useContext(Provided)
  if (auth === undefined) throw new Error('useAuth and useFetch need an <AuthProvider auth={…}> above them')
  return auth
}
