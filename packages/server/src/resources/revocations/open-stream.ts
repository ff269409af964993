import type { Readable } from 'node:stream'
import type { ConsumerStream } from '../../adapters/revocation-hub.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { ConsumerCaller, FeedForm } from '../../lib/caller.ts'
import type { RevocationRow } from '../../models/revocation.ts'
import type { FeedPage } from '../feeds/read-feed.ts'
import { frameRevocation, resetFrame } from './present.ts'
import { readRevocations } from './read-revocations.ts'

/** Few enough to keep in memory for a slow reader. */
const pageSize = 500
const retryAfterSeconds = 1
/** A backend that opens a stream for each request is not mended within seconds. */
const retryAfterTooManySeconds = 60

/**
 * Streams the revocations after a cursor, or all live ones without a cursor, and then each new one, as server-sent events.
 * Delivery is at least once: what is published while it reads rows follows after them. Throws `rate_limited` while the app has too
 * many streams at this server, and `unavailable` while the server stops or has too many of all apps.
 */
export async function openStream(
  deps: Deps,
  { app, appCode, kids, standing }: ConsumerCaller,
  { since, form }: { since: number | undefined; form: FeedForm },
): Promise<Readable> {
  const { revocationHub: hub } = deps
  const read = (since: number | undefined) =>
    hub.readers.take(() => readRevocations(deps, { appId: app.id, since, limit: pageSize, form }))
  const stream = hub.open({ appId: app.id, appCode, standing, kids, form })
  if (!stream) throw full(deps, app.id, appCode)
  // The keys of the app may have changed since the consumer was authenticated.
  hub.wake()
  const first = await read(since).catch((error: unknown) => {
    stream.destroy()
    throw error
  })

  const catchUp = async () => {
    if (first.isReset) stream.send(resetFrame)
    let page = first
    let { snapshot } = page
    write(stream, page)
    while (page.hasMore || !stream.goLive(snapshot)) {
      await stream.drained()
      if (stream.destroyed) return
      // Where nothing can appear any more below the next page, that page and its followers have all that was published until now.
      const isWhole = page.isFinal || !page.hasMore
      if (isWhole) stream.dropHeld()
      page = await read(page.cursor)
      // The database was replaced. The reader comes back, and starts over then.
      if (page.isReset) throw new Error('the revocations are of another database now')
      if (isWhole) ({ snapshot } = page)
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

function write(stream: ConsumerStream, page: FeedPage<RevocationRow>): void {
  stream.send(Buffer.concat(page.rows.map(frameRevocation)))
}
