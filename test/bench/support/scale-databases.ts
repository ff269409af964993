// Databases of one Postgres with a thousand, a million and more users. Filling the largest takes most of an hour, so with
// BENCH_SCALE_POSTGRES, the address of a Postgres that you keep, a database that was filled before is used again.
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { Children } from '../../../scripts/children.ts'
import { migrateDatabase } from '../../support/database.ts'
import { insertManyUsers, type ManyUsers } from '../../support/many-users.ts'
import { type RunningPostgres, startPostgres } from '../../support/postgres.ts'
import { ADMIN, call, PASSWORD, startGatehouse, usualSettings } from './server-under-test.ts'

const fromServer = createRequire(new URL('../../../packages/server/package.json', import.meta.url))
const cost = 4
const fixedKey = (name: string) => createHash('sha256').update(`bench ${name}`).digest('base64')

/** The same secrets at each run, since a filled database is used again. A hash of 1 ms hides little of the rest. */
export const scaleSettings = {
  ...usualSettings,
  NODE_ENV: 'test',
  LOG_LEVEL: 'info',
  AUTH_BCRYPT_COST: String(cost),
  JWT_ACCESS_SECRET: fixedKey('JWT_ACCESS_SECRET'),
  AUTH_ENCRYPTION_KEY: fixedKey('AUTH_ENCRYPTION_KEY'),
}

// biome-ignore lint/suspicious/noExplicitAny: `pg` has no types here.
type Client = any

export async function connected(connectionString: string): Promise<Client> {
  const client = new (fromServer('pg').Client)({ connectionString })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** A Postgres that counts what statements cost, with its files on disk and buffers for the part that requests read. */
export async function startScalePostgres(): Promise<Pick<RunningPostgres, 'adminUrl' | 'stop'>> {
  const kept = process.env.BENCH_SCALE_POSTGRES
  if (kept !== undefined) return { adminUrl: kept, stop: async () => {} }
  const settings = [
    "shared_preload_libraries = 'pg_stat_statements'",
    "pg_stat_statements.track_planning = 'on'",
    "shared_buffers = '4GB'",
    "max_wal_size = '8GB'",
    "wal_level = 'minimal'",
    'max_wal_senders = 0',
  ]
  return startPostgres({ settings: settings.join('\n'), onDisk: true })
}

export interface Filled {
  users: number
  url: string
  name: string
}

/** The database with that number of users, filled unless it is there already. */
export async function filled(adminUrl: string, users: number): Promise<Filled> {
  const name = `scale_${users}`
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  const at = { users, name, url: url.href }
  const admin = await connected(adminUrl)
  try {
    await admin.query('create extension if not exists pg_stat_statements')
    // A database that was only half filled has another name.
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
    if (rowCount > 0) return at
    const part = new URL(adminUrl)
    part.pathname = '/scale_part'
    await admin.query('drop database if exists scale_part with (force)')
    await admin.query('create database scale_part')
    const started = performance.now()
    await migrateDatabase(part.href)
    await insertManyUsers(part.href, { users, onlyCommon: true, ...(await prepareCatalog(part.href)) })
    await admin.query(`alter database scale_part rename to ${name}`)
    const { rows } = await admin.query('select pg_database_size($1) as bytes', [name])
    const seconds = Math.round((performance.now() - started) / 1_000)
    console.log(`  ${users.toLocaleString('en-US')} users: ${Math.round(rows[0].bytes / 2 ** 20)} MB, written in ${seconds} s`)
    return at
  } finally {
    await admin.end()
  }
}

/**
 * Creates the records that users refer to. The server that does it is stopped before the users are inserted, because its workers
 * would then find tables without indexes.
 */
async function prepareCatalog(databaseUrl: string): Promise<Omit<ManyUsers, 'users'>> {
  const alone = new Children()
  try {
    const { url } = await startGatehouse(alone, { ...scaleSettings, DATABASE_URL: databaseUrl })
    const api = `${url}/api/v1`
    const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
    const headers = { authorization: `Bearer ${signedIn.body.access_token}` }
    const create = async (path: string, body: object) => (await call(`${api}/admin/${path}`, { body, headers })).body
    const app = await create('apps', { code: 'bench', name: 'Bench', auto_grant_on_signup: true })
    const other = await create('apps', { code: 'other', name: 'Other' })
    const role = await create('roles', { code: 'some', name: 'Some', scope: 'global' })
    const idp = { code: 'idp', issuer: 'https://idp.example.com', client_id: 'some', client_secret: 'some' }
    const provider = await create('sso-providers', idp)
    const passwordHash = fromServer('bcryptjs').hashSync(PASSWORD, cost)
    return { appIds: [app.id, other.id], roleCode: role.code, providerId: provider.id, passwordHash }
  } finally {
    await alone.stopAll()
  }
}
