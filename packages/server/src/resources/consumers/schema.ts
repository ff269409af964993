import { z } from 'zod'
import { id, timestamp } from '../../lib/fields.ts'

const kid = z.string().meta({ description: 'The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret' })

const signing = z.enum(['shared', 'own']).meta({
  description: "Which secret signs its tokens: the shared one, or the app's own",
})

const seenSecret = z.object({
  app_code: z.string(),
  signing,
  kid: kid
    .nullable()
    .meta({ description: 'A secret that consumers of this app accept. Null for consumers that do not report one' }),
  is_ours: z.boolean().meta({ description: 'Whether this server accepts it for the app' }),
  last_seen_at: timestamp.meta({ description: 'When a consumer that accepts it was last seen, to within about a minute' }),
  last_missing_at: timestamp.nullable().meta({
    description: 'When a consumer of this app that does not accept it was last seen. Null if never',
  }),
})

const serviceId = id.meta({ description: 'Id of this service. Each database has one' })

export const secretsRecord = z
  .object({
    service_id: serviceId,
    current: z.object({ kid }).meta({ description: 'Signs' }),
    previous: z.object({ kid }).nullable().meta({ description: 'Accepted as well' }),
    signing_since: timestamp.meta({
      description: 'When this server started, since it only takes another secret at a restart. Other servers have their own time',
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
    time: timestamp.meta({ description: 'Time on the clock of this server' }),
  })
  .meta({ id: 'Consumer' })
