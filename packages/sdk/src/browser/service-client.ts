import { BrowserAuthError } from './errors.ts'
import type { Fetch } from './platform.ts'

/** For a refresh: after a time-out, it must be tried again within the leeway of the service, which is ten seconds. */
const TIMEOUT_MS = 4_000
/** For other calls: a login waits for a hash, and waiting loses nothing. */
const LONG_TIMEOUT_MS = 15_000

export interface PostOptions {
  readonly token?: string | undefined
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Uses the short time-out, because the answer has to come before a leeway ends. */
  readonly isUrgent?: boolean
  /** The request goes on if the user leaves the page. */
  readonly keepalive?: boolean
}

const globals: object & { readonly location?: { readonly origin?: string } } = globalThis

/** Calls the service. Tells its refusals apart from the answers of anything else on the way, such as a proxy. */
export class ServiceClient {
  readonly #fetch: Fetch
  readonly #baseUrl: string

  /** Paths begin below `baseUrl`, which has no final slash. */
  constructor(fetch: Fetch, baseUrl: string) {
    this.#fetch = fetch
    this.#baseUrl = baseUrl
  }

  /**
   * Returns the body of the answer. Sends a form as it is, and another body as JSON. Throws `BrowserAuthError`: the service's
   * refusal with its code, or `service_unreachable`.
   */
  post(path: string, body: object, { token, method = 'POST', isUrgent, keepalive }: PostOptions = {}): Promise<unknown> {
    const isForm = body instanceof URLSearchParams
    return this.#exchange(path, isUrgent ? TIMEOUT_MS : LONG_TIMEOUT_MS, {
      method,
      headers: { ...(!isForm && { 'content-type': 'application/json' }), ...(token && { authorization: `Bearer ${token}` }) },
      ...(method !== 'GET' && { body: isForm ? body : JSON.stringify(body) }),
      keepalive: keepalive ?? false,
    })
  }

  /** Like `post`, for what everybody may read. */
  get(path: string): Promise<unknown> {
    return this.#exchange(path, LONG_TIMEOUT_MS, {})
  }

  /** A browser does not tell a page why a call failed. */
  #hint(): string {
    const { origin = 'this page' } = globals.location ?? {}
    return `no answer from ${this.#baseUrl}: is it up, and does its AUTH_CORS_ORIGINS list ${origin}?`
  }

  async #exchange(path: string, timeoutMs: number, init: RequestInit): Promise<unknown> {
    let response: Response
    let text: string
    try {
      // Taken out of the object, because browsers refuse to call `fetch` as a method of another.
      const fetch = this.#fetch
      response = await fetch(this.#baseUrl + path, {
        ...init,
        // None of these calls needs a cookie, and a redirect would carry passwords and tokens elsewhere.
        credentials: 'omit',
        redirect: 'error',
        cache: 'no-store',
        signal: AbortSignal.timeout(timeoutMs),
      })
      text = await response.text()
    } catch (error) {
      throw BrowserAuthError.is(error) ? error : unreachable(undefined, this.#hint())
    }
    if (response.status === 204) return undefined
    const answer = parseObject(text)
    if (response.ok && answer) return answer
    throw readRefusal(response, answer)
  }
}

/** Returns the JSON of a response, which can still be read. */
export async function readJson(response: Response): Promise<unknown> {
  return response
    .clone()
    .json()
    .catch(() => undefined)
}

export function unreachable(status?: number, hint?: string): BrowserAuthError {
  return new BrowserAuthError('service_unreachable', 'The login service cannot be reached', { status, ...(hint && { hint }) })
}

/** Returns the error that an answer of the service stands for. */
export async function refusalOf(response: Response): Promise<BrowserAuthError> {
  return readRefusal(response, parseObject(await response.text().catch(() => '')))
}

function readRefusal({ status, headers }: Response, answer: Record<string, unknown> | undefined): BrowserAuthError {
  // The service asks for the second factor. The caller turns this error into a state.
  if (answer?.requires_2fa === true) return new BrowserAuthError('two_factor_required', 'A code is required', { status })
  // Of `/oauth/token`, only the last is text.
  const { title, detail, errors, request_id, error_description, enrollment_url } = answer ?? {}
  // No code helps here.
  const code = answer?.code === 'two_factor_required' ? 'sign_in_required' : answer?.code
  // A proxy, or the login page of a network, answers with a status too.
  if (typeof code !== 'string') return unreachable(status)
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  return new BrowserAuthError(code, String(detail ?? title ?? error_description ?? code), {
    status,
    ...(Array.isArray(errors) && { fields: errors }),
    ...(typeof request_id === 'string' && { requestId: request_id }),
    ...(typeof enrollment_url === 'string' && { enrollmentUrl: enrollment_url }),
    ...(Number.isFinite(retryAfter) && { retryAfterSec: retryAfter }),
  })
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
