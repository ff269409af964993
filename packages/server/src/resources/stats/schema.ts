import { z } from 'zod'
import { id, moment, timestamp } from '../../lib/fields.ts'

export const statsQuery = z.strictObject({
  since: moment.optional().meta({
    description: 'Logins are counted from this moment on, at most 7 days ago; an hour ago unless given. ISO 8601',
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
    at: timestamp.meta({ description: 'Now, by the clock of this server' }),
    logins: z.object({
      since: timestamp.meta({ description: 'As asked for' }),
      counted_since: timestamp.meta({
        description:
          'From here on all logins are counted, and with them the failing addresses and e-mails. Later than `since` where more ' +
          'than 2,000 logins have succeeded, or failed, since then',
      }),
      outcomes: z
        .array(z.object({ outcome: z.string(), count: z.int() }))
        .meta({ description: '`success`, and the reasons of `login.failed` in the audit. The most frequent come first' }),
      steps: z
        .array(z.object({ at: timestamp, succeeded: z.int(), failed: z.int() }))
        .meta({ description: 'The same by time: equal parts from `counted_since` on, at most 60, oldest first' }),
    }),
    failing_addresses: z
      .array(z.object({ ip: z.string(), ...failures }))
      .meta({ description: 'The 20 addresses that most of the refused logins came from' }),
    failing_emails: z
      .array(
        z.object({
          email: z.string().nullable().meta({ description: 'Null where its user has been deleted' }),
          user_id: id.nullable().meta({ description: 'Null where no user of the app has it' }),
          pool: z.string().nullable(),
          ...failures,
        }),
      )
      .meta({ description: 'The 20 users and e-mails that most of the refused logins were for' }),
    locked: z.object({
      count: z.int().meta({ description: 'Of the 5,000 counters that failed last, those that lock now' }),
      items: z.array(locked).meta({ description: 'The 20 newest of them, as `GET /admin/lockouts` has them' }),
    }),
    outbox: z
      .array(
        z.object({
          kind: z.enum(['webhook', 'mail']),
          pending: z.int().meta({ description: 'Still to be sent, counted to 10,000' }),
          oldest_due_seconds: z.int().meta({ description: 'How long the oldest that is due has waited' }),
        }),
      )
      .meta({ description: 'What waits to be sent' }),
    failed_webhooks: z
      .array(z.object({ app_code: z.string(), webhook: z.string(), failed: z.int(), last_failed_at: timestamp }))
      .meta({
        description:
          'The 20 webhooks with the most deliveries that were given up, of those that were first sent since then. Counted to 1,000 in all; ' +
          'samples and those about erased users are left out',
      }),
    consumers: z
      .object({
        app_count: z.int().meta({ description: 'Apps whose consumers were seen' }),
        behind_count: z.int(),
        behind: z
          .array(
            z.object({
              app_code: z.string(),
              current_last_seen_at: timestamp.nullable().meta({
                description: 'When a consumer was last seen that accepts the current secret; null for never',
              }),
              behind_last_seen_at: timestamp.meta({ description: 'When one was last seen that does not' }),
            }),
          )
          .meta({ description: 'At most 200' }),
      })
      .meta({ description: 'Apps some of whose consumers do not accept the current signing secret' }),
  })
  .meta({ id: 'Stats' })
