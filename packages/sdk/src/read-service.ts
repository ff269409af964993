import type { Config } from './config.ts'
import { builtin } from './node-builtins.ts'
import { signAssertion } from './signing-key.ts'

interface ServiceRequest {
  /** Below `/api/v1`. */
  readonly path: string
  /** The type of content that is asked for; any other is refused. */
  readonly accept: 'application/json' | 'text/event-stream'
  readonly headers?: Record<string, string>
  readonly signal: AbortSignal
  /** For the whole answer, or for the next piece of a stream. */
  readonly timeoutMs: number
  readonly onText: (text: string) => void
}

/** Reads from the service as a consumer; throws when it does not answer with 2xx and to the end. */
export async function readService(config: Config, request: ServiceRequest): Promise<void> {
  const { accept, signal, onText } = request
  const ended = new AbortController()
  const end = () => ended.abort(new Error('nothing came in time'))
  signal.addEventListener('abort', end)
  let timer = unref(setTimeout(end, request.timeoutMs))
  try {
    let response: Response | undefined
    // The current secret may have reached this app before the service.
    for (const secret of config.secrets) {
      response = await fetchAs(config, secret, request, ended.signal)
      if (response.status !== 401) break
    }
    const { ok, status, headers, body } = response!
    if (!ok) throw Object.assign(new Error(`HTTP ${status}`), { status })
    if (!headers.get('content-type')?.startsWith(accept)) throw new Error(`the answer is not ${accept}`)
    const decoder = new TextDecoder()
    for await (const chunk of body!) {
      onText(decoder.decode(chunk, { stream: true }))
      if (accept === 'application/json') continue
      clearTimeout(timer)
      timer = unref(setTimeout(end, request.timeoutMs))
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    ended.abort()
  }
}

async function fetchAs(config: Config, secret: string, request: ServiceRequest, signal: AbortSignal): Promise<Response> {
  const assertion = await signAssertion(secret, config)
  // Called without an object: the fetch of Workers refuses to be a method of another.
  const { fetch, authUrl } = config
  // Node keeps a process alive while an answer is read, and tells of the socket here alone.
  const sent = builtin('node:diagnostics_channel')?.channel('undici:client:sendHeaders')
  const release = (message: unknown) => {
    const { headers, socket } = message as { headers: string; socket: { unref(): void } }
    if (headers.includes(assertion)) socket.unref()
  }
  sent?.subscribe(release)
  try {
    const headers = { accept: request.accept, ...request.headers, authorization: `Bearer ${assertion}` }
    // A redirect would carry the assertion elsewhere.
    return await fetch(authUrl + request.path, { headers, redirect: 'manual', signal })
  } finally {
    sent?.unsubscribe(release)
  }
}

/** A timer that does not keep the process alive. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  timer.unref?.()
  return timer
}
