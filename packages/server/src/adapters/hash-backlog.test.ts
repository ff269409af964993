import { describe, expect, test } from 'vitest'
import { HashBacklog } from './hash-backlog.ts'

/** Adds jobs until the backlog is full. Returns their number. */
function fill(backlog: HashBacklog, cost: number, atOnce = 1): number {
  let taken = 0
  for (; !backlog.isFull(atOnce); taken += 1) backlog.add(cost)
  return taken
}

function learn(backlog: HashBacklog, cost: number, ms: number): void {
  for (let hash = 0; hash < 200; hash += 1) backlog.learn(cost, ms)
}

describe('the backlog of hashes', () => {
  test('takes three seconds of work for each that is worked on at the same time, by the measured time of a hash', () => {
    for (const atOnce of [1, 24]) {
      const backlog = new HashBacklog()
      learn(backlog, 10, 100)
      expect(fill(backlog, 10, atOnce)).toBeCloseTo(30 * atOnce + 1, -1)
    }
  })

  test('begins with an estimate, and follows a machine that is slower or faster', () => {
    const backlog = new HashBacklog()
    expect(fill(backlog, 12)).toBe(10)
    while (backlog.isFull(1)) backlog.remove(12)
    learn(backlog, 12, 3_000)
    expect(backlog.isFull(1)).toBe(true)
    learn(backlog, 12, 10)
    expect(fill(backlog, 12)).toBeGreaterThan(280)
  })

  test('one hash that was held up for long changes little', () => {
    const backlog = new HashBacklog()
    learn(backlog, 4, 1)
    backlog.learn(4, 200)
    expect(fill(backlog, 4)).toBeGreaterThan(250)
  })

  test('weighs each hash by its own cost', () => {
    const backlog = new HashBacklog()
    learn(backlog, 4, 1)
    learn(backlog, 12, 1_000)
    for (let job = 0; job < 500; job += 1) backlog.add(4)
    expect(fill(backlog, 12)).toBe(3)
    for (let job = 0; job < 3; job += 1) backlog.remove(12)
    expect(fill(backlog, 4)).toBeGreaterThan(2_400)
  })

  test('takes a hash while it can be begun at once, however long the others need', () => {
    const backlog = new HashBacklog()
    learn(backlog, 15, 20_000)
    expect(fill(backlog, 15, 3)).toBe(3)
  })

  test('is bounded in number where hashes cost next to nothing', () => {
    const backlog = new HashBacklog()
    learn(backlog, 4, 0.01)
    expect(fill(backlog, 4, 4)).toBe(5_000)
  })
})
