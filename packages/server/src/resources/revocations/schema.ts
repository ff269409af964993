import { z } from 'zod'
import type { FeedForm } from '../../lib/caller.ts'
import { cursorForm, feedCursor, id, readAs, timestamp } from '../../lib/fields.ts'

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

export const revocationRecord = z
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
