import { expect, test } from 'vitest'
import { undoOf } from './undo-event.ts'

const now = Date.parse('2026-11-20T12:00:00Z')
const about = { user_id: 'u', app_id: 'a' }

test('undo restores a revoked grant as it was, or not at all', () => {
  const undo = (before: object | null) =>
    undoOf({ event: 'grant.revoked', ...about, details: before && { before, after: null } }, now)
  const words = ['grant', 'add', '--app', 'a', '--user', 'u']
  expect(undo({ expires_at: null, reason: null })).toEqual({ words })
  expect(undo({ expires_at: '2026-11-27T12:00:00.000Z', reason: 'audit' })).toEqual({
    words: [...words, '--expires', '2026-11-27T12:00:00.000Z', '--reason', 'audit'],
  })
  expect(undo({ expires_at: '2026-11-20T12:00:00.000Z', reason: 'audit' })).toEqual({
    refusal: 'The access ended at 2026-11-20T12:00:00.000Z, so there is nothing to restore',
  })
  // Events of older services keep nothing.
  expect(undo(null)).toEqual({ refusal: expect.stringContaining('does not say when') })
  // No command line can hold these reasons.
  for (const reason of ['a\nb', 'x'.repeat(501)]) expect(undo({ expires_at: null, reason })).toEqual({ words })
})

test('undo gives a changed grant its former end, and revokes it if that end has passed', () => {
  const undo = (before: object | null) => undoOf({ event: 'grant.created', ...about, details: { before, after: {} } }, now)
  const revoke = { words: ['grant', 'revoke', '--app', 'a', '--user', 'u', '--yes'] }
  expect(undo({ status: 'active', expires_at: null })).toEqual({
    words: ['grant', 'add', '--app', 'a', '--user', 'u', '--expires', 'never'],
  })
  expect(undo({ status: 'active', expires_at: '2026-11-20T11:00:00.000Z' })).toEqual(revoke)
  expect(undo({ status: 'revoked', expires_at: null })).toEqual(revoke)
  expect(undo(null)).toEqual(revoke)
})
