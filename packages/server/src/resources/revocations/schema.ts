import { z } from 'zod'
import { id, readAs, timestamp } from '../../lib/fields.ts'

const cursorForm = /^\d{1,15}$/

/** A cursor as it stands in a query. */
const since = z
  .string()
  .regex(cursorForm, 'must be a cursor of this feed')
  .transform(Number)
  .optional()
  .meta({
    description: '`cursor` of the answer before; all that is live without one',
    override: readAs({ type: 'integer', minimum: 0 }),
  })

export const feedQuery = z.strictObject({ since })

/** Whatever a client sends for a last event that is none of ours is like none: it gets all that is live. */
export const streamHeaders = z.object({
  'last-event-id': z
    .string()
    .transform((text) => (cursorForm.test(text) ? Number(text) : undefined))
    .optional()
    .meta({ description: '`id` of the last event seen; goes before `since`' }),
})

export const revocationRecord = z
  .object({
    cursor: z.int(),
    user_id: id,
    app_id: id.nullable().meta({ description: 'Null: the tokens of every app' }),
    session_id: id.nullable().meta({ description: 'Not null: the tokens of this session (`sid`) have ended' }),
    min_tv: z.int().nullable().meta({ description: 'Not null: tokens of this user whose `tv` is lower have ended' }),
    at: timestamp,
  })
  .meta({ id: 'Revocation' })

export const feedPage = z
  .object({
    items: z.array(revocationRecord).meta({ description: 'In the order of their cursors; at most 1,000' }),
    cursor: z.int().meta({ description: 'What to send as `since` next' }),
    has_more: z.boolean().meta({ description: 'Whether to ask again at once' }),
    reset: z.boolean().meta({
      description:
        '`since` is of another database, which was restored or replaced: forget what came before; this is all that is live',
    }),
  })
  .meta({ id: 'RevocationFeed' })
