import type { Readable } from 'node:stream'
import type { ConsumerStream } from '../../adapters/revocation-hub.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { ConsumerCaller, FeedForm } from '../../lib/caller.ts'
import { frameRevocation, resetFrame } from './present.ts'
import { type FeedPage, readRevocations } from './read-revocations.ts'

/** Few enough to keep in memory for a slow reader. */
const pageSize = 500
const retryAfterSeconds = 1
/** A backend that opens a stream for each request is not mended within seconds. */
const retryAfterTooManySeconds = 60

/**
 * Streams the revocations after a cursor, or all live ones without a cursor, and then each new one, as server-sent events.
 * Delivery is at least once: it reads rows until nothing was published meanwhile, then the hub takes over. Throws `rate_limited`
 * while the app has too many streams at this server, and `unavailable` while the server stops or has too many of all apps.
 */
export async function openStream(
  deps: Deps,
  { app, appCode, kids, standing }: ConsumerCaller,
  { since, form }: { since: number | undefined; form: FeedForm },
): Promise<Readable> {
  const { revocationHub: hub } = deps
  const read = (since: number | undefined) =>
    hub.readers.take(() => readRevocations(deps, { appId: app.id, since, limit: pageSize, form }))
  // Refused before it costs a query. Others may open theirs while this one reads.
  if (hub.fullness(app.id)) throw full(deps, app.id, appCode)
  const first = await read(since)
  const stream = hub.open({ appId: app.id, appCode, standing, kids, form })
  if (!stream) throw full(deps, app.id, appCode)
  // The keys of the app may have changed since the consumer was authenticated.
  hub.wake()

  const catchUp = async () => {
    if (first.isReset) stream.send(resetFrame)
    let page = first
    write(stream, page)
    while (page.hasMore || !hub.join(stream)) {
      await stream.drained()
      if (stream.destroyed) return
      const { sentThrough } = stream
      const isBehind = sentThrough < hub.head
      page = await read(sentThrough)
      // The database was replaced, or lacks what this server has already published. The reader comes back, and starts over then.
      if (page.isReset || (page.cursor <= sentThrough && (page.hasMore || isBehind)))
        throw new Error(`the revocations do not go on after cursor ${sentThrough}`)
      write(stream, page)
    }
  }
  catchUp().catch((error) => {
    deps.logger.warn({ err: error }, 'a revocation stream could not catch up')
    stream.destroy()
  })
  return stream
}

function full({ revocationHub: hub }: Deps, appId: string, appCode: string): ApiError {
  if (hub.fullness(appId) !== 'app')
    return new ApiError('unavailable', { retryAfter: retryAfterSeconds, detail: 'This server cannot open another stream now' })
  const detail = `${appCode} has ${hub.streamsOfApp} open streams, the most that an app may have at a server: open one per process`
  return new ApiError('rate_limited', { retryAfter: retryAfterTooManySeconds, detail })
}

function write(stream: ConsumerStream, page: FeedPage): void {
  stream.send(Buffer.concat(page.rows.map(frameRevocation)))
  stream.sentThrough = page.cursor
}
