import { Client } from 'undici'
import { guardedConnector, type Resolve } from './guarded-dial.ts'

const bodyLimitBytes = 65_536

export interface Post {
  url: URL
  headers: Record<string, string>
  body: string
  /** May the address be a private one, or this machine's own. */
  allowPrivate: boolean
  /** For all of it: resolving, connecting, sending, and the answer to its end. */
  timeoutMs: number
  resolve: Resolve
}

export interface PostAnswer {
  status: number
  retryAfter: string | undefined
}

/**
 * Posts to a URL that somebody else chose, over a connection of its own, and reads up to 64 KiB of the answer. It does not follow
 * redirects. Throws without a whole answer within the time, if TLS fails, and if the address is not allowed.
 */
export async function postWebhook({ url, headers, body, allowPrivate, timeoutMs, resolve }: Post): Promise<PostAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const client = new Client(url.origin, {
    // The socket serves one request. A socket that is kept could be dead at the next one.
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
    throw signal.aborted ? new Error(`no whole answer within ${timeoutMs / 1_000} s`, { cause: error }) : error
  } finally {
    client.destroy().catch(() => {})
  }
}
