import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { HashQueueFullError } from '../lib/unavailable.ts'
import { HashBacklog, PasswordHasher } from './password-hasher.ts'

const line = { key: 'address:192.0.2.1', turns: 1 }

function buildHasher(options: { cost: number; threads: number }) {
  const observer = { worked() {}, refused: vi.fn(), fellBack() {} }
  const hasher = new PasswordHasher({ ...options, observer })
  onTestFinished(() => hasher.close())
  return { hasher, refused: () => observer.refused.mock.calls.length }
}

test('the hasher takes three seconds of work, refuses further hashes at once, and then has room again', async () => {
  const { hasher, refused } = buildHasher({ cost: 11, threads: 1 })
  // After these, the hasher knows how long a hash takes on this machine.
  for (let hash = 0; hash < 10; hash += 1) await hasher.hash('password', line)
  const started = performance.now()
  const refusedAfter: number[] = []
  const hashes = Array.from({ length: 1_000 }, () =>
    hasher.hash('password', line).catch((error) => {
      refusedAfter.push(performance.now() - started)
      expect(error).toBeInstanceOf(HashQueueFullError)
    }),
  )
  const taken = (await Promise.all(hashes)).filter((hash) => hash !== undefined)
  expect(taken.length).toBeGreaterThanOrEqual(2)
  expect(taken.length + refusedAfter.length).toBe(1_000)
  expect(refusedAfter.length).toBeGreaterThan(0)
  expect(refused()).toBe(refusedAfter.length)
  expect(Math.max(...refusedAfter)).toBeLessThan(1_000)
  expect(await hasher.verify('password', taken[0], line)).toBe(true)
})

test('hundreds of hashes of low cost may wait, and all are done', async () => {
  const { hasher, refused } = buildHasher({ cost: 4, threads: 1 })
  const hashes = Array.from({ length: 300 }, () => hasher.hash('password', line))
  expect(hasher.queueLength).toBeGreaterThan(200)
  expect(new Set(await Promise.all(hashes)).size).toBe(300)
  expect(refused()).toBe(0)
})

test('a thread works on four passwords at once, and a single one does not wait for others', async () => {
  const { hasher } = buildHasher({ cost: 4, threads: 1 })
  const hashes = Array.from({ length: 4 }, () => hasher.hash('password', line))
  expect(hasher.queueLength).toBe(0)
  hashes.push(hasher.hash('password', line))
  expect(hasher.queueLength).toBe(1)
  for (const hash of await Promise.all(hashes)) expect(await hasher.verify('password', hash, line)).toBe(true)
})

test('results that arrive together leave turns of the event loop to other work between them', async () => {
  const { hasher } = buildHasher({ cost: 4, threads: 1 })
  let turn = 0
  let isDone = false
  const countTurns = () => {
    turn += 1
    if (!isDone) setImmediate(countTurns)
  }
  countTurns()
  const turns = await Promise.all(Array.from({ length: 80 }, () => hasher.hash('password', line).then(() => turn)))
  isDone = true
  // Four lanes that start together finish together. Without a pause between their results, that makes only twenty turns.
  expect(new Set(turns).size).toBeGreaterThan(60)
})

test('each of several sources has at most half of the lanes, so the next source does not wait', async () => {
  const { hasher } = buildHasher({ cost: 4, threads: 1 })
  const all = [hasher.hash('password', { key: 'address:192.0.2.2', turns: 1 })]
  for (let hash = 0; hash < 10; hash += 1) all.push(hasher.hash('password', line))
  // Of the eleven hashes, three are running: one of the first source, and two of the other, which has half of the four lanes.
  expect(hasher.queueLength).toBe(8)
  all.push(hasher.hash('password', { key: 'address:192.0.2.3', turns: 1 }))
  expect(hasher.queueLength).toBe(8)
  await Promise.all(all)
})

test('a hash made by another system is weighed by its own cost', async () => {
  const { hasher } = buildHasher({ cost: 4, threads: 1 })
  const dear = `$2b$15$${'.'.repeat(53)}`
  const waiting = Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => hasher.verify('password', dear, line)))
  await expect(hasher.hash('password', line)).rejects.toThrow(HashQueueFullError)
  // Do not wait for these seconds of work.
  await hasher.close()
  await waiting
})

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
  test('the backlog holds three seconds of work for each lane, by the measured time of a hash', () => {
    for (const atOnce of [1, 24]) {
      const backlog = new HashBacklog()
      learn(backlog, 10, 100)
      expect(fill(backlog, 10, atOnce)).toBeCloseTo(30 * atOnce + 1, -1)
    }
  })

  test('the backlog begins with an estimate, and adapts to a slower or faster machine', () => {
    const backlog = new HashBacklog()
    expect(fill(backlog, 12)).toBe(10)
    while (backlog.isFull(1)) backlog.remove(12)
    learn(backlog, 12, 3_000)
    expect(backlog.isFull(1)).toBe(true)
    learn(backlog, 12, 10)
    expect(fill(backlog, 12)).toBeGreaterThan(280)
  })

  test('the backlog hardly changes when one hash was held up for long', () => {
    const backlog = new HashBacklog()
    learn(backlog, 4, 1)
    backlog.learn(4, 200)
    expect(fill(backlog, 4)).toBeGreaterThan(250)
  })

  test('the backlog weighs each hash by its own cost', () => {
    const backlog = new HashBacklog()
    learn(backlog, 4, 1)
    learn(backlog, 12, 1_000)
    for (let job = 0; job < 500; job += 1) backlog.add(4)
    expect(fill(backlog, 12)).toBe(3)
    for (let job = 0; job < 3; job += 1) backlog.remove(12)
    expect(fill(backlog, 4)).toBeGreaterThan(2_400)
  })

  test('the backlog takes a hash that can begin at once, however long the others need', () => {
    const backlog = new HashBacklog()
    learn(backlog, 15, 20_000)
    expect(fill(backlog, 15, 3)).toBe(3)
  })

  test('the backlog has a maximum number of hashes that cost almost nothing', () => {
    const backlog = new HashBacklog()
    learn(backlog, 4, 0.01)
    expect(fill(backlog, 4, 4)).toBe(5_000)
  })
})
