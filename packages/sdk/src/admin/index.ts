import createClient, { type Client } from 'openapi-fetch'
import { configInvalid } from '../errors.ts'
import type { paths } from './api-types.ts'

export type { components, paths } from './api-types.ts'

/**
 * Every route of the service by its method and path:
 * `await admin.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: 'shop' } } })`. Each call gives `{ data, error, response }`, of
 * which `data` or `error` is undefined, and throws only when no answer came.
 */
export type AdminClient = Client<paths>

export interface AdminOptions {
  /** The address of the service, with or without `/api/v1` [`SERVICE_AUTH_URL`]. */
  readonly authUrl?: string
  /**
   * The token of a service account (`gsa_…`), or the access token of an admin; a function is asked before each call
   * [`SERVICE_ACCOUNT_TOKEN`].
   */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>)
  /** How the service is called (default the global `fetch`). */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** Makes a client of the admin API, typed by its OpenAPI document. Throws `CONFIG_INVALID` at once, naming what is wrong. */
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
