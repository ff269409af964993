import { z } from 'zod'
import { id, page, timestamp } from '../../lib/fields.ts'
import { appRefRecord } from '../../lib/records.ts'

/** A login that is alive: of an app, or of a person at the pages of this service in one browser. */
export const sessionRecord = z
  .object({
    id,
    kind: z.enum(['app', 'browser']).meta({
      description: '`browser`: the person is signed in at the pages of this service, and enters apps from there',
    }),
    app: appRefRecord.nullable(),
    auth_method: z.string(),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    created_at: timestamp,
    last_used_at: timestamp,
    expires_at: timestamp.meta({ description: 'When the session ends, however often it is refreshed' }),
    current: z.boolean().meta({ description: 'Whether this request belongs to the session' }),
  })
  .meta({ id: 'Session' })

export const sessionPage = page(sessionRecord)
