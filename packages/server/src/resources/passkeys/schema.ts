import { z } from 'zod'
import { id, page, pageQuery, timestamp } from '../../lib/fields.ts'

export { userParams } from '../../lib/fields.ts'

export const userPasskeyParams = z.object({ userId: id, passkeyId: id })
export const listPasskeysQuery = z.strictObject(pageQuery)

export const passkeyRecord = z
  .object({
    id,
    name: z.string().meta({ description: 'Chosen by the user' }),
    rp_id: z.string().meta({ description: 'The host that it belongs to: it works only while that is the host of `PUBLIC_URL`' }),
    backed_up: z.boolean().meta({ description: 'Whether it is synchronized, so that the loss of a device does not lose it' }),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Passkey' })

export const passkeyPage = page(passkeyRecord)
