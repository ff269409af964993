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

/**
 * Streams the revocations after a cursor, or all live ones without a cursor, and then each new one, as server-sent events.
 * Delivery is at least once: it reads rows until nothing was published meanwhile, then the hub takes over. Throws `unavailable`
 * while the server stops or has too many streams.
 */
export async function openStream(
  deps: Deps,
  { app, kids }: ConsumerCaller,
  { since, form }: { since: number | undefined; form: FeedForm },
): Promise<Readable> {
  const { revocationHub: hub } = deps
  const read = (since: number | undefined) =>
    hub.readers.take(() => readRevocations(deps, { appId: app.id, since, limit: pageSize, form }))
  const first = await read(since)
  const stream = hub.open({ appId: app.id, kids, form })
  if (!stream)
    throw new ApiError('unavailable', { retryAfter: retryAfterSeconds, detail: 'This server cannot open another stream now' })

  const catchUp = async () => {
    if (first.isReset) stream.send(resetFrame)
    let page = first
    write(stream, page)
    while (page.hasMore || !hub.join(stream)) {
      await stream.drained()
      if (stream.destroyed) return
      page = await read(stream.sentThrough)
      write(stream, page)
    }
  }
  catchUp().catch((error) => {
    deps.logger.warn({ err: error }, 'a revocation stream could not catch up')
    stream.destroy()
  })
  return stream
}

function write(stream: ConsumerStream, page: FeedPage): void {
  stream.send(Buffer.concat(page.rows.map(frameRevocation)))
  stream.sentThrough = page.cursor
}
