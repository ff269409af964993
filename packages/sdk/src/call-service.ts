import type { Config } from './config.ts'
import { AuthError, configInvalid, refused } from './errors.ts'
import { builtin } from './node-platform.ts'
import { signAssertion } from './sign-assertion.ts'

/** What fails is told as `SERVICE_REJECTED`, `PRUNE_LIMIT` or `SERVICE_UNREACHABLE`, with the reason in its `hint`. */
export interface ServiceRequest {
  /** Below `/api/v1`. */
  readonly path: string
  /** Posted as JSON. Without it the request is a GET, which does not keep the process alive: the feed alone asks so. */
  readonly body?: object
  /** Of a service account; without it the app shows an assertion of its own. */
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
  readonly signal: AbortSignal
  /** Takes the pieces of a stream of server-sent events; without it the answer is JSON. */
  readonly onText?: (text: string) => void
}

/** Asks the service and gives its JSON; resolves when a stream has ended. `timeoutMs` is for the whole answer, or the next piece of a stream. */
export async function callService<Answer>(
  config: Config,
  { path, body, token, headers, signal, onText }: ServiceRequest,
  timeoutMs: number,
): Promise<Answer> {
  // Called without an object: the fetch of Workers refuses to be a method of another.
  const { fetch, authUrl, secrets } = config
  const accept = onText ? 'text/event-stream' : 'application/json'
  const ended = new AbortController()
  const end = () => ended.abort(unreachable('nothing came in time'))
  let timer: Timer | undefined
  const wait = () => {
    clearTimeout(timer)
    timer = unref(setTimeout(end, timeoutMs))
  }
  // Listens no longer than the call lasts.
  signal.addEventListener('abort', end, { signal: ended.signal })
  wait()
  try {
    if (!authUrl) throw configInvalid('missing: SERVICE_AUTH_URL (authUrl)')
    let response: Response
    // The current secret may have reached this app before the service.
    for (const secret of secrets) {
      const bearer = token ?? (await signAssertion(secret, config))
      const send = () =>
        fetch(authUrl + path, {
          method: body ? 'POST' : 'GET',
          headers: { accept, ...(body && { 'content-type': accept }), ...headers, authorization: `Bearer ${bearer}` },
          body: body && JSON.stringify(body),
          // A redirect would carry the token elsewhere.
          redirect: 'manual',
          signal: ended.signal,
        })
      response = await (body ? send() : sendUnheld(bearer, send))
      if (token || response.status !== 401) break
    }
    if (!response!.ok) throw refusal(response!, await response!.text())
    if (!response!.headers.get('content-type')?.startsWith(accept)) throw unreachable(`the answer is not ${accept}`)
    if (!onText) return (await response!.json()) as Answer
    const decoder = new TextDecoder()
    for await (const chunk of response!.body!) {
      onText(decoder.decode(chunk, { stream: true }))
      wait()
    }
    return undefined as Answer
  } catch (error) {
    if (AuthError.is(error)) throw error
    // Only the name of what others throw: their messages may quote what was sent.
    const { name = 'unknown', code = name, cause }: Failure = Object(error)
    throw unreachable(cause?.code ?? code)
  } finally {
    clearTimeout(timer)
    ended.abort()
  }
}

/** What `fetch` throws. */
interface Failure {
  readonly name?: string
  readonly code?: string
  readonly cause?: { readonly code?: string }
}

/** Node keeps a process alive while an answer is read, and tells of the socket here alone. */
async function sendUnheld(bearer: string, send: () => Promise<Response>): Promise<Response> {
  const sent = builtin('node:diagnostics_channel')?.channel('undici:client:sendHeaders')
  const release = (message: unknown) => {
    const { headers, socket } = message as { headers: string; socket: { unref(): void } }
    if (headers.includes(bearer)) socket.unref()
  }
  sent?.subscribe(release)
  try {
    return await send()
  } finally {
    sent?.unsubscribe(release)
  }
}

/** The service did not answer, or not as itself: the same call may succeed later. */
export function unreachable(hint: string): AuthError {
  return refused('SERVICE_UNREACHABLE', hint)
}

function refusal({ status, headers }: Response, text: string): AuthError {
  const [, code = ''] = /"code": *"([a-z_]+)"/.exec(text) ?? []
  const requestId = headers.get('x-request-id')
  const retryAfter = headers.get('retry-after')
  const isFinal = /^4(?!08|29)/.test(`${status}`)
  return new AuthError(isFinal ? (code === 'prune_limit' ? 'PRUNE_LIMIT' : 'SERVICE_REJECTED') : 'SERVICE_UNREACHABLE', {
    hint: `HTTP ${status} ${code}`.trim(),
    ...(requestId && { requestId }),
    ...(!isFinal && retryAfter && { headers: { 'Retry-After': retryAfter } }),
  })
}

const RETRY_MS = 1_000
const RETRY_MAX_MS = 59_000
const TIMEOUT_MS = 10_000

/**
 * Calls again what may succeed later, `retries` times and for `withinMs`: after what the service asks, a second by default, and a random
 * time besides that doubles up to a minute. `onWait` is told of every wait before it begins. Rejects with the reason of `signal` when
 * that is aborted.
 */
export async function callPatiently<Answer>(
  config: Config,
  request: ServiceRequest,
  withinMs = Number.MAX_VALUE,
  retries = Number.MAX_VALUE,
  onWait?: (error: AuthError, ms: number, timer: Timer) => void,
): Promise<Answer> {
  const { now } = config
  const { signal } = request
  const end = now() + withinMs
  for (let failures = 0; ; failures += 1) {
    signal.throwIfAborted()
    try {
      return await callService<Answer>(config, request, Math.min(TIMEOUT_MS, end - now()))
    } catch (thrown) {
      signal.throwIfAborted()
      const error = thrown as AuthError
      const asked = Math.min(60, Math.max(1, Number(error.headers['Retry-After']) || 1))
      const ms = 1_000 * asked + jitter(failures, RETRY_MS, RETRY_MAX_MS)
      if (!error.retryable || failures >= retries || now() + ms >= end) throw error
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        signal.addEventListener('abort', wake)
        onWait?.(error, ms, timer)
      })
    }
  }
}

/** A random time that doubles with each failure, in milliseconds. */
export function jitter(failures: number, firstMs: number, mostMs: number): number {
  return Math.random() * Math.min(mostMs, firstMs * 2 ** failures)
}

export type Timer = ReturnType<typeof setTimeout>

/** A timer that does not keep the process alive. */
export function unref(timer: Timer): Timer {
  timer.unref?.()
  return timer
}
