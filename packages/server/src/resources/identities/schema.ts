import { z } from 'zod'
import { id, page, pageQuery, timestamp } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

export const userIdentityParams = z.object({ userId: id, identityId: id })
export const listIdentitiesQuery = z.strictObject(pageQuery)

/** A login at a provider that a user may come in with. */
export const identityRecord = z
  .object({ id, provider: z.string().meta({ description: 'Code of the provider' }), created_at: timestamp })
  .meta({ id: 'Identity' })

export const identityPage = page(identityRecord)
