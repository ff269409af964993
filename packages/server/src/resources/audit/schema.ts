import { z } from 'zod'
import { isAuditEvent, nearestAuditEvent } from '../../lib/audit-events.ts'
import { appRef, email, id, MAX_NAME, moment, page, pageQuery, timestamp } from '../../lib/fields.ts'

const auditEvent = z.string().superRefine((name, context) => {
  if (isAuditEvent(name)) return
  context.addIssue({ code: 'custom', message: `is no kind of event; the nearest is ${nearestAuditEvent(name)}` })
})

export const auditParams = z.object({ id })

export const listAuditQuery = z.strictObject({
  ...pageQuery,
  event: auditEvent.optional().meta({ description: 'The kind of event, whole: `login.failed`' }),
  user_id: id.optional().meta({ description: 'Whom the event is about' }),
  app_id: appRef.optional().meta({ description: 'UUID or code of an app; one that was deleted is found by its UUID alone' }),
  email: email.optional().meta({ description: 'Events about the users with this e-mail, and refused logins with it' }),
  ip: z.string().min(1).max(MAX_NAME).optional().meta({ description: 'The address that a request came from, as events show it' }),
  actor_id: id.optional().meta({ description: 'The user or service account that did it' }),
  since: moment.optional().meta({ description: 'Events at this moment or later; ISO 8601' }),
  until: moment.optional().meta({ description: 'Events before this moment; ISO 8601' }),
})
export type ListAuditRequest = z.output<typeof listAuditQuery>

export const auditRecord = z
  .object({
    id,
    event: z.string().meta({ description: 'The kind of event, such as `login.success` or `grant.revoked`' }),
    at: timestamp,
    reason: z.string().nullable().meta({ description: 'Why something failed; the caller may have been told less' }),
    audit_reason: z.string().nullable().meta({ description: 'What its caller said, in `X-Audit-Reason`' }),
    actor: z
      .object({
        type: z
          .enum(['user', 'service_account', 'system', 'anonymous'])
          .meta({ description: '`system`: the service itself or its command line; `anonymous`: a caller without a bearer' }),
        id: id.nullable().meta({ description: 'Null for `system` and `anonymous`' }),
      })
      .meta({ description: 'Who did it' }),
    user_id: id.nullable().meta({ description: 'Whom it is about' }),
    app_id: id.nullable(),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable().meta({ description: '`X-Request-Id` of the request' }),
    count: z.int().meta({
      description:
        'How often it happened: more than once for refused logins that are counted in one event. The event is the first of them',
    }),
    details: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'What belongs to this kind of event, such as `before` and `after` of a change. Never a secret' }),
    names: z
      .object({
        actor: z.string().nullable().meta({ description: 'The user, or the name of the service account' }),
        user: z.string().nullable(),
        app: z.string().nullable().meta({ description: 'Code of the app' }),
      })
      .meta({ description: 'What the ids stand for now, users as `email@@pool`. Null for what is gone' }),
  })
  .meta({ id: 'AuditEvent' })

export const auditPage = page(auditRecord)
