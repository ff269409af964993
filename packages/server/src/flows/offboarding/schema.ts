import { z } from 'zod'
import { id } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'

export const offboardUserBody = z
  .strictObject({
    keep_service_accounts: z.boolean().optional().meta({
      description: 'List the service accounts whose token was last shown to the user without deleting them. Default: false',
    }),
  })
  .meta({ id: 'OffboardUser' })
export type OffboardUserInput = z.output<typeof offboardUserBody>

/** What one call did. A repeated call finds nothing left to do. */
export const offboarding = z
  .object({
    user: userRecord,
    suspended: z.boolean().meta({ description: 'False if the user was already suspended' }),
    sessions: z.int().meta({ description: 'Number of sessions ended' }),
    grants: z.array(z.string()).meta({ description: 'Codes of the apps whose grants were revoked' }),
    organizations: z.array(z.string()).meta({ description: 'Slugs of the organizations that the user was a member of' }),
    access_requests: z.int().meta({ description: 'Number of open requests for access that were denied' }),
    invitations: z
      .int()
      .meta({ description: 'Number of invitations withdrawn: those that the user sent, and those to the address' }),
    service_accounts: z.array(z.object({ id, name: z.string(), service: z.string(), deleted: z.boolean() })).meta({
      description:
        'Service accounts whose current token was shown to the user when it was created, as far back as the audit log goes',
    }),
    roles: z
      .array(z.string())
      .meta({ description: 'Global roles that the account keeps. They have no effect while it is suspended' }),
  })
  .meta({ id: 'Offboarding' })
