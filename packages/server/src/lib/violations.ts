const uniqueCodes = new Set(['23505', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])

/** The error code of the database driver, if it gave one. */
function driverCodeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  // Objection wraps what the driver threw and keeps it as `nativeError`.
  const native = 'nativeError' in error ? error.nativeError : error
  return typeof native === 'object' && native !== null && 'code' in native ? native.code : undefined
}

/** Whether a statement failed because a unique index or primary key already holds its values, on either database. */
export function isUniqueViolation(error: unknown): boolean {
  return uniqueCodes.has(String(driverCodeOf(error)))
}

// RESTRICT has a separate code since PostgreSQL 18. In SQLite a trigger enforces it, and we have no other triggers.
const foreignKeyCodes = new Set(['23503', '23001', 'SQLITE_CONSTRAINT_FOREIGNKEY', 'SQLITE_CONSTRAINT_TRIGGER'])

/** Whether a statement failed because a row refers to a missing row, or is still referred to, on either database. */
export function isForeignKeyViolation(error: unknown): boolean {
  return foreignKeyCodes.has(String(driverCodeOf(error)))
}
