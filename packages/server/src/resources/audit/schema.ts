import { z } from 'zod'
import { type AuditEventName, auditEventsNamed, nearestAuditEvent } from '../../lib/audit-events.ts'
import { appRef, email, id, MAX_NAME, moment, page, pageQuery, readAs, requestId, timestamp } from '../../lib/fields.ts'

/** The kinds that one name, or several, or `user.*` and the like stand for. */
const eventKinds = z.union([z.string(), z.array(z.string())]).transform((given, context) => {
  const kinds = new Set<AuditEventName>()
  for (const name of [given].flat()) {
    const named = auditEventsNamed(name)
    if (named.length === 0) {
      context.addIssue({ code: 'custom', message: `unknown event; the nearest is ${nearestAuditEvent(name)}` })
      return z.NEVER
    }
    for (const kind of named) kinds.add(kind)
  }
  return [...kinds]
})

export const listAuditQuery = z.strictObject({
  ...pageQuery,
  event: eventKinds.optional().meta({
    description:
      'The full name of an event, such as `login.failed`, or `user.*` for all events whose names begin with `user.`. Repeat the ' +
      'parameter for several. All but `login.success` or `login.failed` alone are looked for like an `ip`',
    override: readAs({ type: 'array', items: { type: 'string' } }),
  }),
  user_id: id.optional().meta({ description: 'The user that the event is about' }),
  app_id: appRef.optional().meta({ description: 'UUID or code of an app. A deleted app is only found by its UUID. See `ip`' }),
  email: email.optional().meta({ description: 'Events about the users with this e-mail, and refused logins with it' }),
  ip: z
    .string()
    .min(1)
    .max(MAX_NAME)
    .optional()
    .meta({
      description:
        'The IP address that a request came from, in the form that events show. No index knows it: without `user_id`, `actor_id` or ' +
        '`email`, a page looks through 10,000 events and may have fewer items than `limit`, or none, while `next_cursor` leads on',
    }),
  request_id: requestId.optional().meta({
    description:
      '`X-Request-Id` of the request. It is looked for like an `ip`, so add `since` and `until`: the log line of a request has its time. A ' +
      'refusal that was counted in an earlier event is found by the id of the first request only',
  }),
  actor_id: id.optional().meta({ description: 'The user or service account that did it' }),
  since: moment.optional().meta({ description: 'Events at or after this time; ISO 8601' }),
  until: moment.optional().meta({ description: 'Events before this time; ISO 8601' }),
})
export type ListAuditRequest = z.output<typeof listAuditQuery>

export const auditRecord = z
  .object({
    id,
    event: z.string().meta({ description: 'The kind of event, such as `login.success` or `grant.revoked`' }),
    at: timestamp,
    reason: z.string().nullable().meta({ description: 'Why something failed. The caller may have got a less specific answer' }),
    audit_reason: z.string().nullable().meta({ description: 'The reason that the caller gave in `X-Audit-Reason`' }),
    actor: z
      .object({
        type: z
          .enum(['user', 'service_account', 'system', 'anonymous'])
          .meta({ description: '`system`: the service itself or its command line; `anonymous`: a caller without a bearer' }),
        id: id.nullable().meta({ description: 'Null for `system` and `anonymous`' }),
      })
      .meta({ description: 'Who did it' }),
    user_id: id.nullable().meta({ description: 'The user it is about' }),
    app_id: id.nullable(),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable().meta({ description: '`X-Request-Id` of the request' }),
    count: z.int().meta({
      description:
        'How often it happened. More than once for refused logins that are counted in one event, which then describes the first ' +
        'of them',
    }),
    details: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'Details of this kind of event, such as `before` and `after` of a change. Never a secret' }),
    names: z
      .object({
        actor: z.string().nullable().meta({ description: 'The user, or the name of the service account' }),
        user: z.string().nullable(),
        app: z.string().nullable().meta({ description: 'Code of the app' }),
      })
      .meta({ description: 'Current names of the ids; users as `email@@pool`. Null for what no longer exists' }),
  })
  .meta({ id: 'AuditEvent' })

/** An end of the chain, in the form in which the service logs it. */
const headText = z
  .string()
  .regex(/^\d{1,15}:[\w.-]{1,100}$/, 'must be POSITION:SEAL')
  .transform((text) => {
    const [position = '', seal = ''] = text.split(':')
    return { position: Number(position), seal }
  })

const uuid = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const verifyCursor = new RegExp(`^((sealed|batch|batches)\\.\\d{1,15}|unsealed\\.(-?\\d{1,15}\\.${uuid})?|former\\.(${uuid})?)$`)

export const verifyAuditQuery = z.strictObject({
  cursor: z
    .string()
    .regex(verifyCursor, 'must be a cursor of this list')
    .optional()
    .meta({
      description:
        '`next_cursor` of the previous page. Or `batch.N` to begin after the batch N, whose position and seal you have noted: ' +
        'pass them as `head`',
    }),
  head: headText.optional().meta({
    description:
      'An end of the chain from the log of the service, as POSITION:SEAL. With it, events that were cut off the end are ' +
      'detected too',
  }),
})
export type VerifyAuditRequest = z.output<typeof verifyAuditQuery>

const faultKinds = ['changed', 'removed', 'inserted', 'unknown_key'] as const
const faultSubjects = ['event', 'batch', 'head', 'checkpoint'] as const

export const auditVerification = z
  .object({
    checked: z.int().meta({ description: 'Events of this page that were compared with their proofs' }),
    adopted: z
      .int()
      .meta({ description: 'Of these, events from before proofs existed. They have not changed since they were adopted' }),
    unsealed: z.int().meta({ description: 'Of these, events that are not sealed yet' }),
    fault: z
      .object({
        kind: z.enum(faultKinds).meta({
          description:
            '`changed`: not what the service wrote; `removed`: missing; `inserted`: not written by the service; `unknown_key`: ' +
            'proven with a key that is no longer configured',
        }),
        subject: z
          .enum(faultSubjects)
          .meta({ description: 'An event, the record of a batch, or that of the end or the beginning of all' }),
        position: z.int().nullable().meta({ description: 'The place among the sealed events' }),
        batch: z.int().nullable().meta({ description: 'The number of the batch' }),
        event_id: z.string().nullable().meta({ description: 'Null for what is missing' }),
        event: z.string().nullable(),
        at: timestamp.nullable(),
      })
      .nullable()
      .meta({ description: 'The first fault. Nothing after it is compared' }),
    head: z
      .object({
        position: z.int(),
        seal: z.string(),
        batch: z.int().meta({ description: 'The number of the last batch. 0 before the first' }),
        sealed_at: timestamp,
        began_at: timestamp,
      })
      .nullable()
      .meta({ description: 'The end of the chain. Null until the first events are sealed' }),
    former: z
      .object({
        position: z.int().meta({ description: 'Its end' }),
        checked: z.int().meta({ description: 'Up to where it was compared. That begins with the upgrade, and may take minutes' }),
        closed: z.boolean().meta({ description: 'Whether all of it was compared, and nothing is added to it any more' }),
        faults: z.int().meta({ description: 'How many of its events were not what the service wrote' }),
        first_fault: z
          .object({
            kind: z.enum(faultKinds),
            subject: z.enum(faultSubjects),
            position: z.int().nullable(),
            event_id: z.string().nullable(),
          })
          .nullable(),
      })
      .nullable()
      .meta({
        description:
          'The chain that a version before batches has left, as it was found after the upgrade, before it was closed. Null if there is none',
      }),
    next_cursor: z.string().nullable().meta({ description: 'Null when everything was compared, or when a fault was found' }),
  })
  .meta({ id: 'AuditVerification' })

export const archiveAuditQuery = z.strictObject({
  before: moment.meta({ description: 'Batches that were sealed before this time; ISO 8601' }),
  cursor: z
    .string()
    .regex(/^batch\.\d{1,15}$/, 'must be a cursor of this list')
    .optional()
    .meta({ description: '`next_cursor` of the previous part' }),
})
export type ArchiveAuditRequest = z.output<typeof archiveAuditQuery>

export const auditArchivePart = z
  .object({
    lines: z.array(z.string()).meta({
      description:
        'JSON texts, to be written one a line as they are: for each batch one of it and one of each of its events, and then one with ' +
        'what was signed. See docs/operate/sealed-audit.md',
    }),
    key: z.string().meta({ description: 'The public key of the signature, Ed25519, in base64url' }),
    events: z.int().meta({ description: 'How many events these are' }),
    fault: auditVerification.shape.fault,
    next_cursor: z.string().nullable().meta({ description: 'Null after the last part, or when a fault was found' }),
  })
  .meta({ id: 'AuditArchivePart' })

export const auditPage = page(auditRecord)
