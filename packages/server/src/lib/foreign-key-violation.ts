import { driverCodeOf } from './unique-violation.ts'

// RESTRICT has a separate code since PostgreSQL 18. In SQLite a trigger enforces it, and we have no other triggers.
const foreignKeyCodes = new Set(['23503', '23001', 'SQLITE_CONSTRAINT_FOREIGNKEY', 'SQLITE_CONSTRAINT_TRIGGER'])

/** Whether a statement failed because a row refers to a missing row, or is still referred to, on either database. */
export function isForeignKeyViolation(error: unknown): boolean {
  return foreignKeyCodes.has(String(driverCodeOf(error)))
}
