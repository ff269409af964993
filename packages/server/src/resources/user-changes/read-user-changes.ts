import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { ConsumerCaller, ServiceCaller } from '../../lib/caller.ts'
import { iso } from '../../lib/timestamps.ts'
import { User } from '../../models/user.ts'
import { type UserChange, userChangeFeed } from '../../models/user-change.ts'
import { readCatalog } from '../catalog/read-catalog.ts'
import { readFeed } from '../feeds/read-feed.ts'
import type { userChangePage } from './schema.ts'

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
