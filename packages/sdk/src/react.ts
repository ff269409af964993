'use client'

import {
  type ComponentPropsWithoutRef,
  createContext,
  createElement,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useContext,
  useSyncExternalStore,
} from 'react'
import type { AuthState, BrowserAuth, SignInOptions } from './browser/index.ts'

export type { AuthState, BrowserAuth, SignInOptions } from './browser/index.ts'

export interface AuthProviderProps {
  /** The result of `createBrowserAuth` from `@gatehouse/sdk/browser`. Create it once for the page, outside of components. */
  readonly auth: BrowserAuth
  readonly children?: ReactNode
}

export interface UsedAuth {
  /** Who is signed in. The component renders again when this changes, in this tab or another. */
  readonly state: AuthState
  /** The calls that change it: `signIn`, `signOut`, `login`, `logout`, … */
  readonly auth: BrowserAuth
  /** Whether a user is signed in whose token carries all of these permissions. */
  has(...all: string[]): boolean
}

export interface SignInButtonProps
  extends SignInOptions,
    Omit<ComponentPropsWithoutRef<'button'>, keyof SignInOptions | 'onError' | 'type'> {
  /** Called with the error of `signIn`, a `BrowserAuthError`. Without it, the page gets an unhandled rejection. */
  readonly onError?: (error: unknown) => void
}

const Provided = createContext<BrowserAuth | undefined>(undefined)
/** The state on a server that renders pages, and for the first rendering in the browser, which must match the server's. */
const nobody: AuthState = { status: 'signed_out', reason: null }

/**
 * Provides the session of this page to `useAuth` and `useFetch` below it: `<AuthProvider auth={auth}>…</AuthProvider>`.
 *
 * @example
 * ```tsx
 * const auth = createBrowserAuth({ authUrl: 'https://login.example.com', appCode: 'shop' })
 * createRoot(element).render(
 *   <AuthProvider auth={auth}>
 *     <Orders />
 *   </AuthProvider>,
 * )
 * ```
 */
export function AuthProvider({ auth, children }: AuthProviderProps): ReactElement {
  return createElement(Provided.Provider, { value: auth }, children)
}

/**
 * Returns who is signed in and the calls that change it: `const { state, auth, has } = useAuth()`. Throws without a provider.
 *
 * @example
 * ```tsx
 * function Greeting() {
 *   const { state, auth } = useAuth()
 *   return state.status === 'signed_in' ? <button onClick={() => auth.logout()}>Sign out</button> : <SignInButton />
 * }
 * ```
 */
export function useAuth(): UsedAuth {
  const auth = useProvided()
  const state = useSyncExternalStore(
    auth.subscribe,
    () => auth.state,
    () => nobody,
  )
  return { state, auth, has: (...all) => state.status === 'signed_in' && state.has(...all) }
}

/**
 * Returns the `fetch` of `BrowserAuth`, the same function at each rendering. Throws without an `AuthProvider`.
 *
 * @example
 * ```tsx
 * function Orders() {
 *   const fetch = useFetch()
 *   return <button onClick={() => fetch('/api/orders', { method: 'POST' })}>Order</button>
 * }
 * ```
 */
export function useFetch(): BrowserAuth['fetch'] {
  return useProvided().fetch
}

/**
 * Renders its children while a user is signed in.
 *
 * @example
 * ```tsx
 * <SignedIn>
 *   <Orders />
 * </SignedIn>
 * ```
 */
export function SignedIn({ children }: { readonly children?: ReactNode }): ReactNode {
  return useAuth().state.status === 'signed_in' ? children : null
}

/**
 * Renders its children while nobody is signed in. A server that renders pages always renders them.
 *
 * @example
 * ```tsx
 * <SignedOut>
 *   <SignInButton />
 * </SignedOut>
 * ```
 */
export function SignedOut({ children }: { readonly children?: ReactNode }): ReactNode {
  return useAuth().state.status === 'signed_out' ? children : null
}

/**
 * A button that leads to the sign-in page: `<SignInButton />`, or with text, options of `signIn` and attributes of a button,
 * `<SignInButton returnTo="/orders" className="primary">Sign in to order</SignInButton>`.
 *
 * @example
 * ```tsx
 * <SignInButton returnTo="/orders">Sign in to order</SignInButton>
 * ```
 */
export function SignInButton(props: SignInButtonProps): ReactElement {
  const auth = useProvided()
  const {
    returnTo,
    prompt,
    provider,
    method,
    organizationId,
    maxAgeSec,
    amr,
    onError,
    onClick,
    children = 'Sign in',
    ...rest
  } = props
  const signIn = async (event: MouseEvent<HTMLButtonElement>) => {
    onClick?.(event)
    if (event.defaultPrevented) return
    await auth.signIn({ returnTo, prompt, provider, method, organizationId, maxAgeSec, amr }).catch((error: unknown) => {
      if (!onError) throw error
      onError(error)
    })
  }
  return createElement('button', { ...rest, type: 'button', onClick: signIn }, children)
}

function useProvided(): BrowserAuth {
  const auth = useContext(Provided)
  if (auth === undefined)
    throw new Error('The hooks and components of @gatehouse/sdk/react need an <AuthProvider auth={…}> above them')
  return auth
}
