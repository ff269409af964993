import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Database } from 'better-sqlite3'
import { codeOf } from '../lib/system-error-code.ts'

/** The database cannot be backed up or restored this way. The message is for the operator. */
export class SqliteFileError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SqliteFileError'
  }
}

const scheme = 'sqlite:'
/** More pages than any database has: all are copied in one step, so the copy is consistent while others write. */
const allPages = 0x7fffffff
/** What SQLite keeps beside a database. It applies them to whatever has the name of that database later. */
const logSuffixes = ['-journal', '-wal', '-shm']

/** The file of a `sqlite:PATH`. Undefined for another database. */
export function sqliteFileOf(databaseUrl: string): string | undefined {
  return databaseUrl.startsWith(scheme) ? resolve(databaseUrl.slice(scheme.length)) : undefined
}

/**
 * Copies a database, which may be in use, into a file of mode 0600 that appears complete or not at all. Throws SqliteFileError,
 * also if the target exists and `force` is not set.
 */
export async function backUpFile(source: string, target: string, { force }: { force: boolean }): Promise<void> {
  if (!existsSync(source)) throw new SqliteFileError(`there is no database at ${source}`)
  assertFile(target)
  assertBesideDatabase(source, target)
  const logs = logSuffixes.map((suffix) => target + suffix)
  const taken = [target, ...logs].find((file) => existsSync(file))
  if (!force && taken) throw new SqliteFileError(`${taken} exists; --force replaces it`)
  await throughStaging(target, async (staging) => {
    const database = await open(source)
    try {
      await write(staging, [])
      await database.backup(staging, { progress: () => allPages })
    } finally {
      database.close()
    }
    await assertSound(staging, source)
    if (!force) return linkSync(staging, target)
    for (const log of logs) rmSync(log, { force: true })
    renameSync(staging, target)
  })
}

/**
 * Throws SqliteFileError if the target, or a log beside it, is a file of the database, under whatever name: replacing one would
 * lose what is written from then on, and SQLite would apply a log to a database that it does not belong to.
 */
function assertBesideDatabase(source: string, target: string): void {
  // SQLite follows a link to the database, and keeps the log beside the file that it leads to.
  const database = realpathSync(source)
  const filesOf = (name: string) => ['', ...logSuffixes].map((suffix) => name + suffix)
  for (const file of filesOf(database))
    for (const replaced of filesOf(target))
      if (isSameFile(file, replaced))
        throw new SqliteFileError(`${replaced} is ${file}, a file of the database; back up to another file`)
}

/**
 * Throws SqliteFileError for a device, a pipe or a folder: a rename would put a file in its place, and a copy of it may have no
 * end. A file that does not exist passes.
 */
function assertFile(name: string): void {
  const found = statSync(name, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw new SqliteFileError(`${name} is not a file`)
}

/** Compares inodes, so that links and other paths count as the same. A file that does not exist is known by its folder and name. */
function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }))
  if (a && b) return a.dev === b.dev && a.ino === b.ino
  return !a && !b && placeOf(one) === placeOf(other)
}

function placeOf(file: string): string {
  const folder = dirname(resolve(file))
  return join(existsSync(folder) ? realpathSync(folder) : folder, basename(file))
}

/**
 * Replaces a database with a copy of a backup, on which it runs `prepare` first. Keeps the replaced database beside it and
 * returns its path. Throws SqliteFileError, before anything has changed, if the backup is damaged or the database is open.
 */
export async function restoreFile(
  backup: string,
  target: string,
  { force, prepare }: { force: boolean; prepare: (staging: string) => Promise<void> },
): Promise<string | undefined> {
  if (!existsSync(backup)) throw new SqliteFileError(`there is no backup at ${backup}`)
  for (const name of [backup, target]) assertFile(name)
  if (!force && existsSync(target))
    throw new SqliteFileError(`${target} exists; --force replaces it, and keeps it under another name`)
  await assertUnused(target)
  return throughStaging(target, async (staging) => {
    await write(staging, createReadStream(backup))
    // A file that was copied without `gatehouse backup` may have its last commits in the log beside it.
    if (existsSync(`${backup}-wal`)) await write(`${staging}-wal`, createReadStream(`${backup}-wal`))
    await assertSound(staging, backup)
    await prepare(staging)
    await assertUnused(target)
    return replace(target, staging, { isThere: force && existsSync(target) })
  })
}

/** Runs `fill` with the name of a file beside the target, and removes that file unless it was moved. */
async function throughStaging<T>(target: string, fill: (staging: string) => Promise<T>): Promise<T> {
  const staging = `${target}.${randomBytes(6).toString('hex')}.partial`
  try {
    return await fill(staging)
  } finally {
    for (const suffix of ['', ...logSuffixes]) rmSync(staging + suffix, { force: true })
  }
}

async function write(file: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  await pipeline(content, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
}

/**
 * At every moment one of the two files is at the target, so a server that starts meanwhile creates no new database. Returns where
 * the replaced one is.
 */
function replace(target: string, staging: string, { isThere }: { isThere: boolean }): string | undefined {
  const kept = `${target}.replaced-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  if (isThere) linkSync(target, kept)
  // The log of the old database may be there even if somebody deleted the database.
  for (const suffix of logSuffixes) if (existsSync(target + suffix)) renameSync(target + suffix, kept + suffix)
  if (isThere) renameSync(staging, target)
  else linkSync(staging, target)
  return isThere ? kept : undefined
}

async function assertSound(file: string, shown: string): Promise<void> {
  const faults = await integrityFaults(file).catch((error: unknown) => [error instanceof Error ? error.message : String(error)])
  if (faults.length > 0) throw new SqliteFileError(`${shown} is damaged: ${faults.join('; ')}`)
}

async function integrityFaults(file: string): Promise<string[]> {
  const database = await open(file)
  try {
    const lines = database.prepare('pragma integrity_check(3)').pluck().all().map(String)
    return lines.filter((line) => line !== 'ok')
  } finally {
    database.close()
  }
}

/** Every open connection to a database with a write-ahead log holds a lock on it. This asks for an exclusive one. */
async function assertUnused(file: string): Promise<void> {
  if (!existsSync(file)) return
  const database = await open(file)
  try {
    database.pragma('locking_mode = exclusive')
    database.exec('begin exclusive; rollback')
  } catch (error) {
    if (codeOf(error)?.startsWith('SQLITE_BUSY'))
      throw new SqliteFileError(`${file} is in use: stop the server and everything else that has it open`)
    // Other errors are fine: a restore is meant to replace a damaged database.
  } finally {
    database.close()
  }
}

/** Loaded on demand: the module is native, and a server on Postgres does not need it. */
async function open(file: string): Promise<Database> {
  const { default: Sqlite } = await import('better-sqlite3')
  return new Sqlite(file, { fileMustExist: true, timeout: 0 })
}
