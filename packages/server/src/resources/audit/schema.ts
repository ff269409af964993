import { z } from 'zod'
import { appRef, id, MAX_NAME, moment, page, pageQuery, timestamp } from '../../lib/fields.ts'

export const listAuditQuery = z.strictObject({
  ...pageQuery,
  event: z.string().max(MAX_NAME).optional().meta({ description: 'The kind of event, whole: `login.failed`' }),
  user_id: id.optional().meta({ description: 'Whom the event is about' }),
  app_id: appRef.optional().meta({ description: 'UUID or code of an app; one that was deleted is found by its UUID alone' }),
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
    details: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'What belongs to this kind of event, such as `before` and `after` of a change. Never a secret' }),
  })
  .meta({ id: 'AuditEvent' })

export const auditPage = page(auditRecord)
