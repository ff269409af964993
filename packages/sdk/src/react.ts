'use client'

import { createContext, createElement, type ReactElement, type ReactNode, useContext, useSyncExternalStore } from 'react'
import type { AuthState, BrowserAuth } from './browser/index.ts'

export type { AuthState, BrowserAuth } from './browser/index.ts'

export interface AuthProviderProps {
  /** What `createBrowserAuth` of `@gatehouse/sdk/browser` made, once for the page and outside of components. */
  readonly auth: BrowserAuth
  readonly children?: ReactNode
}

export interface UsedAuth {
  /** Who is signed in. The component renders again when it changes, whichever tab changed it. */
  readonly state: AuthState
  /** `login`, `register`, `logout`, `sso`, … */
  readonly auth: BrowserAuth
}

const Provided = createContext<BrowserAuth | undefined>(undefined)
/** On a server that renders pages, and for the first rendering in the browser, which must be the same. */
const nobody: AuthState = { status: 'signed_out', reason: null }

/** Gives `useAuth` and `useFetch` below it the session of this page: `<AuthProvider auth={auth}>…</AuthProvider>`. */
export function AuthProvider({ auth, children }: AuthProviderProps): ReactElement {
  return createElement(Provided.Provider, { value: auth }, children)
}

/** Who is signed in, and the calls that change it: `const { state, auth } = useAuth()`. */
export function useAuth(): UsedAuth {
  const auth = useProvided()
  const state = useSyncExternalStore(
    auth.subscribe,
    () => auth.state,
    () => nobody,
  )
  return { state, auth }
}

/** `fetch` with the user's token, the same function at each rendering; see `fetch` of `createBrowserAuth`. */
export function useFetch(): BrowserAuth['fetch'] {
  return useProvided().fetch
}

function useProvided(): BrowserAuth {
  const auth = useContext(Provided)
  if (auth === undefined) throw new Error('useAuth and useFetch need an <AuthProvider auth={…}> above them')
  return auth
}
