import type { components } from '@gatehouse/sdk/admin'
import type { Api } from '../api/api-client.ts'
import { parsePast } from '../command-line/duration.ts'
import { usageFailure } from '../command-line/exit-codes.ts'
import { type Input, type Options, text, texts } from '../command-line/options.ts'
import type { Column } from '../output/cells.ts'
import { parseAppRef } from './app-ref.ts'
import { auditEventNames } from './audit-event-names.ts'
import { findUserId, shownUser, userRefSyntax } from './user-ref.ts'

export type AuditEvent = components['schemas']['AuditEvent']

/** The options that `audit list` and `audit tail` share. */
export const auditFilters = {
  event: texts('EVENT', "Only these events, such as login.failed, or 'grant.*' for all that begin with grant.", {
    completes: auditEventNames,
  }),
  user: text('USER', `Only events about this user: ${userRefSyntax}`),
  actor: text('USER', `Only actions of this user, or of the service account with this id: ${userRefSyntax}`),
  app: text('CODE', 'Only events of this app, by code or id', { completes: 'apps' }),
  email: text('E-MAIL', 'Only events about users with this e-mail, and refused logins with it'),
  ip: text('ADDRESS', 'Only events from this IP address'),
  requestId: text('ID', 'Only events of the request with this X-Request-Id; add --since, which its log line tells'),
  since: text('TIME', 'Only events since then: 1h, 7d, 2026-12-31 or 2026-12-31T18:00:00Z'),
} satisfies Options

/** Only for `audit list`, since `audit tail` has no end. */
export const untilOption = text('TIME', 'Only events before then, in the same form')

export interface AuditQuery {
  event?: string[]
  user_id?: string
  app_id?: string
  email?: string
  ip?: string
  request_id?: string
  actor_id?: string
  since?: string
  until?: string
}

/** Turns the options into query parameters of the service. */
export async function auditQuery(
  api: Api,
  input: Input<typeof auditFilters> & { until?: string | undefined },
  now: number,
): Promise<AuditQuery> {
  if (input.event?.length === 0) throw usageFailure('--event must not be empty')
  const since = parsePast('--since', input.since, now)
  const until = parsePast('--until', input.until, now)
  return {
    ...(input.event === undefined ? {} : { event: input.event }),
    ...(input.user === undefined ? {} : { user_id: await findUserId(api, input.user) }),
    ...(input.app === undefined ? {} : { app_id: parseAppRef(input.app) }),
    ...(input.email === undefined ? {} : { email: input.email }),
    ...(input.ip === undefined ? {} : { ip: input.ip }),
    ...(input.requestId === undefined ? {} : { request_id: input.requestId }),
    ...(input.actor === undefined ? {} : { actor_id: await findUserId(api, input.actor) }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  }
}

export const auditColumns: Column<AuditEvent>[] = [
  'at',
  'event',
  // An older service gives no names.
  ['user', ({ user_id, names }) => (names?.user ? shownUser(names.user) : user_id)],
  ['actor', shownActor],
  ['app', ({ app_id, names }) => names?.app ?? app_id],
  'reason',
  // More than 1 if refusals within a minute were recorded as one event.
  'count',
  'ip',
  ['why', (event) => event.audit_reason],
  ['user_id', (event) => event.user_id, 'wide'],
  ['app_id', (event) => event.app_id, 'wide'],
  ['actor_id', (event) => event.actor.id, 'wide'],
  ['request_id', (event) => event.request_id, 'wide'],
  ['user_agent', (event) => event.user_agent, 'wide'],
  'id',
]

/** The name of the actor, or the id if the actor has no name any more. */
export function shownActor({ actor, names }: AuditEvent): string {
  if (names?.actor) return actor.type === 'user' ? shownUser(names.actor) : names.actor
  return actor.id ?? actor.type
}
