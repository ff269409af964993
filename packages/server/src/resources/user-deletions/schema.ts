import { z } from 'zod'
import { id, queryFlag } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

export const deleteUserQuery = z.strictObject({
  erase: queryFlag
    .optional()
    .meta({ description: 'Also blank e-mail and names everywhere; takes a user who is deleted already, too' }),
})

/** The answer of a dry run instead of erasing. */
export const erasurePlan = z
  .object({
    user_id: id,
    deletes: z.boolean().meta({ description: 'False when the user is deleted already' }),
    addresses: z.int().meta({ description: 'The e-mail and those that the user had before, as the audit tells' }),
    audit_events: z.int().meta({ description: 'Those that are searched for e-mails, names and reasons' }),
    invitations: z.int(),
    mails: z.int().meta({ description: 'Sent, or still to be sent: those are dropped' }),
    webhook_deliveries: z.int(),
  })
  .meta({ id: 'ErasurePlan' })
export type ErasurePlan = z.output<typeof erasurePlan>
