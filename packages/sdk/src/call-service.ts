import type { Config } from './config.ts'
import { AuthError, invalidSettings, refused } from './errors.ts'
import { builtin } from './node-platform.ts'
import { CONSUMER_TOKEN_SECONDS } from './protocol.ts'

/** What fails is told as `SERVICE_REJECTED`, `PRUNE_LIMIT` or `SERVICE_UNREACHABLE`, with the reason in its `hint`. */
export interface ServiceRequest {
  /** Below `/api/v1`. */
  readonly path: string
  /** Posted as JSON; without it the request is a GET. */
  readonly body?: object
  /** Nobody waits for this GET: it does not keep the process alive. */
  readonly inBackground?: boolean
  /** Of a service account; without it the app shows an assertion of its own. */
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
  readonly signal: AbortSignal
  /** Takes the pieces of a stream of server-sent events; without it the answer is JSON. */
  readonly onText?: (text: string) => void
  /** Looks at an answer that is no refusal, before its body is read; what it throws ends the call. */
  readonly onHead?: (response: Response) => void
}

/** Who calls. `keyring` signs for an app where a request has no token of its own. */
export type Caller = Pick<Config, 'fetch' | 'authUrl' | 'appCode' | 'keyring' | 'now'>

/** Asks the service and gives its JSON; resolves when a stream has ended. `timeoutMs` is for the whole answer, or the next piece of a stream. */
export async function callService<Answer>(
  config: Caller,
  { path, body, inBackground, token, headers, signal, onText, onHead }: ServiceRequest,
  timeoutMs: number,
): Promise<Answer> {
  // Called without an object: the fetch of Workers refuses to be a method of another.
  const { fetch, authUrl, appCode, keyring, now } = config
  const accept = onText ? 'text/event-stream' : 'application/json'
  const ended = new AbortController()
  const end = () => ended.abort(unreachable('timeout'))
  let timer: Timer | undefined
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(end, timeoutMs)
    // A call keeps the process alive by this: over HTTP/2 its socket is the feed's, which does not.
    if (inBackground) unref(timer)
  }
  // Listens no longer than the call lasts.
  signal.addEventListener('abort', end, { signal: ended.signal })
  wait()
  try {
    if (!authUrl) throw invalidSettings('SERVICE_AUTH_URL is missing')
    let response: Response
    const { keys } = await keyring.open()
    // The current secret may have reached this app before the service.
    for (const key of keys) {
      // Half of its life lies behind, for the clock of the service may be ahead or behind.
      const iat = Math.floor(now() / 1000) - CONSUMER_TOKEN_SECONDS / 2
      const claims = { sub: appCode, iat, exp: iat + CONSUMER_TOKEN_SECONDS, kids: keys.map(({ kid }) => kid) }
      const bearer = token ?? (await key.signAsConsumer(claims))
      const send = async () =>
        fetch(authUrl + path, {
          method: body && 'POST',
          headers: { accept, ...(body && { 'content-type': accept }), ...headers, authorization: `Bearer ${bearer}` },
          body: body && JSON.stringify(body),
          // A redirect would carry the token elsewhere.
          redirect: 'manual',
          signal: ended.signal,
        })
      response = await (inBackground ? sendUnheld(bearer, send) : send())
      if (token || response.status !== 401) break
    }
    if (!response!.ok) throw errorOf(response!, Object(await response!.json().catch(() => {})))
    if (!response!.headers.get('content-type')?.startsWith(accept)) throw unreachable(`not ${accept}`)
    onHead?.(response!)
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
    const { name, code, cause }: Failure = Object(error)
    throw unreachable(cause?.code ?? code ?? name ?? 'unknown')
  } finally {
    clearTimeout(timer)
    ended.abort()
  }
}

/** The address of the service, as the app gave it. */
export function addressOf({ authUrl }: Config): string {
  return authUrl!.slice(0, -'/api/v1'.length)
}

/** What `fetch` throws. */
interface Failure {
  readonly name?: string
  readonly code?: string
  readonly cause?: { readonly code?: string }
}

/** Of a request whose head is on its way: its method, its head as text, and what carries it. */
interface Sent {
  readonly request: { readonly method: string }
  readonly headers: string
  readonly socket: { unref(): void }
}

/** Node keeps a process alive while an answer is read, and tells of the socket here alone. */
function sendUnheld(bearer: string, send: () => Promise<Response>): Promise<Response> {
  const sent = builtin('node:diagnostics_channel')?.channel('undici:client:sendHeaders')
  const release = (message: unknown) => {
    const { request, headers, socket } = message as Sent
    // A call of the app in the same second carries the same bearer, and its answer is waited for.
    if (request.method === 'GET' && headers.includes(bearer)) socket.unref()
  }
  sent?.subscribe(release)
  return send().finally(() => sent?.unsubscribe(release))
}

/** The service did not answer, or not as itself: the same call may succeed later. */
export function unreachable(hint: string): AuthError {
  return refused('SERVICE_UNREACHABLE', hint)
}

/**
 * What an answer that is no success means. Only a body in the service's error shape is the service's word: a page with 404 comes from
 * something before it, and the same call may succeed once the service is there.
 */
function errorOf({ status, headers }: Response, body: { readonly status?: unknown; readonly code?: unknown }): AuthError {
  const code = body.status === status && /^[a-z0-9_]{1,60}$/.test(`${body.code}`) ? body.code : ''
  const requestId = headers.get('x-request-id')
  const retryAfter = headers.get('retry-after')
  const isFinal = code && /^4(?!08|29)/.test(`${status}`)
  return new AuthError(isFinal ? (code === 'prune_limit' ? 'PRUNE_LIMIT' : 'SERVICE_REJECTED') : 'SERVICE_UNREACHABLE', {
    hint: `HTTP ${status} ${code || '(not an answer of the service)'}`,
    ...(requestId && { requestId }),
    ...(!isFinal && retryAfter && { headers: { 'Retry-After': retryAfter } }),
  })
}

/**
 * Calls again what may succeed later, `retries` times and for `withinMs`: after what the service asks, a second by default, and a random
 * time besides that doubles up to a minute. `onWait` is told of every wait before it begins. Rejects with the reason of `signal` when
 * that is aborted.
 */
export async function callPatiently<Answer>(
  config: Caller,
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
      return await callService<Answer>(config, request, Math.min(10_000, end - now()))
    } catch (thrown) {
      signal.throwIfAborted()
      const error = thrown as AuthError
      const asked = Math.min(60, Math.max(1, Number(error.headers['Retry-After']) || 1))
      const ms = 1_000 * asked + Math.random() * Math.min(59_000, 1_000 * 2 ** failures)
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

export type Timer = ReturnType<typeof setTimeout>

/** A timer that does not keep the process alive. */
export function unref(timer: Timer): Timer {
  timer.unref?.()
  return timer
}
