import createClient, { type Client } from 'openapi-fetch'
import { configInvalid } from '../errors.ts'
import type { paths } from './api-types.ts'

export type { components, paths } from './api-types.ts'

/**
 * Calls every route of the service, by its method and path:
 * `await admin.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: 'shop' } } })`. Each call resolves to
 * `{ data, error, response }`, where `data` or `error` is undefined. It throws only if no answer came.
 */
export type AdminClient = Client<paths>

/** The options of `createAdmin`. An option that you leave out is read from the environment variable in brackets. */
export interface AdminOptions {
  /** The address of the service, with or without `/api/v1` [`SERVICE_AUTH_URL`]. */
  readonly authUrl?: string
  /**
   * The token of a service account (`gsa_…`), or the access token of an admin [`SERVICE_ACCOUNT_TOKEN`]. A function is called
   * before each request.
   */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>)
  /** The function that calls the service (default the global `fetch`). */
  readonly fetch?: (request: Request) => Promise<Response>
}

/**
 * Creates a client of the admin API, typed by its OpenAPI document. Throws `CONFIG_INVALID` if `authUrl` is missing or wrong.
 *
 * @example
 * ```ts
 * import { createAdmin } from '@gatehouse/sdk/admin'
 *
 * const admin = createAdmin({ authUrl: 'https://login.example.com', token: process.env.SERVICE_ACCOUNT_TOKEN })
 * const { data, error } = await admin.GET('/api/v1/admin/users', { params: { query: { email: 'ada@example.com' } } })
 * ```
 */
export function createAdmin(options: AdminOptions = {}): AdminClient {
  const env = (variable: string) => globalThis.process?.env?.[variable] || undefined
  const { authUrl = env('SERVICE_AUTH_URL'), token = env('SERVICE_ACCOUNT_TOKEN'), fetch } = options
  if (authUrl === undefined || !/^https?:/.test(authUrl) || !URL.canParse(authUrl))
    throw configInvalid('createAdmin: SERVICE_AUTH_URL (authUrl) must be a URL that begins with http:// or https://')

  const baseUrl = authUrl.replace(/(\/api\/v1)?\/*$/, '')
  // A redirect would take the token elsewhere, or turn a POST into a GET.
  const client = createClient<paths>({ baseUrl, redirect: 'error', ...(fetch && { fetch }) })
  client.use({
    async onRequest({ request }) {
      const bearer = typeof token === 'function' ? await token() : token
      if (bearer !== undefined) request.headers.set('authorization', `Bearer ${bearer}`)
      return request
    },
  })
  return client
}
