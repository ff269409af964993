// Gives each caller a migrated, empty database on either engine. The template is migrated once and copied for each caller.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants, copyFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { makeFastFolder, startPostgres } from './postgres.ts'

export type DatabaseKind = 'sqlite' | 'postgres'

/** What `createDatabase` copies from; plain values, since vitest hands them to its workers. */
export interface Templates {
  sqlite?: { folder: string; file: string }
  postgres?: { adminUrl: string; database: string }
}

export interface TestDatabase {
  /** `sqlite:/absolute/path.db` or `postgres://…`, as the setting DATABASE_URL takes it. */
  url: string
  drop(): Promise<void>
}

declare module 'vitest' {
  interface ProvidedContext {
    templates: Templates
  }
}

// Takes the server's driver, so that the workspace root need not list it as well.
const pg = createRequire(new URL('../../packages/server/package.json', import.meta.url))('pg') as {
  Client: new (options: { connectionString: string }) => Client
}

interface Client {
  connect(): Promise<void>
  query(sql: string): Promise<unknown>
  on(event: 'error' | 'end', fn: () => void): void
  ref(): void
  unref(): void
}

/** One open connection for each server, because connecting costs more than the statement. They do not keep the process alive. */
const admins = new Map<string, Promise<Client>>()

function connectAdmin(adminUrl: string): Promise<Client> {
  const client = new pg.Client({ connectionString: adminUrl })
  const forget = () => void admins.delete(adminUrl)
  client.on('error', forget)
  client.on('end', forget)
  const connected = client.connect().then(() => client)
  connected.catch(forget)
  admins.set(adminUrl, connected)
  return connected
}

async function asAdmin(adminUrl: string, statement: string): Promise<void> {
  const client = await (admins.get(adminUrl) ?? connectAdmin(adminUrl))
  client.ref()
  try {
    await client.query(statement)
  } finally {
    client.unref()
  }
}

function urlOfDatabase(adminUrl: string, database: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  return url.href
}

function uniqueName(prefix: string): string {
  return `${prefix}_${randomBytes(6).toString('hex')}`
}

export async function migrateDatabase(databaseUrl: string): Promise<void> {
  const { createKnex } = await import('../../packages/server/src/db/knex.ts')
  const { migrate } = await import('../../packages/server/src/db/migrate.ts')
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    await migrate(db)
  } finally {
    await db.destroy()
  }
}

/** Removes the folder once this process has ended, even by SIGKILL: a shell waits until its stdin is closed. */
function removeWithProcess(folder: string): () => Promise<void> {
  const remove = async () => rmSync(folder, { recursive: true, force: true })
  if (process.platform === 'win32') return remove
  const watcher = spawn('sh', ['-c', 'cat >/dev/null; rm -rf "$1"', 'sh', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
  return remove
}

async function prepareSqlite() {
  const folder = makeFastFolder('gatehouse-sqlite-')
  const remove = removeWithProcess(folder)
  const file = join(folder, 'template.db')
  await migrateDatabase(`sqlite:${file}`)
  return { sqlite: { folder, file }, stop: remove }
}

async function preparePostgres() {
  const server = await startPostgres()
  const { adminUrl } = server
  const database = uniqueName('gatehouse_template')
  try {
    await asAdmin(adminUrl, `CREATE DATABASE ${database}`)
    await migrateDatabase(urlOfDatabase(adminUrl, database))
  } catch (error) {
    await server.stop()
    throw error
  }
  const stop = async () => {
    // Leave nothing behind on a server that we did not start.
    if (process.env.TEST_DATABASE_URL) await asAdmin(adminUrl, `DROP DATABASE ${database} WITH (FORCE)`)
    await server.stop()
  }
  return { postgres: { adminUrl, database }, stop }
}

/** Starts what the given engines need. In vitest `global-setup.ts` calls this; a plain script has to call it itself. */
export async function prepareTemplates(kinds: readonly DatabaseKind[]): Promise<{ templates: Templates; stop(): Promise<void> }> {
  const templates: Templates = {}
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    await Promise.all(stops.map((each) => each()))
  }
  const prepare = async (kind: DatabaseKind) => {
    const { stop, ...template } = kind === 'sqlite' ? await prepareSqlite() : await preparePostgres()
    stops.push(stop)
    Object.assign(templates, template)
  }
  const failed = (await Promise.allSettled(kinds.map(prepare))).find((result) => result.status === 'rejected')
  if (failed) {
    await stop()
    throw failed.reason
  }
  return { templates, stop }
}

const lastLooks: ((url: string) => Promise<void>)[] = []

/** Calls `look` with the URL of each database before it is dropped. */
export function beforeDrop(look: (url: string) => Promise<void>): void {
  lastLooks.push(look)
}

/** Takes 1 ms on SQLite and about 30 ms on PostgreSQL. `templates` is only needed outside vitest. */
export async function createDatabase(kind: DatabaseKind, templates?: Templates): Promise<TestDatabase> {
  const { url, drop } = await copyTemplate(kind, templates)
  return {
    url,
    async drop() {
      for (const look of lastLooks) await look(url)
      await drop()
    },
  }
}

async function copyTemplate(kind: DatabaseKind, templates?: Templates): Promise<TestDatabase> {
  const { sqlite, postgres } = templates ?? (await import('vitest')).inject('templates')
  if (kind === 'sqlite') {
    if (!sqlite) throw new Error('No SQLite template: name global-setup.ts in the vitest project')
    const file = join(sqlite.folder, `${uniqueName('gatehouse')}.db`)
    copyFileSync(sqlite.file, file, constants.COPYFILE_FICLONE)
    return {
      url: `sqlite:${file}`,
      async drop() {
        for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
      },
    }
  }
  if (!postgres) throw new Error('No PostgreSQL template: run this test in the vitest project `postgres` or `programs`')
  const { adminUrl } = postgres
  const database = uniqueName('gatehouse')
  // Without fsync, copying the files is faster than logging their pages.
  await asAdmin(adminUrl, `CREATE DATABASE ${database} TEMPLATE ${postgres.database} STRATEGY FILE_COPY`)
  return {
    url: urlOfDatabase(adminUrl, database),
    drop: () => asAdmin(adminUrl, `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`),
  }
}

/**
 * Copies a PostgreSQL database so that `restore` can bring back this state later, as a dump or a point-in-time recovery would.
 * Taking the copy and restoring it both end all connections to the database.
 */
export async function snapshotPostgres({ url }: TestDatabase, templates: Templates): Promise<{ restore(): Promise<void> }> {
  const adminUrl = templates.postgres!.adminUrl
  const name = new URL(url).pathname.slice(1)
  const kept = uniqueName('gatehouse_kept')
  const copy = async (from: string, to: string) => {
    await asAdmin(adminUrl, `ALTER DATABASE ${from} ALLOW_CONNECTIONS false`)
    await asAdmin(adminUrl, `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '${from}'`)
    await asAdmin(adminUrl, `CREATE DATABASE ${to} TEMPLATE ${from} STRATEGY FILE_COPY`)
    await asAdmin(adminUrl, `ALTER DATABASE ${from} ALLOW_CONNECTIONS true`)
  }
  await copy(name, kept)
  return {
    async restore() {
      await asAdmin(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`)
      await copy(kept, name)
      await asAdmin(adminUrl, `DROP DATABASE ${kept}`)
    },
  }
}
