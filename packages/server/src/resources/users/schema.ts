import { z } from 'zod'
import { madeBys } from '../../lib/account-record.ts'
import { password } from '../../lib/entry-fields.ts'
import {
  appRef,
  clearable,
  email,
  id,
  list,
  name,
  page,
  pageQuery,
  pool,
  roleCode,
  searchQuery,
  timestamp,
} from '../../lib/fields.ts'
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
    made_by: z.enum(madeBys).meta({ description: 'How the account came to be' }),
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

const names = { first_name: clearable(name), last_name: clearable(name) }

export const createUserBody = z
  .strictObject({
    email,
    password: password.optional().meta({ description: '8 characters to 1,024 bytes. Without one, the user sets it by a reset' }),
    ...names,
    namespace: pool.optional().meta({ description: 'Home pool; `default` unless told' }),
    tags: list(pool).optional().meta({ description: 'Pool tags' }),
    email_verified: z.boolean().optional(),
    roles: list(roleCode).optional().meta({ description: 'Global roles besides `base_user`, which every user holds' }),
  })
  .meta({ id: 'CreateUser' })
export type CreateUserInput = z.output<typeof createUserBody>

export const updateUserBody = z
  .strictObject({
    ...names,
    email: email.optional().meta({ description: 'A new address is unverified' }),
    status: z.enum(['active', 'suspended']).optional(),
  })
  .meta({ id: 'UpdateUser' })
export type UpdateUserInput = z.output<typeof updateUserBody>

export const deleteUserQuery = z.strictObject({
  erase: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Also blank e-mail and names everywhere; takes a user who is deleted already, too' }),
})

const importedHash = z
  .string()
  .regex(/^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash ($2a, $2b or $2y) of cost 4 to 14')

/** One line of an import. */
export const importLine = z
  .strictObject({
    email,
    password_hash: clearable(importedHash).meta({
      description: 'bcrypt ($2a, $2b, $2y) of cost 4 to 14; without one, the user resets',
    }),
    ...names,
    namespace: pool.optional().meta({ description: 'Home pool; `default` unless told' }),
    tags: list(pool).optional(),
    apps: list(appRef).optional().meta({ description: 'Apps to grant, by code or UUID' }),
    roles: list(roleCode).optional().meta({ description: 'Global roles besides `base_user`' }),
    email_verified: z.boolean().optional(),
  })
  .meta({ id: 'ImportedUser' })
export type ImportedUser = z.output<typeof importLine>

export const importUsersQuery = z.strictObject({
  dry_run: z.enum(['true', 'false']).optional().meta({ description: 'Answer the same and write nothing' }),
  claim_unverified: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Claim unproven accounts: remove what they were registered with and apply the line as for a new user' }),
})

export const importAnswer = z
  .object({
    imported: z.int().meta({ description: 'Users made' }),
    updated: z.int().meta({ description: 'Lines that added tags, apps or roles to a user who was there, or claimed one' }),
    unchanged: z.int().meta({ description: 'Lines that had nothing to add' }),
    failed: z.int(),
    errors: z
      .array(z.object({ line: z.int().meta({ description: 'Counted from 1' }), code: z.string(), message: z.string() }))
      .meta({ description: 'Of the failed lines, the first 10,000' }),
  })
  .meta({ id: 'UserImport' })
export type ImportAnswer = z.output<typeof importAnswer>
