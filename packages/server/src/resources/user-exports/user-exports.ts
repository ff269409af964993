import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, OwnCaller } from '../../lib/caller.ts'
import { id, timestamp } from '../../lib/fields.ts'
import { iso } from '../../lib/timestamps.ts'
import { exportRows, namesIn } from '../../models/user-export.ts'
import { recordEvent } from '../audit/record-event.ts'
import { limitUser } from '../rate-limits/rate-limits.ts'
import { getUser } from '../users/users.ts'

const rows = z.array(z.record(z.string(), z.unknown()))
const names = z.record(z.string(), z.string())

export const userExport = z
  .object({
    format: z.literal('gatehouse-user-export'),
    version: z.literal(1).meta({ description: 'A change that a reader could stumble over raises it' }),
    exported_at: timestamp,
    user_id: id,
    complete: z.boolean().meta({ description: 'False if a table has more than 10,000 rows, of which the newest are here' }),
    names: z
      .object({ apps: names, organizations: names, providers: names })
      .meta({ description: 'The codes of what the rows refer to by id' }),
    tables: z.record(z.string(), rows).meta({
      description:
        'The rows of the user in each table, newest first, without secrets (docs/sign-users-in/account-page.md#what-the-file-holds)',
    }),
  })
  .meta({ id: 'UserExport' })
type UserExport = z.output<typeof userExport>

/** Of each table. The audit of a busy account has the most. */
const mostRows = 10_000

/** Everything that the service keeps of a user, without secrets and without what is about others. Audited. Throws `not_found`. */
export async function exportUser(deps: Deps, userId: string, actor: Actor): Promise<UserExport> {
  const { id } = await getUser(deps, userId)
  const { tables, isCut } = await exportRows(deps.db, id, mostRows)
  const names = await namesIn(deps.db, tables)
  await recordEvent(deps, { event: 'user.exported', actor, userId: id })
  return {
    format: 'gatehouse-user-export',
    version: 1,
    exported_at: iso(deps.clock()),
    user_id: id,
    complete: !isCut,
    names,
    tables,
  }
}

/** The same for the user themselves, who may read so much only now and then. Throws `rate_limited`. */
export async function exportSelf(deps: Deps<Pool>, actor: Actor & { caller: OwnCaller }): Promise<UserExport> {
  await limitUser(deps, actor.caller)
  return exportUser(deps, actor.caller.userId, actor)
}
