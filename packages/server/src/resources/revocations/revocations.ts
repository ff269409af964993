import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { ConsumerStream } from '../../adapters/revocation-hub.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { ConsumerCaller, FeedForm } from '../../lib/caller.ts'
import { cursorForm, feedCursor, id, readAs, timestamp } from '../../lib/fields.ts'
import { iso } from '../../lib/timestamps.ts'
import { Revocation, type RevocationRow, revocationFeed } from '../../models/revocation.ts'
import { type FeedPage, readFeed } from '../feeds/feeds.ts'

const since = feedCursor.optional().meta({
  description: '`cursor` of the previous answer. Without one, returns everything that is live',
  override: readAs({ type: 'integer', minimum: 0 }),
})

/** Which events the reader understands. */
const form = z
  .enum(['1', '2'])
  .default('1')
  .transform((text): FeedForm => (text === '2' ? 2 : 1))
  .meta({ description: '`2` for a reader that also understands events about an app, with `min_iat` and without a user' })

export const feedQuery = z.strictObject({ since, form })

/** A `Last-Event-ID` that is not a cursor counts as absent: without `since`, the client gets everything that is live. */
export const streamHeaders = z.object({
  'last-event-id': z
    .string()
    .transform((text) => (cursorForm.test(text) ? Number(text) : undefined))
    .optional()
    .meta({ description: '`id` of the last event seen. Takes precedence over `since`' }),
})

const revocationRecord = z
  .object({
    cursor: z.int().meta({ description: 'Where to continue after this event. Several may have the same' }),
    user_id: id.nullable().meta({ description: 'Null with `min_iat`: the tokens of every user' }),
    app_id: id.nullable().meta({ description: 'Null: the tokens of every app' }),
    session_id: id.nullable().meta({ description: 'Not null: the tokens of this session (`sid`) have ended' }),
    min_tv: z.int().nullable().meta({ description: 'Not null: tokens of this user whose `tv` is lower have ended' }),
    min_iat: z
      .int()
      .optional()
      .meta({ description: 'Only with `form=2`: tokens of this app whose `iat`, in seconds, is lower have ended' }),
    at: timestamp,
  })
  .meta({ id: 'Revocation' })

export const feedPage = z
  .object({
    items: z.array(revocationRecord).meta({ description: 'About 1,000 at most, in any order. Events may come again' }),
    cursor: z.int().meta({ description: 'Send it as `since` next time' }),
    app_id: id.meta({ description: 'Id of the app that these events are for: the one whose code is in the assertion' }),
    has_more: z.boolean().meta({ description: 'Whether to ask again immediately' }),
    reset: z.boolean().meta({
      description:
        '`since` belongs to another database, because this one was restored or replaced. Forget earlier events: this is ' +
        'everything that is live',
    }),
  })
  .meta({ id: 'RevocationFeed' })

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

/** How far local validators look back. Longer than any access token lives, so older revocations concern no live token. */
export const revocationKeepMs = 3_660_000

/** The revocations after a cursor for the consumers of an app; all live ones without a cursor. */
export async function readRevocations(
  deps: Deps,
  input: { appId: string; since: number | undefined; limit: number; form: FeedForm },
): Promise<FeedPage<RevocationRow>> {
  const { appId, since, limit, form } = input
  const narrow = Revocation.ofApp(appId, { since: deps.clock() - revocationKeepMs, usersOnly: form === 1 })
  return readFeed(deps, revocationFeed, { since, limit, narrow })
}

/** A revocation as consumers read it, by poll and by stream alike. */
export function presentRevocation({
  cursor,
  user_id,
  app_id,
  session_id,
  min_tv,
  min_iat,
  at,
}: RevocationRow): z.output<typeof revocationRecord> {
  return { cursor, user_id, app_id, session_id, min_tv, ...(min_iat === null ? {} : { min_iat }), at: iso(at) }
}

/** Tells the reader of a stream that the events it knows are from another database. */
export const resetFrame = Buffer.from('event: reset\ndata: {}\n\n')

/** A revocation as a server-sent event. */
export function frameRevocation(row: RevocationRow): Buffer {
  return Buffer.from(`id: ${row.cursor}\ndata: ${JSON.stringify(presentRevocation(row))}\n\n`)
}
