import { lookup as resolveHost } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector, Client } from 'undici'
import { isPublicAddress } from '../lib/public-address.ts'

const bodyLimitBytes = 65_536

/** Every address of a host. */
export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

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

/** One look-up of a host at a time: it holds one of the few threads that the whole process resolves on, for as long as its DNS hangs. */
const lookups = new Map<string, ReturnType<Resolve>>()

export const resolveOnce: Resolve = (hostname) => {
  const running = lookups.get(hostname)
  if (running) return running
  const lookup = resolveHost(hostname, { all: true }).finally(() => lookups.delete(hostname))
  lookups.set(hostname, lookup)
  return lookup
}

/**
 * Posts to a URL that somebody chose, over a connection of its own, and reads the answer to its end or 64 KiB. Redirects are answers
 * like any other. Throws when there is no whole answer within the time, TLS fails, or the address is not one it may go to.
 */
export async function postWebhook({ url, headers, body, allowPrivate, timeoutMs, resolve }: Post): Promise<PostAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const connect = buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    // The signal ends the attempt before; this ends a socket that goes on connecting.
    timeout: timeoutMs + 1_000,
    lookup: guardedLookup(resolve, allowPrivate),
  })
  const client = new Client(url.origin, {
    // No second request follows, and a socket kept for one could be dead when it comes.
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(options, callback) {
      const host = options.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) && !allowPrivate && !isPublicAddress(host))
        return queueMicrotask(() => callback(new PrivateAddressError(host), null))
      connect(options, callback)
    },
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

class PrivateAddressError extends Error {
  constructor(host: string) {
    super(`${host} is not a public address (AUTH_WEBHOOK_ALLOW_PRIVATE)`)
  }
}

/** The addresses that it gives are the very ones that are dialled, so a second answer of the DNS has no say. */
function guardedLookup(resolve: Resolve, allowPrivate: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const isRefused = !allowPrivate && addresses.some(({ address }) => !isPublicAddress(address))
        const [first] = addresses
        if (isRefused || !first) callback(new PrivateAddressError(hostname), '')
        else if (options.all) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }
}
