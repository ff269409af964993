import { expect, test } from 'vitest'
import { decodeCursor, pageOf, rowsToRead } from './keyset.ts'
import { isUuid, newId } from './uuid.ts'

const rows = ['c', 'b', 'a']

test('a page reads one row more than it shows, and has a cursor if that row exists', () => {
  expect(rowsToRead({})).toBe(51)
  expect(rowsToRead({ limit: 2 })).toBe(3)
  const page = pageOf(rows, { limit: 2 }, (row) => row)
  expect(page.items).toEqual(['c', 'b'])
  expect(decodeCursor(page.nextCursor!, () => true)).toBe('b')
  expect(pageOf(rows, { limit: 3 }, (row) => row)).toEqual({ items: rows, nextCursor: null })
  expect(pageOf([], { limit: 1 }, (row: string) => row)).toEqual({ items: [], nextCursor: null })
})

test('a cursor can be decoded again, whatever characters its key has', () => {
  for (const key of [newId(), 'a-pool_1', 'ü', '💡']) {
    const { nextCursor } = pageOf([key, 'last'], { limit: 1 }, (row) => row)
    expect(nextCursor).toMatch(/^[\w-]+$/)
    expect(decodeCursor(nextCursor!, () => true)).toBe(key)
  }
})

test('a forged or damaged cursor is refused', () => {
  const cursor = Buffer.from(newId()).toString('base64url')
  expect(decodeCursor(cursor, isUuid)).toBeDefined()
  const forged = [
    '',
    '=',
    cursor.slice(0, -1),
    `${cursor}=`,
    `${cursor}AA`,
    ` ${cursor}`,
    `${cursor}\n`,
    `*${cursor}`,
    '%%%',
    Buffer.from([0xff, 0xfe]).toString('base64url'),
  ]
  for (const text of forged) expect(decodeCursor(text, isUuid), text).toBeUndefined()
  expect(decodeCursor(Buffer.from([0xff, 0xfe]).toString('base64url'), () => true)).toBeUndefined()
})
