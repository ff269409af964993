import { describe, expect, test } from 'vitest'
import { chance } from '../../../../test/support/chance.ts'
import {
  FeedCursors,
  laterOrigin,
  type Origin,
  parseSnapshot,
  partsOfPlace,
  portionOf,
  type Snapshot,
  sees,
  upTo,
} from './feed-cursors.ts'

/** As the migration that makes a feed writes it. */
const firstOrigin = (at: number, position = 1_000): Origin => ({ cursor: at * 500 + 134_217_728, position, at })
const now = Date.parse('2026-11-27T00:00:00.123Z')
/** 2,000,000,000 seconds. */
const in2033 = Date.parse('2033-05-18T03:33:20.000Z')

describe('places in the feed', () => {
  test.each([1, 1_000])('times and cursors of places are whole numbers, at %i ms for a place', (unitMs) => {
    for (const at of [now, now + 1, now + 999]) {
      const cursors = new FeedCursors(firstOrigin(at), unitMs)
      for (const row of [0, 1, 7, 12_345].map((back) => ({ position: 0, at: at - back * unitMs }))) {
        const place = cursors.placeOf(row)
        const { from, to } = cursors.timesOf(place)
        for (const value of [place, from, to, cursors.cursorOf(place)]) expect(Number.isSafeInteger(value)).toBe(true)
        expect([from <= row.at, row.at < to]).toEqual([true, true])
      }
    }
  })

  test('a place and its part are recovered from each of its cursors', () => {
    const cursors = new FeedCursors(firstOrigin(now), 1)
    for (const place of [0, 5, cursors.placeOfPosition(1_000), cursors.placeOfPosition(5_000_000)])
      for (const isFinal of [false, true])
        for (let part = 0; part < partsOfPlace; part += 1)
          expect(cursors.placeOfCursor(cursors.cursorOf(place, part, isFinal))).toEqual({ place, part, isFinal })
  })

  test('places of rows from before the origin are below those of all later rows, whatever their time', () => {
    const cursors = new FeedCursors(firstOrigin(now), 1)
    const first = cursors.placeOf({ position: 1_000, at: 0 })
    for (const at of [0, now, Number.MAX_SAFE_INTEGER]) expect(cursors.placeOf({ position: 999, at })).toBeLessThan(first)
    expect(cursors.timesOf(0).from).toBe(0)
    expect(cursors.timesOf(first - 1).to).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('an origin of the feed', () => {
  /** The last cursor of a feed that ran at full speed, with 15 transactions in each millisecond. */
  const lastOf = (origin: Origin, until: number) =>
    new FeedCursors(origin, 1).cursorOf(
      new FeedCursors(origin, 1).placeOfPosition(origin.position + 15 * (until - origin.at)),
      partsOfPlace - 1,
      true,
    )

  test('a new origin lies above every earlier cursor, even those of transactions that the database has lost', () => {
    let origin = firstOrigin(now)
    for (const step of [0, 1, 1_000, 86_400_000, 10 * 365 * 86_400_000]) {
      const at = origin.at + step
      const last = lastOf(origin, at)
      // A backup from right after the origin: its database has hardly used a transaction.
      const next = laterOrigin(origin, { horizon: origin.position, known: 0, position: 17, at })
      expect(new FeedCursors(next, 1).first).toBeGreaterThan(last)
      origin = next
    }
  })

  test('a new origin lies above the cursor that its server knows, even if the clock goes back', () => {
    const origin = firstOrigin(now)
    const known = origin.cursor * 2
    const next = laterOrigin(origin, { horizon: 2_000, known, position: 5, at: now - 60_000 })
    expect(new FeedCursors(next, 1).first).toBeGreaterThan(known)
  })

  test('an origin has 16 digits from 2033 on, and its cursors exceed those of 15 digits', () => {
    const [before, after] = [firstOrigin(in2033 - 86_400_000 * 2), firstOrigin(in2033)]
    expect([before, after].map(({ cursor }) => String(cursor).length)).toEqual([15, 16])
    expect(new FeedCursors(after, 1).first).toBeGreaterThan(before.cursor)
    const cursors = new FeedCursors(after, 1)
    const cursor = cursors.cursorOf(cursors.placeOfPosition(1_000_000_007), 3, true)
    expect(cursors.cursorOf(cursors.placeOfCursor(cursor).place, 3, true)).toBe(cursor)
  })

  test('cursors stay exact until 2280, at full speed and with a new origin each day', () => {
    const end = Date.parse('2280-01-01T00:00:00Z')
    let origin = firstOrigin(now)
    for (let at = now; at < end; at += 86_400_000) {
      const position = origin.position + 15 * (at - origin.at)
      origin = laterOrigin(origin, { horizon: position, known: 0, position, at })
    }
    expect(origin.cursor).toBeGreaterThan(Number.MAX_SAFE_INTEGER * 0.9)
    expect(lastOf(origin, end)).toBeLessThan(Number.MAX_SAFE_INTEGER)
    // A database that is made late begins with its own time.
    expect(firstOrigin(Date.parse('2540-01-01T00:00:00Z')).cursor).toBeLessThan(Number.MAX_SAFE_INTEGER)
    expect(firstOrigin(Date.parse('2541-01-01T00:00:00Z')).cursor).toBeGreaterThan(Number.MAX_SAFE_INTEGER)
  })
})

describe('a snapshot of the feed', () => {
  const snapshot = parseSnapshot('10:20:10,13')

  test('a snapshot sees the transactions that ended before it', () => {
    expect([9, 10, 11, 13, 19, 20].filter((position) => sees(snapshot, position))).toEqual([9, 11, 19])
    expect(parseSnapshot('7:7:')).toEqual({ xmin: 7, xmax: 7, running: [] })
  })

  test('a snapshot up to a position sees no transaction from that position on', () => {
    const later = parseSnapshot('15:30:15,22')
    expect(upTo(snapshot, later, 25)).toEqual({ xmin: 15, xmax: 25, running: [15, 22] })
    expect(upTo(snapshot, later, 12)).toEqual({ xmin: 13, xmax: 20, running: [13] })
  })
})

describe('a portion of the feed', () => {
  const seen = parseSnapshot('10:20:10,13')
  const now = parseSnapshot('15:30:15,22')
  const rowsAt = (...positions: number[]) => positions.map((position) => ({ position, at: 0 }))

  test('a portion that is not full has all that the snapshot sees', () => {
    const all = { passed: now, below: Number.POSITIVE_INFINITY, hasMore: false }
    expect(portionOf(rowsAt(10, 21), 3, { seen, now })).toEqual(all)
    expect(portionOf([], 3, { seen, now })).toEqual(all)
  })

  test('a full portion leaves out its last transaction, which may have more rows', () => {
    const passed = { xmin: 15, xmax: 24, running: [15, 22] }
    expect(portionOf(rowsAt(10, 21, 24), 3, { seen, now })).toEqual({ passed, below: 24, hasMore: true })
  })

  test('a full portion of one transaction is all of that transaction', () => {
    const passed = { xmin: 15, xmax: 25, running: [15, 22] }
    expect(portionOf(rowsAt(24, 24, 24), 3, { seen, now })).toEqual({ passed, below: 25, wholeOf: 24, hasMore: true })
  })

  test('a full portion ends within those that were running before, and does not forget the others', () => {
    const passed = { xmin: 13, xmax: 20, running: [13] }
    expect(portionOf(rowsAt(10, 10, 13), 3, { seen, now })).toEqual({ passed, below: 13, hasMore: true })
  })

  test('a portion does not pass rows that were committed after the snapshot', () => {
    for (const rows of [rowsAt(24, 31, 32), rowsAt(32, 32, 32)]) {
      const { passed, below } = portionOf(rows, 3, { seen, now })
      expect(below).toBe(30)
      expect(passed).toEqual(now)
    }
  })

  test.each([1, 2, 3, 4, 5])('each row is in exactly one portion, however transactions overlap (seed %i)', (seed) => {
    const { next } = chance(seed)
    /** The rows that each open transaction will have written. */
    const open = new Map<number, number>()
    const committed: { position: number; at: number }[] = []
    const published: number[] = []
    let newest = 0
    let seen: Snapshot = { xmin: 1, xmax: 1, running: [] }
    const goOn = () => {
      for (const [position, count] of open) {
        if (next() < 0.7) continue
        open.delete(position)
        committed.push(...Array.from({ length: count }, () => ({ position, at: 0 })))
      }
    }
    const begin = () => open.set(++newest, Math.floor(next() * 6))
    const publish = () => {
      const running = [...open.keys()]
      const now = { xmin: Math.min(newest + 1, ...running), xmax: newest + 1, running }
      goOn()
      const unseen = committed.filter(({ position }) => !sees(seen, position)).sort((a, b) => a.position - b.position)
      const read = unseen.slice(0, 4)
      const { passed, below, wholeOf, hasMore } = portionOf(read, 4, { seen, now })
      const rows = wholeOf === undefined ? read : unseen.filter(({ position }) => position === wholeOf)
      for (const { position } of rows) if (position < below && sees(now, position)) published.push(position)
      seen = passed
      return hasMore
    }
    for (let round = 0; round < 300; round += 1) {
      begin()
      goOn()
      if (next() < 0.6) publish()
    }
    while (open.size > 0) goOn()
    while (publish());
    const inOrder = (positions: number[]) => positions.toSorted((a, b) => a - b)
    expect(inOrder(published)).toEqual(inOrder(committed.map(({ position }) => position)))
  })
})
