import { z } from 'zod'
import { madeBys } from '../../lib/account-record.ts'
import { password } from '../../lib/entry-fields.ts'
import {
  appRef,
  clearable,
  email,
  id,
  indexedSearchQuery,
  list,
  locale,
  name,
  page,
  pageQuery,
  pool,
  roleCode,
  timestamp,
} from '../../lib/fields.ts'
import { grantState, identityRecord, organizationRecord, shownLocale, userRecord } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'

/** What an admin sees of one user. */
export const userDetail = userRecord
  .extend({
    apps: z.array(
      z.object({
        app_id: id,
        app_code: z.string(),
        status: z.enum(['active', 'revoked']),
        effective: grantState,
        expires_at: timestamp.nullable(),
      }),
    ),
    locale: shownLocale,
    roles: z.array(z.string()),
    organizations: z.array(organizationRecord),
    two_factor: z.boolean().meta({ description: 'Whether a second factor is active' }),
    passkeys: z.int().meta({ description: 'The number of passkeys' }),
    identities: z.array(identityRecord).meta({ description: 'Accounts at providers that the user can log in with' }),
    locked_until: timestamp.nullable().meta({
      description: 'When the lock after wrong passwords or codes ends. Null if not locked. A known device may have its own lock',
    }),
    last_login_at: timestamp
      .nullable()
      .meta({ description: 'When the newest session began. Null if never, or if longer ago than sessions are kept' }),
    made_by: z.enum(madeBys).meta({ description: 'How the account was created' }),
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
  q: indexedSearchQuery,
})
export type ListUsersRequest = z.output<typeof listUsersQuery>

const ownFields = { first_name: clearable(name), last_name: clearable(name), locale: clearable(locale) }

export const createUserBody = z
  .strictObject({
    email,
    password: password
      .optional()
      .meta({ description: 'At least 8 characters, at most 1,024 bytes. Without one, the user sets it by a reset' }),
    ...ownFields,
    namespace: pool.optional().meta({ description: 'Home pool. Default: `default`' }),
    tags: list(pool).optional().meta({ description: 'Pool tags' }),
    email_verified: z.boolean().optional(),
    roles: list(roleCode).optional().meta({ description: 'Global roles besides `base_user`, which every user holds' }),
  })
  .meta({ id: 'CreateUser' })
export type CreateUserInput = z.output<typeof createUserBody>

export const updateUserBody = z
  .strictObject({
    ...ownFields,
    email: email.optional().meta({ description: 'A new address is unverified' }),
    status: z.enum(['active', 'suspended']).optional(),
  })
  .meta({ id: 'UpdateUser' })
export type UpdateUserInput = z.output<typeof updateUserBody>
