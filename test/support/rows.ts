// Queries on the tables that no route answers, and the two kinds of state that no route creates.

import { transaction } from '../../packages/server/src/db/transaction.ts'
import type { Deps } from '../../packages/server/src/deps.ts'
import { hashOpaqueToken } from '../../packages/server/src/lib/random.ts'
import { renewCatalog } from '../../packages/server/src/resources/catalog/catalog.ts'
import type { Json, TestService } from './service.ts'

/**
 * Writes to the catalog (apps, permissions, the permissions of roles) and makes the service drop its cached copy. For states that
 * a route refuses but older versions may have stored, such as an app whose default role is global.
 */
export async function changeCatalog(service: TestService, write: (db: Deps['db']) => PromiseLike<unknown>): Promise<void> {
  await transaction(service.deps, async (deps) => {
    await renewCatalog(deps)
    await write(deps.db)
  })
}

/** Verifies the address of a user, as a mailed link with the password does, for services whose mail no test can read. */
export async function markVerified(service: TestService, id: string): Promise<void> {
  const now = service.deps.clock()
  await service.deps.db('users').where({ id }).update({ email_verified_at: now, first_verified_at: now, mailbox_proven_at: now })
}

export async function isInvitationSpent(service: TestService, token: string): Promise<boolean> {
  const row = await service.deps
    .db('invitations')
    .where({ token_hash: hashOpaqueToken(token) })
    .first('accepted_at')
  return row.accepted_at !== null
}

export async function countRows(service: TestService, table: string, where: Record<string, unknown> = {}): Promise<number> {
  const [row] = await service.deps.db(table).where(where).count({ n: '*' })
  return Number(row!.n)
}

const writtenByRegistration = [
  'users',
  'user_namespaces',
  'user_roles',
  'user_apps',
  'organizations',
  'organization_memberships',
  'membership_roles',
  'sessions',
  'refresh_tokens',
]

/** Counts the rows of everything that a registration or a login can write, except audit events. */
export async function countWrites(service: TestService): Promise<Record<string, number>> {
  const counts = await Promise.all(writtenByRegistration.map(async (table) => [table, await countRows(service, table)] as const))
  const [spent] = await service.deps.db('invitations').whereNotNull('accepted_at').count({ n: '*' })
  return { ...Object.fromEntries(counts), 'spent invitations': Number(spent!.n) }
}

/** Every row of every table, as sorted text. */
export async function everyRow({ deps }: TestService): Promise<Record<string, string[]>> {
  const isPostgres = deps.config.databaseUrl.startsWith('postgres')
  const names = isPostgres
    ? deps
        .db('pg_class')
        .whereIn('relkind', ['r', 'p'])
        .where({ relispartition: false, relnamespace: deps.db.raw("'public'::regnamespace") })
        .pluck('relname')
    : deps.db('sqlite_master').where({ type: 'table' }).pluck('name')
  const rows: Record<string, string[]> = {}
  for (const name of await names) rows[name] = (await deps.db(name)).map((row: Json) => JSON.stringify(row)).sort()
  return rows
}

/** Every row of every table, as text, that holds one of these texts. */
export async function whereStored(service: TestService, ...texts: string[]): Promise<string[]> {
  const rows = Object.entries(await everyRow(service)).flatMap(([table, held]) => held.map((row) => `${table}: ${row}`))
  return rows.filter((row) => texts.some((text) => row.toLowerCase().includes(text.toLowerCase())))
}

/** The audit events that match `where`, oldest first, with their details parsed. */
export async function auditEvents(service: TestService, where: Record<string, unknown>): Promise<Json[]> {
  const rows = await service.deps.db('audit_events').where(where).orderBy('id')
  return rows.map((row: Json) => ({ ...row, details: row.details === null ? null : JSON.parse(row.details) }))
}
