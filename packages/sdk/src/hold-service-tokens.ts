import { callPatiently } from './call-patiently.ts'
import type { Caller } from './call-service.ts'
import { apiUrlOf, type Fetch, httpUrl, lacking, readVariable, word } from './config.ts'
import { invalidSettings } from './errors.ts'
import type { SecretKey } from './platform.ts'

/** The options of `createServiceTokens`. An option that you leave out is read from the environment variable in brackets. */
export interface ServiceTokenOptions {
  /** The address of the service, with or without `/api/v1` [`SERVICE_AUTH_URL`]. */
  readonly authUrl?: string
  /** The token of a service account with the scope `tokens:issue` for each app that you ask for [`SERVICE_ACCOUNT_TOKEN`]. */
  readonly serviceToken?: string
  /** The function that calls the service and the other backends (default the global `fetch`). */
  readonly fetch?: Fetch
  /** The clock, in milliseconds since 1970 (default `Date.now`); tests move time with it. */
  readonly now?: () => number
}

/** Machine tokens for calls to other backends. You can call each function without the object. */
export interface ServiceTokens {
  /**
   * Returns a machine token for the app with that code. Concurrent callers share one request. A token is renewed when a fifth of
   * its life is left; while the service is down, the old one is returned for as long as it lives. Rejects with `SERVICE_REJECTED`
   * if the service refuses, and with `SERVICE_UNREACHABLE` if it does not answer within 10 s.
   */
  get(appCode: string): Promise<string>
  /**
   * Calls `fetch` with such a token. If the answer is 401, it sends the request once more with a new token, since the old one may
   * have been revoked. It does not do so if the token is less than 5 s old, or if the body is a stream, which can be read only
   * once.
   */
  fetch(appCode: string, url: string, init?: Parameters<Fetch>[1]): ReturnType<Fetch>
}

interface Held {
  readonly token: string
  readonly askedAt: number
  renewAt: number
  readonly endsAt: number
}

/** A backend that answers every token with 401, or a service that refuses, must not make every call ask for a new token. */
const RENEW_AFTER_MS = 5_000
/** A token must still be valid when it arrives. */
const ARRIVAL_MS = 5_000

/** Throws `CONFIG_INVALID`, naming every variable that is wrong. */
export function holdServiceTokens(options: ServiceTokenOptions = {}): ServiceTokens {
  const { authUrl = readVariable('SERVICE_AUTH_URL'), serviceToken: token = readVariable('SERVICE_ACCOUNT_TOKEN') } = options
  const fault = (name: string, value: unknown, rule: typeof word) =>
    value === undefined ? [lacking(name)] : [rule(value) ?? []].flat().map((wanted) => name + wanted)
  const others = Object.keys(options).filter((name) => !['authUrl', 'serviceToken', 'fetch', 'now'].includes(name))
  const faults = [
    ...fault('SERVICE_AUTH_URL', authUrl, httpUrl),
    ...fault('SERVICE_ACCOUNT_TOKEN', token, word),
    ...others.map((name) => `${name} is not an option`),
  ]
  if (faults.length > 0) throw invalidSettings(...faults)
  const { fetch = globalThis.fetch, now = Date.now } = options
  // Each request brings the token of the service account, so nothing has to be signed.
  const key: SecretKey = { kid: '', header: '', signs: () => false, signAsConsumer: () => '' }
  const opened = { keys: [key], readText: String }
  const caller: Caller = { fetch, now, authUrl: apiUrlOf(authUrl!), appCode: '', keyring: { opened, open: async () => opened } }
  const held = new Map<string, Held>()
  const asked = new Map<string, Promise<Held>>()

  const ask = async (app_code: string): Promise<Held> => {
    const askedAt = now()
    const body = { grant_type: 'client_credentials', app_code }
    const { signal } = new AbortController()
    type Answer = { readonly access_token: string; readonly expires_in: number }
    const answer = await callPatiently<Answer>(caller, { path: '/auth/token', body, token, signal }, 10_000, 2)
    const lifeMs = answer.expires_in * 1_000
    const fresh = { token: answer.access_token, askedAt, renewAt: askedAt + 0.8 * lifeMs, endsAt: askedAt + lifeMs - ARRIVAL_MS }
    held.set(app_code, fresh)
    return fresh
  }
  /** Concurrent callers wait for the same new token. */
  const renew = (appCode: string): Promise<Held> => {
    let asking = asked.get(appCode)
    if (!asking) {
      asking = ask(appCode).finally(() => asked.delete(appCode))
      asked.set(appCode, asking)
    }
    return asking
  }
  const get = async (appCode: string): Promise<Held> => {
    const known = held.get(appCode)
    if (!known || known.endsAt <= now()) return renew(appCode)
    if (known.renewAt <= now()) {
      known.renewAt = now() + RENEW_AFTER_MS
      // Callers do not wait for the new token while the old one lives.
      renew(appCode).catch(() => {})
    }
    return known
  }

  return {
    get: async (appCode) => (await get(appCode)).token,
    async fetch(appCode, url, init) {
      const send = (bearer: string) => {
        const headers = new Headers(init?.headers)
        headers.set('authorization', `Bearer ${bearer}`)
        return fetch(url, { ...init, headers })
      }
      const used = await get(appCode)
      const response = await send(used.token)
      const isStream = Symbol.asyncIterator in Object(init?.body)
      if (response.status !== 401 || isStream || used.askedAt + RENEW_AFTER_MS > now()) return response
      await response.body?.cancel()
      // Another caller may have got the same answer, and have a new token already.
      const latest = held.get(appCode)
      return send((latest === used ? await renew(appCode) : await get(appCode)).token)
    },
  }
}
