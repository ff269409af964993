import { type Config, lacking } from './config.ts'
import { AuthError, invalidSettings, refused } from './errors.ts'
import { builtin } from './node-platform.ts'
import { CONSUMER_TOKEN_SECONDS } from './protocol.ts'

/** A call to the service. It fails with `SERVICE_REJECTED`, `PRUNE_LIMIT` or `SERVICE_UNREACHABLE`; the `hint` has the reason. */
export interface ServiceRequest {
  /** Below `/api/v1`. */
  readonly path: string
  /** Posted as JSON; without it the request is a GET. */
  readonly body?: object
  /** Nothing waits for this GET, so it does not keep the process alive. */
  readonly inBackground?: boolean
  /** The token of a service account. Without it, the app signs an assertion. */
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
  readonly signal: AbortSignal
  /** Receives the pieces of a stream of server-sent events. Without it, the answer is JSON. */
  readonly onText?: (text: string) => void
  /** Called with a successful response before its body is read. If it throws, the call fails. */
  readonly onHead?: (response: Response) => void
}

/** The settings of the caller. `keyring` signs an assertion for a request without a token. */
export type Caller = Pick<Config, 'fetch' | 'authUrl' | 'appCode' | 'keyring' | 'now'>

/**
 * Calls the service and resolves to its JSON, or to undefined when a stream has ended. `timeoutMs` limits the whole answer, or
 * the wait for each piece of a stream.
 */
export async function callService<Answer>(
  config: Caller,
  { path, body, inBackground, token, headers, signal, onText, onHead }: ServiceRequest,
  timeoutMs: number,
): Promise<Answer> {
  // Taken out of the object, because Workers refuse to call `fetch` as a method.
  const { fetch, authUrl, appCode, keyring, now } = config
  const accept = onText ? 'text/event-stream' : 'application/json'
  const ended = new AbortController()
  const end = () => ended.abort(unreachable('timeout'))
  let timer: Timer | undefined
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(end, timeoutMs)
    // This timer keeps the process alive during a call: over HTTP/2, the call shares the socket of the feed, which does not.
    if (inBackground) unref(timer)
  }
  // Stops listening when the call ends.
  signal.addEventListener('abort', end, { signal: ended.signal })
  wait()
  try {
    if (!authUrl) throw invalidSettings(lacking('SERVICE_AUTH_URL'))
    let last: Response | undefined
    const { keys } = await keyring.open()
    // The current secret may have reached this app before it reached the service.
    for (const key of keys) {
      // Issued half its lifetime ago, because the clock of the service may be ahead or behind.
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
      last = await (inBackground ? sendUnheld(bearer, send) : send())
      if (token || last.status !== 401) break
    }
    // There is one key at least.
    const response = last!
    if (!response.ok) throw errorOf(response, Object(await response.json().catch(() => {})))
    if (!response.headers.get('content-type')?.startsWith(accept)) throw unreachable(`not ${accept}`)
    onHead?.(response)
    if (!onText) return (await response.json()) as Answer
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) {
      onText(decoder.decode(chunk, { stream: true }))
      wait()
    }
    return undefined as Answer
  } catch (error) {
    if (AuthError.is(error)) throw error
    // Keeps only the name or code of other errors: their messages may quote what was sent.
    const { name, code, cause }: Failure = Object(error)
    throw unreachable(cause?.code ?? code ?? name ?? 'unknown')
  } finally {
    clearTimeout(timer)
    ended.abort()
  }
}

/** Returns the address of the service without `/api/v1`. */
export function addressOf({ authUrl = '' }: Config): string {
  return authUrl.slice(0, -'/api/v1'.length)
}

/** An error that `fetch` throws. */
interface Failure {
  readonly name?: string
  readonly code?: string
  readonly cause?: { readonly code?: string }
}

/** What undici reports when it sends the head of a request: the method, the head as text, and the socket. */
interface Sent {
  readonly request: { readonly method: string }
  readonly headers: string
  readonly socket: { unref(): void }
}

/**
 * Sends a request that does not keep the process alive. Node keeps it alive while an answer is read, and exposes the socket only
 * here.
 */
function sendUnheld(bearer: string, send: () => Promise<Response>): Promise<Response> {
  const sent = builtin('node:diagnostics_channel')?.channel('undici:client:sendHeaders')
  const release = (message: unknown) => {
    const { request, headers, socket } = message as Sent
    // Other calls of the app in the same second carry the same bearer, and their answers are waited for.
    if (request.method === 'GET' && headers.includes(bearer)) socket.unref()
  }
  sent?.subscribe(release)
  return send().finally(() => sent?.unsubscribe(release))
}

/** Creates the error for no answer, or for one that is not from the service. The same call may succeed later. */
export function unreachable(hint: string): AuthError {
  return refused('SERVICE_UNREACHABLE', hint)
}

/**
 * Turns an unsuccessful answer into an error. Only a body in the service's error shape is a refusal. Anything else, such as a 404
 * page of a proxy, counts as unreachable: the same call may succeed once the service is there.
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

export type Timer = ReturnType<typeof setTimeout>

/** A timer that does not keep the process alive. */
export function unref(timer: Timer): Timer {
  timer.unref?.()
  return timer
}
