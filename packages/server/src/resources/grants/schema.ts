import { z } from 'zod'
import { appRef, clearable, id, page, pageQuery, text, timestamp } from '../../lib/fields.ts'
import { accountWarnings, grantState, userRecord } from '../../lib/records.ts'

export { appParams, userParams } from '../../lib/fields.ts'

export const grantParams = z.object({ userId: id, appId: appRef.meta({ description: 'UUID or code of the app' }) })

export const grantBody = z
  .strictObject({
    expires_at: clearable(z.iso.datetime({ offset: true }).transform((moment) => Date.parse(moment))).meta({
      description: 'When the access ends, five seconds from now at the earliest; no token outlives it',
    }),
    reason: clearable(text).meta({ description: 'Why, for other admins' }),
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
      .meta({ description: 'The user or service account; null where the service granted by its settings' }),
    reason: z.string().nullable(),
    granted_at: timestamp,
    expires_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'Grant' })

/** A grant as whoever gave it is answered. */
export const givenGrant = grantRecord.extend(accountWarnings).meta({ id: 'GivenGrant' })
export const grantPage = page(grantRecord)
export const appUserPage = page(grantRecord.extend({ user: userRecord }))
export const listGrantsQuery = z.strictObject(pageQuery)
