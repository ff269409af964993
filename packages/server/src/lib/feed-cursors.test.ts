import { describe, expect, test } from 'vitest'
import { FeedCursors, laterOrigin, type Origin, parseSnapshot, partsOfPlace, sees, upTo } from './feed-cursors.ts'

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
