import { z } from 'zod'
import { appRef, email, id, page, pageQuery, pool, roleCode, searchQuery, timestamp } from '../../lib/fields.ts'
import { organizationRecord, userRecord } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'

/** What an admin sees of one user. */
export const userDetail = userRecord
  .extend({
    apps: z.array(
      z.object({ app_id: id, app_code: z.string(), status: z.enum(['active', 'revoked']), expires_at: timestamp.nullable() }),
    ),
    roles: z.array(z.string()),
    organizations: z.array(organizationRecord),
  })
  .meta({ id: 'UserDetail' })

export const userPage = page(userRecord)

export const listUsersQuery = z.strictObject({
  ...pageQuery,
  email: email.optional(),
  namespace: pool.optional().meta({ description: 'Home pool or pool tag' }),
  app: appRef.optional().meta({ description: 'UUID or code of an app that the user may enter' }),
  role: roleCode.optional(),
  status: userRecord.shape.status.optional(),
  q: searchQuery,
})
export type ListUsersRequest = z.output<typeof listUsersQuery>
