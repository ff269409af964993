import pg from 'pg'
import { expect, test } from 'vitest'
import { classifyPostgresError, classifySqliteError, isWriteRefusal } from './inspect-connection.ts'

const postgres = (code: string) => classifyPostgresError(Object.assign(new pg.DatabaseError('x', 1, 'error'), { code }))
const sqlite = (code: string) => classifySqliteError(Object.assign(new Error('x'), { code }))

test('a full disk, a file error and a read-only database count as refused writes', () => {
  const refusals = [postgres('53100'), postgres('58030'), postgres('25006'), sqlite('SQLITE_FULL'), sqlite('SQLITE_IOERR_WRITE')]
  for (const error of [...refusals, sqlite('SQLITE_READONLY')]) expect(isWriteRefusal(error)).toBe(true)
})

test('a database that is busy, slow, away or otherwise broken does not count as refused writes', () => {
  const others = [
    postgres('55P03'),
    postgres('57014'),
    postgres('53300'),
    postgres('08006'),
    postgres('42P01'),
    sqlite('SQLITE_BUSY'),
  ]
  for (const error of [...others, sqlite('SQLITE_CONSTRAINT'), new Error('x'), undefined])
    expect(isWriteRefusal(error)).toBe(false)
})
