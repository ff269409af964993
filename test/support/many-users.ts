// Fills a database as it would look after years: thousands or millions of users with everything that real users have, written
// with one statement for each table. Ids and times rise together, as they do when users register one after the other.
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import type { DatabaseKind } from './database.ts'

const fromServer = createRequire(new URL('../../packages/server/package.json', import.meta.url))
const dayMs = 86_400_000
/** Sessions live for 90 days, so the first user's has not yet ended. */
const spanMs = 80 * dayMs
const poolCount = 50

export interface ManyUsers {
  users: number
  /** These records must already exist, because the rows refer to them. */
  appIds: readonly [main: string, other: string]
  roleCode: string
  providerId: string
  /** The hash of every user's password. */
  passwordHash: string
  /** Only what most requests read, so that millions of users are written in minutes. */
  onlyCommon?: boolean
}

/** The address of a user. Users are counted from 1. */
export function emailOf(user: number): string {
  return `user${user}@example.com`
}

/** The refresh token of that user's session. */
export function refreshTokenOf(user: number): string {
  return `grt_live${user}`
}

/** Whether a user gets tokens for the password. Some are suspended or deleted, are in another pool or have a second factor. */
export function canLogIn(user: number): boolean {
  return user % 50 > 1 && user % 10 !== 7 && user % 20 !== 0
}

/** SQL expressions that the two databases write differently. */
interface Dialect {
  /** Rows with one column `i`, from 1. */
  numbers(count: number): string
  /** A UUIDv7 made from a time in milliseconds and a number. */
  id(ms: string, number: string): string
  /** The digest that is stored for an opaque token. */
  digest(text: string): string
  uuid(literal: string): string
}

const dialects: Record<DatabaseKind, Dialect> = {
  postgres: {
    numbers: (count) => `generate_series(1::bigint, ${count}) as n (i)`,
    id: (ms, number) => `(lpad(to_hex(${ms}), 12, '0') || '70008000' || lpad(to_hex(${number}), 12, '0'))::uuid`,
    digest: (text) => `translate(rtrim(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '='), '+/', '-_')`,
    uuid: (literal) => `'${literal}'::uuid`,
  },
  sqlite: {
    numbers: (count) =>
      `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`,
    id: (ms, number) => `printf('%08x-%04x-7000-8000-%012x', (${ms}) >> 16, (${ms}) & 65535, ${number})`,
    digest: (text) => `token_hash(${text})`,
    uuid: (literal) => `'${literal}'`,
  },
}

/** Every how many users has a row of these, with `onlyCommon`. Of the others none has. */
const common: Record<string, number> = {
  ...{ users: 1, user_namespaces: 4, user_roles: 1, user_apps: 1, organizations: 10, organization_memberships: 5 },
  ...{ membership_roles: 5, sessions: 1, refresh_tokens: 1, audit_events: 4, user_identities: 10, second_factors: 20 },
  ...{ mail_tokens: 10, outbox: 20, revocations: 20, lockouts: 20, rate_limits: 20 },
}

interface Rows {
  table: string
  /** Every how many users there is a row; 1 by default. */
  each?: number
  columns: Record<string, string>
}

/** The SQL expression of each column, the same on both databases. `u` is the number of the row's user. */
function tablesOf(kind: DatabaseKind, { users, appIds, roleCode, providerId, passwordHash }: ManyUsers): Rows[] {
  const { id, digest, uuid } = dialects[kind]
  const now = Date.now()
  const stepMs = Math.max(1, Math.floor(spanMs / users))
  const madeAt = (user = 'u') => `(${now - users * stepMs} + (${user}) * ${stepMs})`
  const idOf = (user = 'u') => id(madeAt(user), user)
  const later = now + 30 * dayMs
  const [main, other] = appIds.map(uuid) as [string, string]
  const organizations = Math.floor(users / 10)
  const organizationOf = `(u % ${organizations} + 1)`
  const stamps = { created_at: madeAt(), updated_at: madeAt() }
  const request = {
    ip: "'192.0.2.' || (u % 250)",
    user_agent: "'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'",
  }
  const audit = (number: number, event: string, userId: string) => ({
    table: 'audit_events',
    columns: {
      ...{ id: id(madeAt(), `u * 4 + ${number}`), event: `'${event}'`, actor_type: "'anonymous'", user_id: userId, app_id: main },
      ...{ ...request, request_id: "'request-' || u", details: 'null', at: madeAt() },
    },
  })
  const refreshToken = (text: string, usedAt: string) => ({
    table: 'refresh_tokens',
    columns: {
      ...{ token_hash: digest(text), session_id: idOf(), created_at: madeAt(), expires_at: `${later}`, used_at: usedAt },
    },
  })
  return [
    {
      table: 'users',
      columns: {
        ...{ id: idOf(), email: "'user' || u || '@example.com'", password_hash: `'${passwordHash}'` },
        ...{ first_name: "'First' || (u % 1000)", last_name: "'Last' || u", email_verified_at: madeAt() },
        ...{ first_verified_at: madeAt(), made_by: "'import'" },
        namespace: `case when u % 10 = 7 then 'pool-' || (u % ${poolCount}) else 'default' end`,
        status: "case u % 50 when 0 then 'suspended' when 1 then 'deleted' else 'active' end",
        ...stamps,
      },
    },
    {
      table: 'user_namespaces',
      each: 4,
      columns: { user_id: idOf(), namespace: `'tag-' || ((u / 4) % ${poolCount})`, created_at: madeAt() },
    },
    { table: 'user_roles', columns: { user_id: idOf(), role_code: "'base_user'", created_at: madeAt() } },
    { table: 'user_roles', each: 1_000, columns: { user_id: idOf(), role_code: `'${roleCode}'`, created_at: madeAt() } },
    ...[main, other].map((app, index) => ({
      table: 'user_apps',
      each: [1, 20][index]!,
      columns: {
        ...{ id: id(madeAt(), `u * 2 + ${index}`), user_id: idOf(), app_id: app, status: "'active'", granted_via: "'auto'" },
        granted_at: madeAt(),
      },
    })),
    {
      table: 'access_requests',
      each: 4,
      columns: {
        ...{ id: idOf(), user_id: idOf(), app_id: `case when u % 200 = 0 then ${other} else ${main} end`, created_at: madeAt() },
        ...{ status: "case when u % 100 = 0 then 'open' else 'denied' end", decided_at: madeAt() },
      },
    },
    {
      table: 'organizations',
      each: 10,
      columns: { id: idOf('u / 10'), slug: "'org-' || (u / 10)", name: "'Organization ' || (u / 10)", ...stamps },
    },
    {
      table: 'organization_memberships',
      each: 5,
      columns: { id: idOf(), organization_id: idOf(organizationOf), user_id: idOf(), created_at: madeAt() },
    },
    { table: 'membership_roles', each: 5, columns: { membership_id: idOf(), role_code: "'org_member'" } },
    {
      table: 'sessions',
      columns: {
        ...{ id: idOf(), user_id: idOf(), app_id: main, auth_method: "'password'", token_version: '0', ...request },
        organization_id: `case when u % 5 = 0 then ${idOf(organizationOf)} end`,
        ...{ created_at: madeAt(), last_used_at: madeAt(), expires_at: `${later}` },
      },
    },
    {
      table: 'sessions',
      each: 2,
      columns: {
        ...{ id: id(madeAt(), `u + ${2 ** 40}`), user_id: idOf(), app_id: main, auth_method: "'password'", token_version: '0' },
        ...{ ...request, created_at: madeAt(), last_used_at: madeAt(), expires_at: `${later}` },
        ...{ ended_at: madeAt(), ended_reason: "'logout'" },
      },
    },
    {
      table: 'browser_sessions',
      columns: {
        ...{
          id: id(madeAt(), `u + ${2 ** 41}`),
          user_id: idOf(),
          version: '0',
          first_factor: "'password'",
          first_proven_at: madeAt(),
        },
        ...{ hash: digest("'gbs_' || u"), is_kept: '0', started_at: madeAt(), last_seen_at: madeAt(), expires_at: `${later}` },
        ...request,
      },
    },
    refreshToken("'grt_live' || u", 'null'),
    refreshToken("'grt_spent' || u", madeAt()),
    audit(0, 'user.registered', idOf()),
    audit(1, 'login.success', idOf()),
    audit(2, 'login.failed', 'null'),
    {
      table: 'user_identities',
      each: 10,
      columns: {
        ...{ id: idOf(), user_id: idOf(), provider_id: uuid(providerId), subject: "'subject-' || u", created_at: madeAt() },
      },
    },
    {
      table: 'passkeys',
      each: 10,
      columns: {
        ...{ id: idOf(), user_id: idOf(), credential_id: "'credential-' || u", public_key: "'key'", sign_count: '0' },
        ...{ name: "'Laptop'", created_at: madeAt() },
      },
    },
    {
      table: 'trusted_browsers',
      each: 20,
      columns: {
        ...{ id: idOf(), hash: digest("'gtb_' || u"), user_id: idOf(), version: '0', factor_activated_at: madeAt() },
        ...{ proven_at: madeAt(), expires_at: `${later}` },
      },
    },
    {
      table: 'second_factors',
      each: 20,
      columns: { user_id: idOf(), totp_box: "'box'", activated_at: madeAt(), created_at: madeAt() },
    },
    ...[1, 2, 3, 4].map((code) => ({
      table: 'recovery_codes',
      each: 20,
      columns: { user_id: idOf(), code_hash: digest(`'code${code}-' || u`) },
    })),
    {
      table: 'mail_tokens',
      each: 10,
      columns: {
        ...{ token_hash: digest("'mail-' || u"), user_id: idOf(), purpose: "'verify_email'", app_id: main },
        ...{ email: "'user' || u || '@example.com'", created_at: madeAt(), expires_at: `${later}` },
      },
    },
    {
      table: 'invitations',
      each: 10,
      columns: {
        ...{ id: idOf(), organization_id: idOf(organizationOf), token_hash: digest("'invitation-' || u") },
        ...{ role_codes: `'["org_member"]'`, app_id: main, created_at: madeAt(), expires_at: `${later}` },
      },
    },
    {
      table: 'sso_logins',
      each: 20,
      columns: {
        ...{
          state_hash: digest("'state-' || u"),
          provider_id: uuid(providerId),
          app_id: main,
          issuer: "'https://idp.example.com'",
        },
        ...{ redirect_url: "'https://app.example.com'", client_state: "''", code_challenge: "''", created_at: madeAt() },
        expires_at: `${later}`,
      },
    },
    {
      table: 'outbox',
      each: 5,
      columns: {
        // Every other one is a mail that strangers asked for, to an address that nobody has.
        ...{
          kind: "case when u % 2 = 0 then 'webhook' else 'mail' end",
          unsent: "case when u % 2 = 0 then null else 'unknown_user' end",
        },
        ...{ id: idOf(), app_id: main, user_id: idOf(), name: "'events'", payload: "'{}'", attempts: '1' },
        ...{ destination: "'https://app.example.com/hook'", next_attempt_at: madeAt(), created_at: madeAt() },
        status: "case when u % 1000 = 0 or u % 2 = 1 then 'failed' else 'delivered' end",
        finished_at: madeAt(),
      },
    },
    {
      table: 'revocations',
      each: 20,
      columns: { user_id: idOf(), app_id: main, min_tv: '0', at: `${now - 3_600_000} + u * 3600000 / ${users}` },
    },
    { table: 'lockouts', each: 20, columns: { key: "'address:' || u || ':default'", failures: '1', last_failed_at: `${now}` } },
    { table: 'shared_emails', each: 20, columns: { email: "'user' || u || '@example.com'" } },
    { table: 'rate_limits', each: 20, columns: { key: "'account:' || u", count: '1', resets_at: `${later}` } },
  ]
}

/** What the service keeps beside the users, so that it need not read all of them. */
const counted = [
  'delete from pool_changes',
  'delete from pool_sizes',
  `insert into pool_sizes (namespace, homes, tagged) select namespace, sum(homes), sum(tagged) from (
     select namespace, 1 as homes, 0 as tagged from users where status <> 'deleted'
     union all select namespace, 0, 1 from user_namespaces) as named group by namespace`,
]

function isCommon(table: string, each: number): boolean {
  return common[table] !== undefined && (table !== 'sessions' || each === 1)
}

/** Takes 4 seconds for 30,000 users on either database. */
export async function insertManyUsers(databaseUrl: string, many: ManyUsers): Promise<void> {
  const kind = databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres'
  const { numbers } = dialects[kind]
  const tables = tablesOf(kind, many).filter(({ table, each = 1 }) => !many.onlyCommon || isCommon(table, each))
  const statements = tables.map(({ table, each: usually = 1, columns }) => {
    const each = many.onlyCommon ? Math.max(usually, common[table]!) : usually
    const rows = `select i * ${each} as u from ${numbers(Math.floor(many.users / each))}`
    return `insert into ${table} (${Object.keys(columns)}) select ${Object.values(columns)} from (${rows}) as each_user`
  })
  await (kind === 'sqlite' ? runOnSqlite : runOnPostgres)(databaseUrl, statements)
}

async function runOnPostgres(databaseUrl: string, statements: readonly string[]): Promise<void> {
  const client = new (fromServer('pg').Client)({ connectionString: databaseUrl })
  await client.connect()
  try {
    // The foreign keys are correct by construction. Checking them would take longer than writing the rows.
    await client.query('set session_replication_role = replica')
    await client.query("set maintenance_work_mem = '512MB'")
    // Building an index at the end takes a fraction of the time.
    const { rows: indexes } = await client.query(
      `select indexname as name, indexdef as definition from pg_indexes where schemaname = 'public'
       and not exists (select from pg_constraint where conindid = format('%I.%I', schemaname, indexname)::regclass)
       and indexdef not like 'CREATE UNIQUE%' and tablename not like 'audit_events\\_%'`,
    )
    for (const { name } of indexes) await client.query(`drop index ${client.escapeIdentifier(name)}`)
    for (const statement of [...statements, ...counted]) await client.query(statement)
    for (const { definition } of indexes) await client.query(definition.replace(' ON ONLY ', ' ON '))
    await client.query('vacuum (analyze)')
  } finally {
    await client.end()
  }
}

async function runOnSqlite(databaseUrl: string, statements: readonly string[]): Promise<void> {
  const db = new (fromServer('better-sqlite3'))(databaseUrl.slice('sqlite:'.length))
  db.function('token_hash', (text: string) => createHash('sha256').update(text).digest('base64url'))
  db.pragma('foreign_keys = off')
  // No `analyze`: the service never runs it, so its plans are made without statistics.
  db.exec('begin')
  for (const statement of [...statements, ...counted]) {
    db.exec(statement)
    // Lets the event loop close connections of this process that are due to be closed.
    await setImmediate()
  }
  db.exec('commit')
  db.close()
}
