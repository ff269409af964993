import { z } from 'zod'
import { timestamp } from '../../lib/fields.ts'

export const signingKeyRecord = z
  .object({
    kid: z.string(),
    stage: z.enum(['next', 'current', 'retired']).meta({
      description:
        'The current key signs. The next one is published already. A retired one is still accepted by clients for an hour',
    }),
    since: timestamp.meta({ description: 'When the key entered this stage' }),
    created_at: timestamp,
  })
  .meta({ id: 'IdTokenKey', description: 'A key of ID tokens. The key itself is never shown' })

export const signingKeyList = z
  .object({ items: z.array(signingKeyRecord), next_cursor: z.null() })
  .meta({ id: 'IdTokenKeys', description: 'All keys, on one page' })

export const rotateBody = z
  .strictObject({
    current_kid: z.string().max(200).optional().meta({ description: 'Rotates only if this key signs now' }),
    compromised: z.boolean().default(false).meta({
      description:
        'Replaces all keys at once: ID tokens and hints that they signed are refused. For keys that somebody else may have',
    }),
  })
  .meta({ id: 'RotateIdTokenKeys' })
