import { z } from 'zod'
import { id, queryFlag } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

export const deleteUserQuery = z.strictObject({
  erase: queryFlag
    .optional()
    .meta({ description: 'Also blank e-mail and names everywhere. Accepts a user who is already deleted' }),
})

/** The answer of a dry run instead of erasing. */
export const erasurePlan = z
  .object({
    user_id: id,
    deletes: z.boolean().meta({ description: 'False if the user is already deleted' }),
    addresses: z.int().meta({ description: 'Number of current and earlier e-mails of the user, according to the audit log' }),
    audit_events: z.int().meta({ description: 'Number of events that are searched for e-mails, names and reasons' }),
    invitations: z.int(),
    mails: z.int().meta({ description: 'Number of sent and pending mails. Pending ones are dropped' }),
    webhook_deliveries: z.int(),
  })
  .meta({ id: 'ErasurePlan' })
export type ErasurePlan = z.output<typeof erasurePlan>
