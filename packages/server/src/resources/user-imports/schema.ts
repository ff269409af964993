import { z } from 'zod'
import { appRef, clearable, email, list, name, pool, queryFlag, roleCode } from '../../lib/fields.ts'

const importedHash = z
  .string()
  .regex(/^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash ($2a, $2b or $2y) of cost 4 to 14')

/** One line of an import. */
export const importLine = z
  .strictObject({
    email,
    password_hash: clearable(importedHash).meta({
      description: 'bcrypt ($2a, $2b, $2y) of cost 4 to 14. Without one, the user sets a password by a reset',
    }),
    first_name: clearable(name),
    last_name: clearable(name),
    namespace: pool.optional().meta({ description: 'Home pool. Default: `default`' }),
    tags: list(pool).optional(),
    apps: list(appRef).optional().meta({ description: 'Apps to grant, by code or UUID' }),
    roles: list(roleCode).optional().meta({ description: 'Global roles besides `base_user`' }),
    email_verified: z.boolean().optional(),
  })
  .meta({ id: 'ImportedUser' })
export type ImportedUser = z.output<typeof importLine>

export const importUsersQuery = z.strictObject({
  dry_run: queryFlag.optional().meta({ description: 'Give the same answer without writing anything' }),
  claim_unverified: queryFlag
    .optional()
    .meta({ description: 'Claim unproven accounts: remove what they were registered with and apply the line as for a new user' }),
})

export const importAnswer = z
  .object({
    imported: z.int().meta({ description: 'Users created' }),
    updated: z.int().meta({ description: 'Lines that added tags, apps or roles to an existing user, or claimed one' }),
    unchanged: z.int().meta({ description: 'Lines that had nothing to add' }),
    failed: z.int(),
    errors: z
      .array(z.object({ line: z.int().meta({ description: 'Counted from 1' }), code: z.string(), message: z.string() }))
      .meta({ description: 'The first 10,000 failed lines' }),
  })
  .meta({ id: 'UserImport' })
export type ImportAnswer = z.output<typeof importAnswer>
