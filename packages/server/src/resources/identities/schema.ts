import { z } from 'zod'
import { id, page, pageQuery } from '../../lib/fields.ts'
import { identityRecord } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'

export const userIdentityParams = z.object({ userId: id, identityId: id })
export const listIdentitiesQuery = z.strictObject(pageQuery)

export const identityPage = page(identityRecord)
