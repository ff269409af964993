import { z } from 'zod'
import { id, page, pageQuery, timestamp } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

export const trustedBrowserParams = z.object({ browserId: id })
export const userTrustedBrowserParams = z.object({ userId: id, browserId: id })
export const listTrustedBrowsersQuery = z.strictObject(pageQuery)

export const trustedBrowserRecord = z
  .object({
    id,
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    proven_at: timestamp.meta({ description: 'When the second factor was shown there. The days of each app count from here' }),
    expires_at: timestamp.meta({ description: 'When no app can trust it any more' }),
  })
  .meta({ id: 'TrustedBrowser' })

export const trustedBrowserPage = page(trustedBrowserRecord)
