import type { Config } from './config.ts'
import { AuthError, configInvalid } from './errors.ts'
import { builtin } from './node-builtins.ts'
import { signAssertion } from './signing-key.ts'

/** What fails is told as `SERVICE_REJECTED`, `PRUNE_LIMIT` or `SERVICE_UNREACHABLE`, with the reason in its `hint`. */
export interface ServiceRequest {
  /** Below `/api/v1`. */
  readonly path: string
  /** Posted as JSON; without it the request is a GET. */
  readonly body?: object
  /** Of a service account; without it the app shows an assertion of its own. */
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
  readonly signal: AbortSignal
  /** For the whole answer, or for the next piece of a stream. */
  readonly timeoutMs: number
  /** Takes the pieces of a stream of server-sent events; without it the answer is JSON. */
  readonly onText?: (text: string) => void
  /** Does not keep the process alive. */
  readonly background?: boolean
}

/** Asks the service and gives its JSON; resolves when a stream has ended. */
export async function callService<Answer>(config: Config, request: ServiceRequest): Promise<Answer> {
  const { token, signal, onText, timeoutMs } = request
  const accept = onText ? 'text/event-stream' : 'application/json'
  const ended = new AbortController()
  const end = () => ended.abort(unreachable('nothing came in time'))
  signal.addEventListener('abort', end)
  let timer = unref(setTimeout(end, timeoutMs))
  try {
    let response: Response | undefined
    // The current secret may have reached this app before the service.
    for (const secret of config.secrets) {
      response = await send(config, request, accept, token ?? (await signAssertion(secret, config)), ended.signal)
      if (token || response.status !== 401) break
    }
    const { ok, headers, body } = response!
    if (!ok) throw refusal(response!, await response!.text())
    if (!headers.get('content-type')?.startsWith(accept)) throw unreachable(`the answer is not ${accept}`)
    if (!onText) return (await response!.json()) as Answer
    const decoder = new TextDecoder()
    for await (const chunk of body!) {
      onText(decoder.decode(chunk, { stream: true }))
      clearTimeout(timer)
      timer = unref(setTimeout(end, timeoutMs))
    }
    return undefined as Answer
  } catch (error) {
    if (AuthError.is(error)) throw error
    // Only the name of what others throw: their messages may quote what was sent.
    const { name = 'unknown', code = name, cause }: Failure = Object(error)
    throw unreachable(cause?.code ?? code)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    ended.abort()
  }
}

/** What `fetch` throws. */
interface Failure {
  readonly name?: string
  readonly code?: string
  readonly cause?: { readonly code?: string }
}

async function send(
  config: Config,
  request: ServiceRequest,
  accept: string,
  token: string,
  signal: AbortSignal,
): Promise<Response> {
  // Called without an object: the fetch of Workers refuses to be a method of another.
  const { fetch, authUrl } = config
  if (!authUrl) throw configInvalid('missing: SERVICE_AUTH_URL (authUrl)')
  // Node keeps a process alive while an answer is read, and tells of the socket here alone.
  const sent = request.background ? builtin('node:diagnostics_channel')?.channel('undici:client:sendHeaders') : undefined
  const release = (message: unknown) => {
    const { headers, socket } = message as { headers: string; socket: { unref(): void } }
    if (headers.includes(token)) socket.unref()
  }
  sent?.subscribe(release)
  try {
    const { path, body } = request
    return await fetch(authUrl + path, {
      method: body ? 'POST' : 'GET',
      headers: { accept, ...(body && { 'content-type': accept }), ...request.headers, authorization: `Bearer ${token}` },
      body: body && JSON.stringify(body),
      // A redirect would carry the token elsewhere.
      redirect: 'manual',
      signal,
    })
  } finally {
    sent?.unsubscribe(release)
  }
}

/** The service did not answer, or not as itself: the same call may succeed later. */
export function unreachable(hint: string, details?: object): AuthError {
  return new AuthError('SERVICE_UNREACHABLE', { hint, ...details })
}

function refusal({ status, headers }: Response, text: string): AuthError {
  const code = /"code": *"([a-z_]+)"/.exec(text)?.[1]
  const requestId = headers.get('x-request-id')
  const details = { hint: `HTTP ${status} ${code ?? ''}`.trim(), ...(requestId && { requestId }) }
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return new AuthError(code === 'prune_limit' ? 'PRUNE_LIMIT' : 'SERVICE_REJECTED', details)
  const retryAfter = headers.get('retry-after')
  return unreachable(details.hint, retryAfter ? { ...details, headers: { 'Retry-After': retryAfter } } : details)
}

interface Patience {
  readonly retries?: number | undefined
  /** How long to go on, in milliseconds. */
  readonly withinMs?: number | undefined
  /** Is told of every wait before it begins. */
  readonly onWait?: (error: AuthError, ms: number, timer: Timer) => void
}

const RETRY_MS = 1_000
const RETRY_MAX_MS = 59_000
const TIMEOUT_MS = 10_000

/**
 * Calls again what may succeed later: after what the service asks, a second by default, and a random time besides that doubles up
 * to a minute. Rejects with the reason of `signal` when that is aborted.
 */
export async function callPatiently<Answer>(
  config: Config,
  request: Omit<ServiceRequest, 'timeoutMs'>,
  { retries = Number.POSITIVE_INFINITY, withinMs = Number.POSITIVE_INFINITY, onWait }: Patience,
): Promise<Answer> {
  const { signal } = request
  const end = config.now() + withinMs
  for (let failures = 0; ; failures += 1) {
    signal.throwIfAborted()
    const left = end - config.now()
    try {
      return await callService<Answer>(config, { ...request, timeoutMs: Math.min(TIMEOUT_MS, left) })
    } catch (thrown) {
      signal.throwIfAborted()
      const error = thrown as AuthError
      const asked = Math.min(60, Math.max(1, Number(error.headers['Retry-After']) || 1))
      const ms = 1_000 * asked + jitter(failures, RETRY_MS, RETRY_MAX_MS)
      if (!error.retryable || failures >= retries || config.now() + ms >= end) throw error
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
