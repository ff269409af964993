import { z } from 'zod'
import { id, timestamp } from '../../lib/fields.ts'

const kid = z.string().meta({ description: 'The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret' })

const signing = z.enum(['shared', 'own']).meta({
  description: 'Which secret signs its tokens: the one that apps share, or one of the app alone',
})

const seenSecret = z.object({
  app_code: z.string(),
  signing,
  kid: kid.nullable().meta({ description: 'A secret that consumers of this app accept; null for those that do not say' }),
  is_ours: z.boolean().meta({ description: 'Whether this server accepts it for the app' }),
  last_seen_at: timestamp.meta({ description: 'When a consumer was last seen that accepts it; exact to a minute or so' }),
  last_missing_at: timestamp.nullable().meta({
    description: 'When a consumer of this app was last seen that does not accept it; null for never',
  }),
})

const serviceId = id.meta({ description: 'Of this service: one per database' })

export const secretsRecord = z
  .object({
    service_id: serviceId,
    current: z.object({ kid }).meta({ description: 'Signs' }),
    previous: z.object({ kid }).nullable().meta({ description: 'Accepted besides' }),
    signing_since: timestamp.meta({
      description: 'When this server started: it takes another secret only by a restart. Other servers have their own',
    }),
    access_token_seconds: z.int().meta({ description: 'How long an access token lives' }),
    consumers: z.array(seenSecret),
  })
  .meta({ id: 'Secrets' })

/** The answer to a consumer that asks about itself. */
export const consumerRecord = z
  .object({
    service_id: serviceId,
    app: z.object({
      id,
      code: z.string(),
      status: z.enum(['active', 'inactive']),
      permission_scope: z.enum(['services', 'roles']),
      signing,
    }),
    kids: z.array(kid).meta({ description: 'The secrets that this server accepts for the app; the first one signs' }),
    time: timestamp.meta({ description: 'By the clock of this server' }),
  })
  .meta({ id: 'Consumer' })
