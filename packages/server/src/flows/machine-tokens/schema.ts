import { z } from 'zod'
import { stableCode } from '../../lib/fields.ts'

/** RFC 6749 allows further parameters. */
export const machineTokenBody = z
  .object({
    grant_type: z.literal('client_credentials'),
    app_code: stableCode.meta({ description: 'The app that the token is for' }),
    client_id: z.string().optional().meta({ description: 'Not needed' }),
    client_secret: z.string().optional().meta({
      format: 'password',
      description: 'The token of a service account, in place of an `Authorization` header (`client_secret_post`)',
    }),
  })
  .meta({ id: 'MachineTokenRequest' })

export const machineToken = z
  .object({
    token_type: z.literal('Bearer'),
    access_token: z.string(),
    expires_in: z.int().meta({ description: 'Seconds' }),
  })
  .meta({ id: 'MachineToken' })
