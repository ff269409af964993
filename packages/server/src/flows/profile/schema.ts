import { z } from 'zod'
import { appRefRecord, organizationRecord, userRecord } from '../../lib/records.ts'

/** What a user is told about the own account (decisions 5). */
export const profile = z
  .object({
    user: userRecord,
    app: appRefRecord.nullable(),
    roles: z.array(z.string()),
    permissions: z.array(z.string()),
    organizations: z.array(organizationRecord),
    two_factor: z.boolean().meta({ description: 'Whether a second factor is active' }),
  })
  .meta({ id: 'Profile' })
export type Profile = z.output<typeof profile>
