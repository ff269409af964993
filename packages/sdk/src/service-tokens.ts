import type { Fetch } from './config.ts'

/** An option that is left out is read from the environment variable in brackets. */
export interface ServiceTokenOptions {
  /** The address of the service, with or without `/api/v1` [`SERVICE_AUTH_URL`]. */
  readonly authUrl?: string
  /** The token of a service account that has the scope `tokens:issue` for each app that is asked for [`SERVICE_ACCOUNT_TOKEN`]. */
  readonly serviceToken?: string
  /** How the service and the other backends are called (default the global `fetch`). */
  readonly fetch?: Fetch
  /** The clock, in milliseconds since 1970 (default `Date.now`); tests move time with it. */
  readonly now?: () => number
}

/** Each of its functions works on its own. */
export interface ServiceTokens {
  /**
   * A machine token for the app of that code. It is asked for once, however many callers wait, and again when a fifth of its life is left;
   * while the service is away, the old one is given for as long as it lives. Rejects with `SERVICE_REJECTED` when the service refuses,
   * `SERVICE_UNREACHABLE` when it does not answer within 10 s.
   */
  get(appCode: string): Promise<string>
  /**
   * `fetch` with such a token. Where the answer is 401 it is sent once more with a new token, for the old one may have been revoked; not
   * when the body is a stream, which can be read only once.
   */
  fetch(appCode: string, url: string, init?: Parameters<Fetch>[1]): ReturnType<Fetch>
}

/**
 * Tokens with which this backend calls others for itself, not for a user. What is missing or wrong in the configuration, the first use
 * says: it rejects with `CONFIG_INVALID`, naming every variable.
 */
export function createServiceTokens(options?: ServiceTokenOptions): ServiceTokens {
  // Most backends never call another.
  const loaded = import('./service-api.ts').then((module) => module.holdServiceTokens(options))
  loaded.catch(() => {})
  return {
    get: async (appCode) => (await loaded).get(appCode),
    fetch: async (...request) => (await loaded).fetch(...request),
  }
}
