import pg from 'pg'
import { codeOf } from '../lib/system-error-code.ts'
import { DatabaseUnavailableError } from '../lib/unavailable.ts'

/**
 * Connection exceptions, a server that shuts down or starts, and sessions that Postgres ended: idle in a transaction, or too long
 * in one. Also a read-only connection, since its Postgres has become a standby.
 */
const endedClasses = /^(08|57P|25P03|25P04|25006)/
/** Out of memory, disk or connections, and errors with files. */
const exhaustedClasses = /^(53|58)/
/** Ended by a time limit or by an operator, or because two transactions were in conflict. */
const givenUpCodes = new Set(['57014', '55P03', '40001', '40P01'])
const sqliteCodes = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY)/

/** Classifies an error of Postgres by its SQLSTATE: returns DatabaseUnavailableError, or the error as it is. */
export function classifyPostgresError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code = '', severity = '' } = error
  // Postgres has ended the connection, whatever the code.
  if (severity === 'FATAL' || severity === 'PANIC' || endedClasses.test(code))
    return new DatabaseUnavailableError('terminated', error)
  return exhaustedClasses.test(code) || givenUpCodes.has(code) ? new DatabaseUnavailableError('statement', error) : error
}

/** `classifyPostgresError` for SQLite: locked by another process, disk full or failing, file that cannot be opened or written. */
export function classifySqliteError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return sqliteCodes.test(code) ? new DatabaseUnavailableError('statement', error) : error
}

/** Disk full, errors with files, and a connection that only reads. */
const postgresRefusals = /^(53100|58|25006)/
const sqliteRefusals = /^SQLITE_(FULL|IOERR|CANTOPEN|READONLY)/

/** Whether a write failed because the database cannot store anything now, however often it is repeated. */
export function isWriteRefusal(error: unknown): boolean {
  const { cause } = error instanceof DatabaseUnavailableError ? error : {}
  const code = codeOf(cause) ?? ''
  return cause instanceof pg.DatabaseError ? postgresRefusals.test(code) : sqliteRefusals.test(code)
}
