import { z } from 'zod'
import { appRefRecord } from '../../resources/sessions/schema.ts'
import { organizationRef, userRecord } from '../../resources/users/schema.ts'

/** What a user is told about the own account (decisions 5). */
export const profile = z
  .object({
    user: userRecord,
    app: appRefRecord.nullable(),
    roles: z.array(z.string()),
    permissions: z.array(z.string()),
    organizations: z.array(organizationRef),
    two_factor: z.boolean().meta({ description: 'Whether a second factor is active' }),
  })
  .meta({ id: 'Profile' })
export type Profile = z.output<typeof profile>
