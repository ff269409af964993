import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { ConsumerCaller, ServiceCaller } from '../../lib/caller.ts'
import { feedCursor, id, readAs, text, timestamp } from '../../lib/fields.ts'
import { iso } from '../../lib/timestamps.ts'
import { User } from '../../models/user.ts'
import { type UserChange, userChangeFeed } from '../../models/user-change.ts'
import { readCatalog } from '../catalog/catalog.ts'
import { readFeed } from '../feeds/feeds.ts'

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

const mostItems = 1_000

/**
 * The changes of the users of an app after a cursor; all that are kept without one. Values are those of now, so it does not matter
 * in which order a reader applies changes. A user whose grant has ended has none. Throws `own_key_required`, `scope_required`,
 * `validation_failed`.
 */
export async function readUserChanges(
  deps: Deps,
  { since, app_code }: { since?: number | undefined; app_code?: string | undefined },
  caller: ConsumerCaller | ServiceCaller,
): Promise<z.output<typeof userChangePage>> {
  const appId = await findAppId(deps, app_code, caller)
  const narrow = (rows: ReturnType<Deps['db']>) => rows.where({ app_id: appId })
  const page = await readFeed<UserChange>(deps, userChangeFeed, { since, limit: mostItems, narrow })
  const ids = [...new Set(page.rows.map(({ user_id }) => user_id))]
  const users = new Map((await User.listOfApp(deps.db, { appId, ids, now: deps.clock() })).map((user) => [user.id, user]))
  return {
    items: page.rows.map(({ cursor, type, user_id, at }) => {
      const { email = null, first_name = null, last_name = null } = users.get(user_id) ?? {}
      return { cursor, type, user_id, email, first_name, last_name, at: iso(at) }
    }),
    cursor: page.cursor,
    app_id: appId,
    has_more: page.hasMore,
    reset: page.isReset,
  }
}

async function findAppId(deps: Deps, code: string | undefined, caller: ConsumerCaller | ServiceCaller): Promise<string> {
  if (caller.kind === 'consumer') {
    if (!caller.hasOwnKey) throw new ApiError('own_key_required')
    if (code !== undefined && code !== caller.appCode)
      throw fieldError('app_code', 'invalid_value', 'is not the app that the assertion names')
    return caller.app.id
  }
  if (code === undefined) throw fieldError('app_code', 'required', 'is required with the token of a service account')
  const refusal = caller.authority.refuseUserChanges(code)
  if (refusal) throw new ApiError(refusal.code, refusal)
  const app = await (await readCatalog(deps)).findApp({ code })
  if (!app) throw new ApiError('scope_required')
  return app.id
}
