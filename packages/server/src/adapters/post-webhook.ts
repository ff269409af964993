import { Client } from 'undici'
import { guardedConnector, type Resolve } from './guarded-dial.ts'

const bodyLimitBytes = 65_536

interface Post {
  url: URL
  headers: Record<string, string>
  body: string
  /** Whether the address may be a private one, or one of this machine. */
  allowPrivate: boolean
  /** Covers resolving, connecting, sending, and reading the whole answer. */
  timeoutMs: number
  resolve: Resolve
}

export interface PostAnswer {
  status: number
  retryAfter: string | undefined
}

/**
 * Posts to an untrusted URL over a new connection, and reads up to 64 KiB of the answer. Does not follow redirects. Throws if
 * there is no complete answer in time, if TLS fails, or if the address is not allowed.
 */
export async function postWebhook({ url, headers, body, allowPrivate, timeoutMs, resolve }: Post): Promise<PostAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const client = new Client(url.origin, {
    // Each socket serves one request, since a kept socket could be dead at the next one.
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guardedConnector({ resolve, timeoutMs, mayBePrivate: () => allowPrivate, setting: 'AUTH_WEBHOOK_ALLOW_PRIVATE' }),
  })
  try {
    const answer = await client.request({ path: url.pathname + url.search, method: 'POST', headers, body, signal })
    let bytes = 0
    const chunks: AsyncIterable<Buffer> = answer.body
    for await (const { length } of chunks) {
      bytes += length
      if (bytes >= bodyLimitBytes) break
    }
    const retryAfter = answer.headers['retry-after']
    return { status: answer.statusCode, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter }
  } catch (error) {
    throw signal.aborted ? new Error(`no complete response within ${timeoutMs / 1_000} s`, { cause: error }) : error
  } finally {
    client.destroy().catch(() => {})
  }
}
