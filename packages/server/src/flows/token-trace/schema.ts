import { z } from 'zod'
import { id, timestamp } from '../../lib/fields.ts'
import { appRefRecord, organizationRecord, userRecord } from '../../lib/records.ts'

const MAX_TOKEN = 16_384

export const traceTokenBody = z
  .strictObject({
    token: z.string().trim().min(1).max(MAX_TOKEN).meta({ format: 'password', description: 'The token that was found' }),
  })
  .meta({ id: 'TraceToken' })

const tracedSession = z.object({
  id,
  alive: z.boolean().meta({ description: 'Whether it goes on. A spent refresh token may belong to a session that does' }),
  app: appRefRecord.nullable(),
  organization: organizationRecord.nullable().meta({ description: 'Null without one, and where the user is no member any more' }),
  auth_method: z.string(),
  ip: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: timestamp,
  last_used_at: timestamp,
  expires_at: timestamp,
})

const tracedAccount = z.object({
  id,
  name: z.string(),
  service: z.string(),
  scopes: z.array(z.string()),
  app_codes: z.array(z.string()),
  last_used_at: timestamp.nullable(),
})

export const tokenTrace = z
  .object({
    kind: z.enum(['access', 'refresh', 'machine', 'service_account', 'unknown']).meta({
      description: '`machine`: an access token of a service account for one app',
    }),
    state: z.enum(['live', 'expired', 'ended', 'spent', 'forged', 'unknown']).meta({
      description:
        '`live`: it opens doors now. `ended`: its session, account or right has ended. `spent`: a refresh token that was used. ' +
        '`forged`: signed with the secret of this service, which never gave it out. `unknown`: nothing of this service',
    }),
    expires_at: timestamp.nullable(),
    user: userRecord.nullable().meta({ description: 'Whose it is' }),
    session: tracedSession.nullable(),
    service_account: tracedAccount.nullable(),
    roles: z.array(z.string()).meta({ description: 'What a live token of a session carries now' }),
    permissions: z.array(z.string()),
    administers: z.boolean().meta({ description: 'Whether the admin API takes it now' }),
  })
  .meta({ id: 'TokenTrace' })
export type TokenTrace = z.output<typeof tokenTrace>
