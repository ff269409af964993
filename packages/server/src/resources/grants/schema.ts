import { z } from 'zod'
import { appRef, clearable, id, MAX_LIST, moment, page, pageQuery, text, timestamp } from '../../lib/fields.ts'
import { accountWarnings, grantState, ownAccessRequest, requestStatus, userRecord } from '../../lib/records.ts'

export const grantBody = z
  .strictObject({
    expires_at: clearable(z.iso.datetime({ offset: true }).transform((moment) => Date.parse(moment))).meta({
      description: 'When the access ends; at least five seconds from now. No token outlives it',
    }),
    reason: clearable(text).meta({ description: 'The reason, for other admins' }),
  })
  .meta({ id: 'GrantAccess' })
export type GrantInput = z.output<typeof grantBody>

/** A row of `user_apps`. */
export const grantRecord = z
  .object({
    user_id: id,
    app_id: id,
    app_code: z.string(),
    status: z.enum(['active', 'revoked']),
    effective: grantState,
    granted_via: z.enum(['admin', 'auto', 'link', 'invitation', 'import']),
    granted_by: id
      .nullable()
      .meta({ description: 'The user or service account. Null if the service granted it by its settings' }),
    reason: z.string().nullable(),
    granted_at: timestamp,
    expires_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'Grant' })

/** A grant in the answer to the admin who gave it. */
export const givenGrant = grantRecord.extend(accountWarnings).meta({ id: 'GivenGrant' })

export const bulkGrantBody = grantBody
  .extend({
    users: z
      .array(text.min(1))
      .min(1)
      .max(MAX_LIST)
      .meta({ description: 'Each as a UUID, as `email@@pool`, or as an e-mail that only one user has' }),
  })
  .meta({ id: 'GrantAccessToMany' })

export const bulkGrantItem = z.object({
  user: z.string().meta({ description: 'As given in the request' }),
  outcome: z.enum(['granted', 'updated', 'unchanged', 'failed']),
  grant: givenGrant.optional().meta({ description: 'Omitted if it failed' }),
  code: z.enum(['invalid_user', 'user_not_found', 'ambiguous_user']).optional().meta({ description: 'Why it failed' }),
  message: z.string().optional(),
})
export const bulkGrantAnswer = z
  .object({ items: z.array(bulkGrantItem).meta({ description: 'In the order of `users`' }) })
  .meta({ id: 'GrantsToMany' })

export const bulkRevokeBody = bulkGrantBody.pick({ users: true }).meta({ id: 'RevokeAccessOfMany' })
export const bulkRevokeAnswer = z
  .object({
    items: z
      .array(
        bulkGrantItem.extend({
          outcome: z.enum(['revoked', 'unchanged', 'failed']),
          grant: grantRecord.optional().meta({ description: 'Omitted if none was revoked' }),
        }),
      )
      .meta({ description: 'In the order of `users`' }),
  })
  .meta({ id: 'GrantsRevoked' })

export const grantPage = page(grantRecord.extend({ user: userRecord }))
export const listGrantsQuery = z.strictObject({
  ...pageQuery,
  effective: grantState.optional().meta({ description: 'Only grants in this state' }),
  expires_before: moment.optional().meta({
    description: 'Only grants with an end, which is before this time; ISO 8601. With `effective`, also those that have not ended',
  }),
})

export const accessRequestRecord = ownAccessRequest
  .extend({
    user: z.object({ id, email: z.string(), namespace: z.string() }),
    reason: z.string().nullable().meta({ description: 'The answer of the admin' }),
    decided_by: id.nullable(),
    decided_at: timestamp.nullable(),
  })
  .meta({ id: 'AccessRequest' })
export const accessRequestPage = page(accessRequestRecord)

export const listAccessRequestsQuery = z.strictObject({
  ...pageQuery,
  status: requestStatus.optional(),
  app: appRef.optional().meta({ description: 'UUID or code of an app' }),
  user_id: id.optional(),
})
export const approveRequestBody = grantBody.meta({ id: 'ApproveAccess' })
export const denyRequestBody = z
  .strictObject({ reason: clearable(text).meta({ description: 'The reason. The user sees it' }) })
  .meta({ id: 'DenyAccess' })
