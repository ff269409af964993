import type { components } from '@gatehouse/sdk/admin'
import type { Api } from '../api/api-client.ts'
import { parseMoment } from '../command-line/duration.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { type Input, type Options, text } from '../command-line/options.ts'
import type { Column } from '../output/cells.ts'
import { parseAppRef } from './app-ref.ts'
import { auditEventNames } from './audit-event-names.ts'
import { findUserId, shownUser, userRefSyntax } from './user-ref.ts'

export type AuditEvent = components['schemas']['AuditEvent']

/** What `audit list` and `audit tail` have in common. */
export const auditFilters = {
  event: text('EVENT', 'Only this kind, such as login.failed or grant.revoked', { completes: auditEventNames }),
  user: text('USER', `Only events about this user: ${userRefSyntax}`),
  app: text('CODE', 'Only events of this app, by code or id', { completes: 'apps' }),
  email: text('E-MAIL', 'Only events about its users, and refused logins with it'),
  ip: text('ADDRESS', 'Only what came from this address'),
  since: text('TIME', 'Only events from then on: 1h, 7d, 2026-12-31 or 2026-12-31T18:00:00Z'),
} satisfies Options

export interface AuditQuery {
  event?: string
  user_id?: string
  app_id?: string
  email?: string
  ip?: string
  since?: string
}

/** The filters as the service takes them. */
export async function auditQuery(api: Api, input: Input<typeof auditFilters>, now: number): Promise<AuditQuery> {
  const since = input.since === undefined ? undefined : parseMoment(input.since, now, 'ago')
  if (input.since !== undefined && since === undefined) {
    throw new Failure('invalid', `--since ${input.since} is no time`, {
      code: 'invalid_time',
      hint: 'such as 1h, 7d, 2026-12-31 or 2026-12-31T18:00:00Z',
    })
  }
  return {
    ...(input.event === undefined ? {} : { event: input.event }),
    ...(input.user === undefined ? {} : { user_id: await findUserId(api, input.user) }),
    ...(input.app === undefined ? {} : { app_id: parseAppRef(input.app) }),
    ...(input.email === undefined ? {} : { email: input.email }),
    ...(input.ip === undefined ? {} : { ip: input.ip }),
    ...(since === undefined ? {} : { since }),
  }
}

export const auditColumns: Column<AuditEvent>[] = [
  'at',
  'event',
  // An older service gives no names.
  ['user', ({ user_id, names }) => (names?.user ? shownUser(names.user) : user_id)],
  ['actor', ({ actor, names }) => (names?.actor ? shownUser(names.actor) : (actor.id ?? actor.type))],
  ['app', ({ app_id, names }) => names?.app ?? app_id],
  'reason',
  'ip',
  ['why', (event) => event.audit_reason],
  ['count', (event) => event.count, 'wide'],
  ['user_id', (event) => event.user_id, 'wide'],
  ['app_id', (event) => event.app_id, 'wide'],
  ['actor_id', (event) => event.actor.id, 'wide'],
  ['request_id', (event) => event.request_id, 'wide'],
  ['user_agent', (event) => event.user_agent, 'wide'],
  'id',
]
