import { z } from 'zod'
import { feedCursor, id, readAs, text, timestamp } from '../../lib/fields.ts'

export const userChangesQuery = z.strictObject({
  since: feedCursor.optional().meta({
    description: '`cursor` of the previous answer. Without one, returns everything that is kept, and where the feed stands',
    override: readAs({ type: 'integer', minimum: 0 }),
  }),
  app_code: text.optional().meta({ description: 'The app. Required with the token of a service account' }),
})

const nowOrNull = 'as it is now. Null if the user is deleted or has no access to the app now'

const userChangeRecord = z
  .object({
    cursor: z.int().meta({ description: 'Where to continue after this change. Several may have the same' }),
    type: z
      .enum(['email_changed', 'names_changed', 'user_deleted', 'grant_ended'])
      .meta({ description: '`grant_ended`: the grant was revoked or has expired' }),
    user_id: id,
    email: z
      .string()
      .nullable()
      .meta({ description: `The e-mail ${nowOrNull}` }),
    first_name: z
      .string()
      .nullable()
      .meta({ description: `The first name ${nowOrNull}` }),
    last_name: z
      .string()
      .nullable()
      .meta({ description: `The last name ${nowOrNull}` }),
    at: timestamp,
  })
  .meta({ id: 'UserChange' })

export const userChangePage = z
  .object({
    items: z.array(userChangeRecord).meta({ description: 'About 1,000 at most, in any order. Changes may come again' }),
    cursor: z.int().meta({ description: 'Keep it, and send it as `since` next time' }),
    app_id: id.meta({ description: 'Id of the app that these changes are for' }),
    has_more: z.boolean().meta({ description: 'Whether to ask again immediately' }),
    reset: z.boolean().meta({
      description:
        'Changes after `since` are missing: it is older than what is kept, or of another database, because this one was restored or ' +
        'replaced. Compare all users that you know. These are the changes that are kept',
    }),
  })
  .meta({ id: 'UserChanges' })
