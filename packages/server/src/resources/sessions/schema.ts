import { z } from 'zod'
import { id } from '../../lib/fields.ts'
import { organizationRef, userRecord } from '../users/schema.ts'

export const appRefRecord = z.object({ id, code: z.string() })

/** The members that carry tokens. */
export const tokenMembers = {
  token_type: z.literal('Bearer'),
  access_token: z.string(),
  expires_in: z.int().meta({ description: 'Seconds until the access token expires' }),
  refresh_token: z.string(),
  refresh_expires_in: z.int().meta({ description: 'Seconds until the refresh token expires when it is not used' }),
}

/** The answer of every door to a token (decisions 5). */
export const tokenAnswer = z
  .object({ ...tokenMembers, user: userRecord, app: appRefRecord.nullable(), organization: organizationRef.nullable() })
  .meta({ id: 'Tokens' })
