import pg from 'pg'
import { DatabaseUnavailableError } from '../lib/unavailable.ts'

/**
 * Connection exceptions, shut down or starting, and a session that was ended: idle in its transaction, or in it for too long. Also one
 * that may only read, since its Postgres has become a standby.
 */
const endedClasses = /^(08|57P|25P03|25P04|25006)/
/** Out of memory, disk or connections, and faults of files. */
const exhaustedClasses = /^(53|58)/
/** Ended by a time limit or by an operator; or two transactions in each other's way, of which this one was ended. */
const givenUpCodes = new Set(['57014', '55P03', '40001', '40P01'])
const sqliteCodes = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY)/

/** What a statement that Postgres refused throws: by its SQLSTATE either the error as it is, or that the database is unavailable. */
export function classifyPostgresError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code = '', severity = '' } = error
  // Postgres is done with the connection, whatever the code.
  if (severity === 'FATAL' || severity === 'PANIC' || endedClasses.test(code))
    return new DatabaseUnavailableError('terminated', error)
  return exhaustedClasses.test(code) || givenUpCodes.has(code) ? new DatabaseUnavailableError('statement', error) : error
}

/** The same for SQLite: locked by another process, a disk that is full or fails, a file that cannot be opened or written. */
export function classifySqliteError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return sqliteCodes.test(code) ? new DatabaseUnavailableError('statement', error) : error
}
