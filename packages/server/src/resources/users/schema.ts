import { z } from 'zod'
import { appRef, email, id, page, pageQuery, pool, roleCode, searchQuery, timestamp } from '../../lib/fields.ts'

export const userStatus = z.enum(['active', 'suspended', 'deleted'])

/** `user` everywhere (decisions 4). */
export const userRecord = z
  .object({
    id,
    email: z.string(),
    email_verified: z.boolean(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    namespace: z.string().meta({ description: 'Home pool' }),
    namespaces: z.array(z.string()).meta({ description: 'Home pool first, then pool tags' }),
    status: userStatus,
    created_at: timestamp,
  })
  .meta({ id: 'User' })

export const organizationRef = z.object({ id, slug: z.string(), name: z.string(), role_codes: z.array(z.string()) })

/** What an admin sees of one user. */
export const userDetail = userRecord
  .extend({
    apps: z.array(z.object({ app_id: id, app_code: z.string(), status: z.enum(['active', 'revoked']), expires_at: timestamp.nullable() })),
    roles: z.array(z.string()),
    organizations: z.array(organizationRef),
  })
  .meta({ id: 'UserDetail' })

export const userPage = page(userRecord)

export const userParams = z.object({ userId: id })

export const listUsersQuery = z.strictObject({
  ...pageQuery,
  email: email.optional(),
  namespace: pool.optional().meta({ description: 'Home pool or pool tag' }),
  app: appRef.optional().meta({ description: 'UUID or code of an app that the user may enter' }),
  role: roleCode.optional(),
  status: userStatus.optional(),
  q: searchQuery,
})
export type ListUsersRequest = z.output<typeof listUsersQuery>
