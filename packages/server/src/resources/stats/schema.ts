import { z } from 'zod'
import { id, moment, timestamp } from '../../lib/fields.ts'

export const statsQuery = z.strictObject({
  since: moment.optional().meta({
    description: 'Count logins from this time on, at most 7 days ago. Default: an hour ago. ISO 8601',
  }),
})

const locked = z.object({
  key: z.string(),
  email: z.string().nullable(),
  pool: z.string().nullable(),
  locked_until: timestamp.nullable(),
  failures: z.int(),
})

const failures = { failures: z.int(), last_failed_at: timestamp }

export const statsRecord = z
  .object({
    at: timestamp.meta({ description: 'Time on the clock of this server' }),
    logins: z.object({
      since: timestamp.meta({ description: 'As requested' }),
      counted_since: timestamp.meta({
        description:
          'Time from which all logins, failing addresses and failing e-mails are counted. Later than `since` if more than 2,000 ' +
          'logins succeeded, or more than 2,000 failed, since then',
      }),
      outcomes: z
        .array(z.object({ outcome: z.string(), count: z.int() }))
        .meta({ description: '`success`, and the reasons of `login.failed` in the audit log, most frequent first' }),
      steps: z
        .array(z.object({ at: timestamp, succeeded: z.int(), failed: z.int() }))
        .meta({ description: 'The same over time: equal intervals from `counted_since` on, at most 60, oldest first' }),
    }),
    failing_addresses: z
      .array(z.object({ ip: z.string(), ...failures }))
      .meta({ description: 'The 20 addresses with the most refused logins' }),
    failing_emails: z
      .array(
        z.object({
          email: z.string().nullable().meta({ description: 'Null if its user was deleted' }),
          user_id: id.nullable().meta({ description: 'Null if no user of the app has it' }),
          pool: z.string().nullable(),
          ...failures,
        }),
      )
      .meta({ description: 'The 20 users and e-mails with the most refused logins' }),
    locked: z.object({
      count: z.int().meta({ description: 'Of the 5,000 counters that failed last, the number that lock now' }),
      items: z.array(locked).meta({ description: 'The 20 newest of them, as in `GET /admin/lockouts`' }),
    }),
    outbox: z
      .array(
        z.object({
          kind: z.enum(['webhook', 'mail']),
          pending: z.int().meta({ description: 'Waiting to be sent, counted up to 10,000' }),
          oldest_due_seconds: z.int().meta({ description: 'How long the oldest one that is due has waited' }),
        }),
      )
      .meta({ description: 'Messages that are waiting to be sent' }),
    failed_webhooks: z
      .array(z.object({ app_code: z.string(), webhook: z.string(), failed: z.int(), last_failed_at: timestamp }))
      .meta({
        description:
          'The 20 webhooks with the most failed deliveries, of those first sent since then. Counts up to 1,000 deliveries in all. ' +
          'Leaves out samples and deliveries about erased users',
      }),
    consumers: z
      .object({
        app_count: z.int().meta({ description: 'Number of apps whose consumers were seen' }),
        behind_count: z.int(),
        behind: z
          .array(
            z.object({
              app_code: z.string(),
              current_last_seen_at: timestamp.nullable().meta({
                description: 'When a consumer that accepts the current secret was last seen. Null if never',
              }),
              behind_last_seen_at: timestamp.meta({ description: 'When a consumer that does not accept it was last seen' }),
            }),
          )
          .meta({ description: 'At most 200' }),
      })
      .meta({ description: 'Apps with consumers that do not accept the current signing secret' }),
  })
  .meta({ id: 'Stats' })
