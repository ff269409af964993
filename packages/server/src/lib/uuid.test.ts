import { expect, test } from 'vitest'
import { idFrom, isUuid, msOfId, newId } from './uuid.ts'

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids are UUIDs of version 7 and begin with the time', () => {
  const now = Date.now() + 1_000
  const id = newId(now)
  expect(id).toMatch(v7)
  expect(msOfId(id)).toBe(now)
})

test('ids increase and differ within a millisecond, across its end, and when the clock goes back', () => {
  const now = Date.now() + 10_000
  const ids = Array.from({ length: 20_000 }, (_, index) => newId(index < 15_000 ? now : now - index))
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) if (!v7.test(id)) expect.unreachable(id)
})

test('ids of one millisecond share no random part', () => {
  const now = Date.now() + 100_000
  const tails = Array.from({ length: 1_000 }, () => newId(now).slice(19))
  expect(new Set(tails).size).toBe(1_000)
})

test('isUuid accepts any version in any case, and nothing around it', () => {
  const id = newId()
  for (const text of [id, id.toUpperCase(), '00000000-0000-0000-0000-000000000000']) expect(isUuid(text)).toBe(true)
  for (const text of [
    '',
    `${id} `,
    ` ${id}`,
    `${id}\n`,
    `{${id}}`,
    id.replaceAll('-', ''),
    `${id}0`,
    id.slice(1),
    id.replace('-', '_'),
    'g'.repeat(36),
  ])
    expect(isUuid(text), text).toBe(false)
})

test('a time and a digest always give the same id, which begins with the time', () => {
  const [some, other] = [Buffer.alloc(32, 0xff), Buffer.alloc(32, 1)]
  expect(idFrom(1_700_000_000_000, some)).toMatch(v7)
  expect(msOfId(idFrom(1_700_000_000_000, some))).toBe(1_700_000_000_000)
  expect(idFrom(1, some)).toBe(idFrom(1, some))
  expect(new Set([idFrom(1, some), idFrom(1, other), idFrom(2, some)]).size).toBe(3)
})
