import { existsSync } from 'node:fs'
import type { Config } from './config.ts'
import type { Pool } from './db/handle.ts'
import { isMigrated, migrateDatabase } from './db/migrate.ts'
import { backUpFile, restoreFile, SqliteFileError, sqliteFileOf } from './db/sqlite-file.ts'
import { closeDeps, createDeps, type Deps } from './deps.ts'
import { type FinishedRestore, finishRestore, type OwnKeys, readOwnKeys } from './resources/system/finish-restore.ts'
import { assertKeyFits } from './start-error.ts'

/** Backs up the database to a file. Throws SqliteFileError. */
export async function backUp(config: Config, file: string, options: { force: boolean }): Promise<void> {
  await backUpFile(databaseFileOf(config), file, options)
}

/**
 * Replaces the database with a backup. The backup is migrated and `finishRestore` runs on it before the swap, so no server ever
 * sees it unprepared. Returns what was ended, and the path where the replaced database is kept. Throws SqliteFileError,
 * SchemaTooNewError, SchemaDiffersError.
 */
export async function restore(
  config: Config,
  file: string,
  { force }: { force: boolean },
): Promise<{ ended: FinishedRestore; kept: string | undefined }> {
  const target = databaseFileOf(config)
  let ended: FinishedRestore | undefined
  const prepare = async (staging: string) => {
    const deps = createDeps({ ...config, databaseUrl: `sqlite:${staging}`, logLevel: 'silent' })
    try {
      if (!(await isMigrated(deps.db))) throw new SqliteFileError(`${file} is not a Gatehouse backup`)
      ended = await bringBack(deps, await ownKeysIn(config, `sqlite:${target}`).catch(() => undefined))
    } finally {
      await closeDeps(deps)
    }
  }
  const kept = await restoreFile(file, target, { force, prepare })
  if (!ended) throw new Error('the backup was not prepared')
  return { ended, kept }
}

/**
 * Migrates a database that was already restored, and runs `finishRestore` on it. Throws SchemaTooNewError, SchemaDiffersError,
 * and StartError if its encryption key is another one.
 */
export async function bringBack(deps: Deps<Pool>, replaced?: OwnKeys): Promise<FinishedRestore> {
  await migrateDatabase(deps)
  await assertKeyFits(deps)
  return finishRestore(deps, replaced)
}

/** The own keys of a replaced database: another database on the same Postgres, or a file. Throws SqliteFileError. */
export async function readReplacedKeys(config: Config, name: string): Promise<OwnKeys> {
  const { databaseUrl } = config
  if (sqliteFileOf(databaseUrl) !== undefined) return ownKeysIn(config, `sqlite:${name}`)
  return ownKeysIn(
    config,
    databaseUrl.replace(/^(\w+:\/\/[^/]*\/)[^?]*/, (_, server) => server + encodeURIComponent(name)),
  )
}

async function ownKeysIn(config: Config, databaseUrl: string): Promise<OwnKeys> {
  const file = sqliteFileOf(databaseUrl)
  // Opening a file that does not exist would create it.
  if (file !== undefined && !existsSync(file)) throw new SqliteFileError(`there is no database at ${file}`)
  const deps = createDeps({ ...config, databaseUrl, logLevel: 'silent' })
  try {
    return await readOwnKeys(deps)
  } finally {
    await closeDeps(deps)
  }
}

function databaseFileOf({ databaseUrl }: Config): string {
  const file = sqliteFileOf(databaseUrl)
  if (file === undefined)
    throw new SqliteFileError(
      '`backup` and `restore` are for SQLite; on Postgres use pg_dump and pg_restore, then `finish-restore`',
    )
  return file
}
