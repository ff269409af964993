import { z } from 'zod'
import { id } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'

export const offboardUserBody = z
  .strictObject({
    keep_service_accounts: z
      .boolean()
      .optional()
      .meta({ description: 'Only list the service accounts whose token the user was shown last. They are deleted unless told' }),
  })
  .meta({ id: 'OffboardUser' })
export type OffboardUserInput = z.output<typeof offboardUserBody>

/** What one call did. A repeated call finds nothing left to do. */
export const offboarding = z
  .object({
    user: userRecord,
    suspended: z.boolean().meta({ description: 'False for a user who was suspended before' }),
    sessions: z.int().meta({ description: 'How many were ended' }),
    grants: z.array(z.string()).meta({ description: 'Codes of the apps whose grants were revoked' }),
    organizations: z.array(z.string()).meta({ description: 'Slugs of the organizations that the user was a member of' }),
    invitations: z.int().meta({ description: 'How many were taken back: those that the user sent, and those to the address' }),
    service_accounts: z
      .array(z.object({ id, name: z.string(), service: z.string(), deleted: z.boolean() }))
      .meta({ description: 'Those whose present token the user was shown when it was made, as far back as the audit goes' }),
    roles: z
      .array(z.string())
      .meta({ description: 'Global roles that the account keeps. They count for nothing while it is suspended' }),
  })
  .meta({ id: 'Offboarding' })
