const uniqueCodes = new Set(['23505', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])

/** The error code of the database driver, if it gave one. */
export function driverCodeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  // Objection wraps what the driver threw and keeps it as `nativeError`.
  const native = 'nativeError' in error ? error.nativeError : error
  return typeof native === 'object' && native !== null && 'code' in native ? native.code : undefined
}

/** Whether a statement failed because a unique index or primary key already holds its values, on either database. */
export function isUniqueViolation(error: unknown): boolean {
  return uniqueCodes.has(String(driverCodeOf(error)))
}
