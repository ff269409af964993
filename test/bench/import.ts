// Measures the whole command `authctl user import` of 100,000 users into a running server, next to inserting the
// same rows with plain SQL, in alternating rounds, from the same file. The rows are users, tags, grants, roles and
// audit events; for orientation it also compares without the audit events. It also measures the memory of the client
// and the server for files of increasing length.
import { randomBytes } from 'node:crypto'
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { Children } from '../../scripts/children.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'

const USERS = 100_000
const FEWER_USERS = 10_000
const MORE_USERS = 300_000
const ROUNDS = 3
const ROWS_AT_ONCE = 500
const BOUND = 3

const gatehouse = fileURLToPath(new URL('../../packages/server/dist/gatehouse.js', import.meta.url))
const authctl = fileURLToPath(new URL('../../packages/cli/dist/authctl.js', import.meta.url))
const drivers = createRequire(new URL('../../packages/server/package.json', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
const password = 'correct horse battery staple'
const email = 'admin@example.com'
const settings = {
  PORT: '0',
  LOG_LEVEL: 'info',
  AUTH_BCRYPT_COST: '10',
  JWT_ACCESS_SECRET: randomBytes(32).toString('base64'),
  AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  AUTH_BOOTSTRAP_ADMIN_EMAIL: email,
  AUTH_BOOTSTRAP_ADMIN_PASSWORD: password,
}

interface User {
  email: string
  password_hash: string
  first_name: string
  last_name: string
  tags: string[]
  apps: string[]
  email_verified: boolean
}

type Rows = Record<'users' | 'user_namespaces' | 'user_roles' | 'user_apps' | 'audit_events', unknown[][]>

const columns: Record<keyof Rows, string[]> = {
  users: [
    'id',
    'email',
    'email_verified_at',
    'first_verified_at',
    'made_by',
    'password_hash',
    'first_name',
    'last_name',
    'namespace',
    'created_at',
    'updated_at',
  ],
  user_namespaces: ['user_id', 'namespace', 'created_at'],
  user_roles: ['user_id', 'role_code', 'created_at'],
  user_apps: ['id', 'user_id', 'app_id', 'status', 'granted_via', 'granted_at'],
  audit_events: ['id', 'event', 'actor_type', 'actor_id', 'user_id', 'ip', 'user_agent', 'request_id', 'details', 'at'],
}

const newApp = (id: string) =>
  `insert into apps (id, code, name, status, created_at, updated_at) values ('${id}', 'shop', 'Shop', 'active', 0, 0)`
const insertInto = (table: keyof Rows, values: string) => `insert into ${table} (${columns[table].join(', ')}) ${values}`
const tables = Object.keys(columns) as (keyof Rows)[]

const arrayTypes: Record<string, string> = { id: 'uuid', user_id: 'uuid', app_id: 'uuid', actor_id: 'uuid', at: 'bigint' }
const arrayType = (column: string) => arrayTypes[column] ?? (column.endsWith('_at') ? 'bigint' : 'text')

const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  const files = new Map([FEWER_USERS, USERS, MORE_USERS].map((count) => [count, writeUsers(count)]))
  for (const kind of ['sqlite', 'postgres'] as const) {
    await measureTime(kind, files.get(USERS)!)
    for (const [count, file] of files) await measureMemory(kind, file, count)
  }
} finally {
  await children.stopAll()
  await stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Writes users with a hash, a name and a grant; every second one has a pool tag. */
function writeUsers(count: number): string {
  const file = join(folder, `${count}.ndjson`)
  const line = (index: number): User => ({
    email: `user-${String(index).padStart(6, '0')}@example.com`,
    password_hash: `$2b$10$${randomBytes(27).toString('hex').slice(0, 53)}`,
    first_name: `First ${index}`,
    last_name: `Last ${index}`,
    tags: index % 2 ? ['alumni'] : [],
    apps: ['shop'],
    email_verified: true,
  })
  writeFileSync(file, Array.from({ length: count }, (_, index) => `${JSON.stringify(line(index))}\n`).join(''))
  return file
}

async function measureTime(kind: DatabaseKind, file: string): Promise<void> {
  const times = { imported: [] as number[], same: [] as number[], bare: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    times.imported.push((await importWhole(kind, file, USERS)).seconds)
    times.same.push(await insertPlain(kind, file, { audited: true }))
    times.bare.push(await insertPlain(kind, file, { audited: false }))
  }
  const imported = median(times.imported)
  const what = `import of ${USERS.toLocaleString('en-US')} users, ${kind}`
  console.log(`${what}, median of ${ROUNDS} rounds: ${Math.round(USERS / imported)} users a second`)
  const beside = (name: string, plain: number[], bound?: number) => {
    const ratio = median(times.imported.map((seconds, round) => seconds / plain[round]!))
    record({ what, beside: name, ours: imported, peer: median(plain), ratio, unit: 's', better: 'lower', bound })
  }
  beside('the same rows by plain SQL', times.same, BOUND)
  beside('the same but for audit events', times.bare)
}

async function measureMemory(kind: DatabaseKind, file: string, count: number): Promise<void> {
  const { cliMb, serverMb } = await importWhole(kind, file, count)
  console.log(`  peak memory, ${count.toLocaleString('en-US').padStart(7)} lines: authctl ${cliMb} MB, server ${serverMb} MB`)
}

async function importWhole(kind: DatabaseKind, file: string, count: number) {
  const database = await createDatabase(kind, templates)
  const server = children.start('node', [gatehouse, 'serve'], { ...settings, DATABASE_URL: database.url })
  const url = await children.waitForLine(server, (line) => (JSON.parse(line) as { url?: string }).url)
  const token = await prepare(url)
  const started = performance.now()
  const command = children.start('node', [authctl, 'user', 'import', '-f', file, '--json', '--quiet'], {
    AUTHCTL_BASE_URL: url,
    AUTHCTL_TOKEN: token,
  })
  let output = ''
  command.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  command.stderr.pipe(process.stderr)
  let cliMb = 0
  const watch = setInterval(() => (cliMb = Math.max(cliMb, peakOf(command.pid!))), 20)
  await new Promise((resolve) => command.on('close', resolve))
  const seconds = (performance.now() - started) / 1_000
  clearInterval(watch)
  const { imported } = JSON.parse(output) as { imported: number }
  if (imported !== count) throw new Error(`${imported} of ${count} users were imported`)
  const serverMb = peakOf(server.pid!)
  await children.stop(server)
  await database.drop()
  return { seconds, cliMb, serverMb }
}

async function prepare(url: string): Promise<string> {
  const post = async (path: string, body: object, token?: string) => {
    const reply = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify(body),
    })
    if (!reply.ok) throw new Error(`${path} answered ${reply.status} ${await reply.text()}`)
    return (await reply.json()) as { access_token: string }
  }
  const { access_token } = await post('/auth/login', { email, password, app_code: 'authctl' })
  await post('/admin/apps', { code: 'shop', name: 'Shop' }, access_token)
  return access_token
}

/** The peak memory of a process in MB; 0 if it has ended. */
function peakOf(pid: number): number {
  try {
    return Math.round(Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024)
  } catch {
    return 0
  }
}

/** Imports as a careful script would: a stream of the file, prepared statements, one transaction. Returns seconds. */
async function insertPlain(kind: DatabaseKind, file: string, { audited }: { audited: boolean }): Promise<number> {
  const database = await createDatabase(kind, templates)
  const writer = await (kind === 'sqlite' ? openSqlite(database.url) : openPostgres(database.url))
  const appId = await writer.createApp()
  const started = performance.now()
  await writer.begin()
  let rows = noRows()
  for await (const line of createInterface({ input: createReadStream(file) })) {
    addRows(rows, JSON.parse(line) as User, appId, audited)
    if (rows.users.length < ROWS_AT_ONCE) continue
    await writer.write(rows)
    rows = noRows()
  }
  await writer.write(rows)
  await writer.commit()
  const seconds = (performance.now() - started) / 1_000
  await writer.close()
  await database.drop()
  return seconds
}

function noRows(): Rows {
  return { users: [], user_namespaces: [], user_roles: [], user_apps: [], audit_events: [] }
}

function addRows(rows: Rows, user: User, appId: string, audited: boolean): void {
  const now = Date.now()
  const id = newId(now)
  rows.users.push([
    ...[id, user.email, user.email_verified ? now : null, user.email_verified ? now : null, 'import', user.password_hash],
    ...[user.first_name, user.last_name, 'default', now, now],
  ])
  for (const tag of user.tags) rows.user_namespaces.push([id, tag, now])
  rows.user_roles.push([id, 'base_user', now])
  rows.user_apps.push([newId(now), id, appId, 'active', 'import', now])
  if (!audited) return
  const { password_hash: _, ...shown } = user
  const details = JSON.stringify({
    before: null,
    after: { ...shown, namespaces: ['default', ...user.tags], roles: ['base_user'] },
  })
  const origin = ['127.0.0.1', 'authctl/0.1.0', id]
  rows.audit_events.push([newId(now), 'user.imported', 'user', id, id, ...origin, details, now])
}

interface Writer {
  createApp(): Promise<string>
  begin(): Promise<void>
  write(rows: Rows): Promise<void>
  commit(): Promise<void>
  close(): Promise<void>
}

interface SqliteDatabase {
  pragma(text: string): void
  exec(sql: string): void
  prepare(sql: string): { run(...values: unknown[]): void }
  close(): void
}

/** Opens the file as the server does. Inserts one row per statement, which is fastest on SQLite. */
async function openSqlite(url: string): Promise<Writer> {
  const Database = drivers('better-sqlite3') as new (path: string) => SqliteDatabase
  const db = new Database(url.slice('sqlite:'.length))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  const inserts = tables.map((table) => db.prepare(insertInto(table, `values (${columns[table].map(() => '?').join(', ')})`)))
  return {
    async createApp() {
      const id = newId(Date.now())
      db.exec(
        "insert or ignore into roles (code, name, scope, created_at, updated_at) values ('base_user', 'Base', 'global', 0, 0)",
      )
      db.exec(newApp(id))
      return id
    },
    begin: async () => db.exec('begin immediate'),
    async write(rows) {
      for (const [index, table] of tables.entries()) for (const row of rows[table]) inserts[index]!.run(...row)
    },
    commit: async () => db.exec('commit'),
    close: async () => db.close(),
  }
}

interface PostgresClient {
  connect(): Promise<void>
  query(query: string | { name: string; text: string; values: unknown[] }): Promise<unknown>
  end(): Promise<void>
}

/** Inserts many rows per prepared statement, with each column as an array. */
async function openPostgres(url: string): Promise<Writer> {
  const { Client } = drivers('pg') as { Client: new (options: { connectionString: string }) => PostgresClient }
  const client = new Client({ connectionString: url })
  await client.connect()
  return {
    async createApp() {
      const id = newId(Date.now())
      await client.query(
        "insert into roles (code, name, scope, created_at, updated_at) values ('base_user', 'Base', 'global', 0, 0) on conflict do nothing",
      )
      await client.query(newApp(id))
      return id
    },
    begin: async () => void (await client.query('begin')),
    async write(rows) {
      for (const table of tables) {
        if (rows[table].length === 0) continue
        const arrays = columns[table].map((column, index) => `$${index + 1}::${arrayType(column)}[]`)
        const values = columns[table].map((_, index) => rows[table].map((row) => row[index]))
        await client.query({ name: table, text: insertInto(table, `select * from unnest(${arrays.join(', ')})`), values })
      }
    },
    commit: async () => void (await client.query('commit')),
    close: () => client.end(),
  }
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
}
