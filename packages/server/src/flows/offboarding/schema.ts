import { z } from 'zod'
import { id, list, text } from '../../lib/fields.ts'
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

/** Each is a transaction of its own, and the answer must not take longer than callers wait. */
const mostPeople = 100

export const offboardUsersBody = offboardUserBody
  .extend({
    users: list(text.min(1), mostPeople, 1).meta({
      description: 'Each as a UUID, as `email@@pool`, or as an e-mail, which means the accounts in all pools',
    }),
  })
  .meta({ id: 'OffboardUsers' })

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

export const offboardings = z
  .object({
    items: z
      .array(
        z.object({
          user: z.string().meta({ description: 'As given in the request' }),
          outcome: z.enum(['offboarded', 'unchanged', 'failed']),
          accounts: z.array(offboarding).meta({
            description: 'The accounts that are closed now. If it failed, those that were closed before it failed',
          }),
          code: z.enum(['invalid_user', 'user_not_found', 'last_system_admin']).optional().meta({ description: 'Why it failed' }),
          message: z.string().optional(),
        }),
      )
      .meta({ description: 'In the order of `users`' }),
  })
  .meta({ id: 'Offboardings' })
