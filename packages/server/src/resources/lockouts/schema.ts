import { z } from 'zod'
import { page, pageByNameQuery, text, timestamp } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

export const listLockoutsQuery = z.strictObject(pageByNameQuery)

export const lockoutParams = z.object({ key: text.min(1) })

export const lockoutRecord = z
  .object({
    key: z.string().meta({ description: 'The key under which the failures are counted' }),
    email: z.string().nullable().meta({ description: 'Null if no user has the address' }),
    pool: z.string().nullable().meta({ description: 'Null for a known device and for a second factor' }),
    locked_until: timestamp.nullable().meta({ description: 'Null if the failures have not led to a lock' }),
    failures: z.int(),
  })
  .meta({ id: 'Lockout' })

export const lockoutPage = page(lockoutRecord)
