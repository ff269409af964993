import { z } from 'zod'
import { id, timestamp } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

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
export type UserExport = z.output<typeof userExport>
