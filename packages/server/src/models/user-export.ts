import type { Db } from '../db/handle.ts'
import { keysOf } from '../lib/collections.ts'
import { iso } from '../lib/timestamps.ts'

/** How a column is shown. */
type Kind = 'text' | 'number' | 'time' | 'flag' | 'json'

interface ExportedTable {
  /** The column that names the user, or the one that leads to another table that does. */
  of: string
  within?: 'organization_memberships'
  where?: Readonly<Record<string, string>>
  /** By which the newest rows are found. */
  newestBy: string
  columns: Readonly<Record<string, Kind>>
  /** Columns that are not in the export, each with the reason. */
  leftOut: Readonly<Record<string, string>>
}

const secret = 'a secret, or what a secret is compared with'
const counter = 'a counter by which tokens end'
const another = 'names another person'
const sending = 'how often the service tried to send it'
const sealing = 'proves that the audit was not changed'

/**
 * What a user is given of their data: every table that has rows of users, and every column of these. `user-export.test.ts` fails for a
 * column that stands neither here nor among those that are left out.
 */
export const exportedTables = {
  users: {
    of: 'id',
    newestBy: 'id',
    columns: {
      ...{
        email: 'text',
        first_name: 'text',
        last_name: 'text',
        locale: 'text',
        namespace: 'text',
        status: 'text',
        made_by: 'text',
      },
      ...{ email_verified_at: 'time', first_verified_at: 'time', link_verified_at: 'time', mailbox_proven_at: 'time' },
      ...{ new_sign_in_mailed_at: 'time', created_at: 'time', updated_at: 'time', deleted_at: 'time' },
    },
    leftOut: {
      password_hash: secret,
      token_version: counter,
      min_token_version: counter,
      min_access_version: counter,
      last_login_at: 'reserved, and always empty',
    },
  },
  user_namespaces: { of: 'user_id', newestBy: 'namespace', columns: { namespace: 'text', created_at: 'time' }, leftOut: {} },
  user_roles: { of: 'user_id', newestBy: 'role_code', columns: { role_code: 'text', created_at: 'time' }, leftOut: {} },
  user_apps: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', app_id: 'text', status: 'text', granted_via: 'text' },
      ...{ granted_at: 'time', expires_at: 'time', revoked_at: 'time' },
    },
    leftOut: {
      granted_by: another,
      reason: 'a note of an admin to other admins',
      min_token_version: counter,
      min_access_version: counter,
      told_expires_at: 'whether the app was told that the grant has ended',
    },
  },
  access_requests: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', app_id: 'text', status: 'text', message: 'text', reason: 'text' },
      ...{ created_at: 'time', decided_at: 'time' },
    },
    leftOut: { decided_by: another },
  },
  organization_memberships: {
    of: 'user_id',
    newestBy: 'id',
    columns: { id: 'text', organization_id: 'text', created_at: 'time' },
    leftOut: {},
  },
  membership_roles: {
    of: 'membership_id',
    within: 'organization_memberships',
    newestBy: 'role_code',
    columns: { membership_id: 'text', role_code: 'text' },
    leftOut: {},
  },
  invitations: {
    of: 'accepted_by',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', organization_id: 'text', app_id: 'text', email: 'text', role_codes: 'json', grants_app: 'flag' },
      ...{ created_at: 'time', expires_at: 'time', accepted_at: 'time' },
    },
    leftOut: { token_hash: secret, invited_by: another },
  },
  second_factors: {
    of: 'user_id',
    newestBy: 'user_id',
    columns: { created_at: 'time', activated_at: 'time' },
    leftOut: { totp_box: secret, last_step: 'the last code that was accepted' },
  },
  recovery_codes: { of: 'user_id', newestBy: 'code_hash', columns: { used_at: 'time' }, leftOut: { code_hash: secret } },
  passkeys: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', name: 'text', rp_id: 'text', transports: 'json', backup_eligible: 'flag', backed_up: 'flag' },
      ...{ created_at: 'time', last_used_at: 'time' },
    },
    leftOut: {
      credential_id: 'finds the passkey at a sign-in, and is of no use elsewhere',
      public_key: 'checks the passkey, and is of no use elsewhere',
      sign_count: 'finds copies of the passkey',
      user_handle: 'names the user to their devices alone',
    },
  },
  user_identities: {
    of: 'user_id',
    newestBy: 'id',
    columns: { id: 'text', provider_id: 'text', subject: 'text', created_at: 'time' },
    leftOut: {},
  },
  sessions: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', app_id: 'text', organization_id: 'text', browser_session_id: 'text', auth_method: 'text', amr: 'text' },
      ...{ second_factor: 'text', shown_at: 'time', scope: 'text' },
      ...{ ip: 'text', user_agent: 'text', created_at: 'time', last_used_at: 'time', first_proven_at: 'time', proven_at: 'time' },
      ...{ expires_at: 'time', ended_at: 'time', ended_reason: 'text' },
    },
    leftOut: { token_version: counter },
  },
  browser_sessions: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', first_factor: 'text', first_proven_at: 'time', second_factor: 'text', second_proven_at: 'time' },
      ...{
        second_activated_at: 'time',
        is_kept: 'flag',
        ip: 'text',
        user_agent: 'text',
        started_at: 'time',
        signed_in_at: 'time',
        last_seen_at: 'time',
      },
      ...{ expires_at: 'time', ended_at: 'time', ended_reason: 'text' },
    },
    leftOut: { hash: secret, version: counter },
  },
  trusted_browsers: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', ip: 'text', user_agent: 'text', factor_activated_at: 'time', proven_at: 'time', expires_at: 'time' },
    },
    leftOut: { hash: secret, version: counter },
  },
  lockouts: {
    of: 'user_id',
    newestBy: 'last_failed_at',
    columns: { failures: 'number', locks: 'number', last_failed_at: 'time', locked_until: 'time' },
    leftOut: { key: 'a digest of the address or the device' },
  },
  mail_tokens: {
    of: 'user_id',
    newestBy: 'created_at',
    columns: {
      ...{ purpose: 'text', email: 'text', account_email: 'text', new_email: 'text', app_id: 'text', redirect_url: 'text' },
      ...{ created_at: 'time', expires_at: 'time', spent_at: 'time' },
    },
    leftOut: {
      token_hash: secret,
      code_key_hash: secret,
      browser_hash: secret,
      request_field: secret,
      mailbox_proven_at: 'what an undone change restores: it was in users',
    },
  },
  outbox: {
    of: 'user_id',
    // Webhooks tell apps what is in users, and their URLs can be secrets.
    where: { kind: 'mail' },
    newestBy: 'id',
    columns: {
      id: 'text',
      name: 'text',
      app_id: 'text',
      destination: 'text',
      status: 'text',
      created_at: 'time',
      finished_at: 'time',
    },
    leftOut: {
      kind: 'always a mail',
      payload: 'what the mail is written from, with sealed tokens',
      priority: sending,
      attempts: sending,
      next_attempt_at: sending,
      last_status: sending,
      last_error: sending,
      request_id: sending,
      queued_at: sending,
      unsent: sending,
    },
  },
  audit_events: {
    of: 'user_id',
    newestBy: 'id',
    columns: {
      ...{ id: 'text', event: 'text', reason: 'text', actor_type: 'text', app_id: 'text', ip: 'text', user_agent: 'text' },
      ...{ request_id: 'text', count: 'number', at: 'time' },
    },
    leftOut: {
      actor_id: another,
      audit_reason: 'a note of an admin to other admins',
      details: 'written for admins, and may name other people',
      email: 'only of events that are about no user',
      counted_by: 'how equal events are counted',
      salt: sealing,
      personal_digest: sealing,
      mac: sealing,
      seal_position: sealing,
      seal: sealing,
      xid: sealing,
      erased_by: sealing,
      erased_mac: sealing,
    },
  },
} as const satisfies Record<string, ExportedTable>

/** Tables with rows of users that are not in the export, each with the reason. */
export const tablesLeftOut: Readonly<Record<string, string>> = {
  refresh_tokens: 'the secrets of sessions, whose times are there',
  authorization_codes: 'kept for a day; the session that a code has opened is among sessions',
  device_codes: 'kept for a day; the session that a device has opened is among sessions',
  revocations: 'kept for an hour, for apps; what has ended is among sessions',
  user_changes: 'kept for 30 days, for apps; the changes are among the audit events',
}

type ExportedRow = Record<string, unknown>
type TableName = keyof typeof exportedTables

/** The newest rows of a user in one of the tables, as an export shows them. At most `limit`. */
async function listRows(db: Db, name: TableName, { userId, limit }: { userId: string; limit: number }): Promise<ExportedRow[]> {
  const { of, within, where = {}, newestBy, columns }: ExportedTable = exportedTables[name]
  const owned = within ? db(within).where({ user_id: userId }).select('id') : undefined
  const isAudit = name === 'audit_events'
  const rows: ExportedRow[] = await db(name)
    .where(where)
    .modify((query) => (owned ? query.whereIn(of, owned) : query.where(of, userId)))
    .orderBy(newestBy, 'desc')
    .limit(limit)
    .select([...Object.keys(columns), ...(isAudit ? ['actor_id'] : [])])
  return rows.map((row) => {
    // Where an admin was is not the user's.
    const isOthers = isAudit && row.actor_id !== null && row.actor_id !== userId
    const shown = Object.entries(columns).map(([column, kind]) => [column, shownValue(row[column], kind)])
    return { ...Object.fromEntries(shown), ...(isOthers && { ip: null, user_agent: null }) }
  })
}

function shownValue(stored: unknown, kind: Kind): unknown {
  if (stored === null || stored === undefined) return null
  if (kind === 'time') return Number(stored) === 0 ? null : iso(Number(stored))
  if (kind === 'flag') return Number(stored) === 1
  if (kind === 'number') return Number(stored)
  return kind === 'json' ? JSON.parse(String(stored)) : stored
}

/** Everything of a user. `isCut` if a table has more rows than `most`, of which the newest are there. */
export async function exportRows(
  db: Db,
  userId: string,
  most: number,
): Promise<{ tables: Record<string, ExportedRow[]>; isCut: boolean }> {
  let isCut = false
  const tables: Record<string, ExportedRow[]> = {}
  for (const name of keysOf(exportedTables)) {
    const rows = await listRows(db, name, { userId, limit: most + 1 })
    isCut ||= rows.length > most
    tables[name] = rows.slice(0, most)
  }
  return { tables, isCut }
}

/** The names of what the rows of an export refer to by id. */
export async function namesIn(db: Db, tables: Readonly<Record<string, readonly ExportedRow[]>>) {
  const ids = (column: string) => {
    const found = Object.values(tables).flatMap((rows) => rows.map((row) => row[column]))
    return [...new Set(found.filter((id): id is string => typeof id === 'string'))]
  }
  const read = async (table: string, name: string, column: string): Promise<Record<string, string>> => {
    const rows: { id: string; name: string }[] = await db(table).whereIn('id', ids(column)).select('id', `${name} as name`)
    return Object.fromEntries(rows.map(({ id, name }) => [id, name]))
  }
  return {
    apps: await read('apps', 'code', 'app_id'),
    organizations: await read('organizations', 'slug', 'organization_id'),
    providers: await read('sso_providers', 'code', 'provider_id'),
  }
}
