import { expect, test } from 'vitest'
import { FairQueue } from './fair-queue.ts'

const line = (key: string, turns = 1) => ({ key, turns })

function fill(queue: FairQueue<string>, key: string, count: number, turns = 1): void {
  for (let index = 1; index <= count; index += 1) queue.add(line(key, turns), `${key}${index}`)
}

function drain(queue: FairQueue<string>): string[] {
  return Array.from({ length: queue.size }, () => next(queue)!)
}

const next = (queue: FairQueue<string>) => queue.next()?.item

test('lines take turns, and each line keeps its order', () => {
  const queue = new FairQueue<string>()
  fill(queue, 'a', 4)
  fill(queue, 'b', 1)
  fill(queue, 'c', 2)
  expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4'])
  expect(queue.next()).toBeUndefined()
})

test('a source at its limit of running work is passed over until some of it is released', () => {
  const queue = new FairQueue<string>()
  fill(queue, 'flood', 4)
  fill(queue, 'backend', 3, 8)
  const first = queue.next(1)!
  expect([queue.next(1)?.item, queue.next(1)?.item, queue.next(1)?.item]).toEqual(['backend1', 'backend2', 'backend3'])
  expect(queue.next(1)).toBeUndefined()
  fill(queue, 'late', 1)
  expect(queue.next(1)?.item).toBe('late1')
  first.release()
  expect(queue.next(1)?.item).toBe('flood2')
  expect(queue.next(1)).toBeUndefined()
  expect(next(queue)).toBe('flood3')
})

test('a newcomer is served second, however long the line before it is', () => {
  const queue = new FairQueue<string>()
  fill(queue, 'flood', 1_000)
  expect(next(queue)).toBe('flood1')
  fill(queue, 'late', 1)
  expect([next(queue), next(queue)]).toEqual(['flood2', 'late1'])
})

test('a line is served as often in a row as it has turns', () => {
  const queue = new FairQueue<string>()
  fill(queue, 'backend', 5, 3)
  fill(queue, 'a', 2)
  expect(drain(queue)).toEqual(['backend1', 'backend2', 'backend3', 'a1', 'backend4', 'backend5', 'a2'])
})

test('lines of one source share its turns, and take turns among themselves', () => {
  const queue = new FairQueue<string>()
  for (let device = 1; device <= 3; device += 1)
    for (const item of ['x', 'y']) queue.add({ key: `device ${device}`, turns: 1, source: 'flood' }, `${device}${item}`)
  fill(queue, 'a', 2)
  expect(drain(queue)).toEqual(['1x', 'a1', '2x', 'a2', '3x', '1y', '2y', '3y'])
})

test('a full queue drops the newest item in the longest line of the source with the most work', () => {
  const queue = new FairQueue<string>()
  for (let device = 1; device <= 5; device += 1) queue.add({ key: `device ${device}`, turns: 1, source: 'flood' }, `${device}`)
  queue.add({ key: 'device 2', turns: 1, source: 'flood' }, 'more of 2')
  fill(queue, 'late', 1)
  expect([queue.takeNewest(), queue.takeNewest(), queue.takeNewest()]).toEqual(['more of 2', '5', '4'])
  expect(drain(queue)).toEqual(['1', 'late1', '2', '3'])
})

test('a full queue drops the newest item of the longest line, measured by the turns of each line', () => {
  const queue = new FairQueue<string>()
  fill(queue, 'backend', 8, 8)
  fill(queue, 'flood', 3)
  fill(queue, 'a', 1)
  expect([queue.takeNewest(), queue.takeNewest(), queue.takeNewest(), queue.takeNewest()]).toEqual([
    'flood3',
    'flood2',
    'a1',
    'flood1',
  ])
  expect(queue.size).toBe(8)
  expect(queue.takeNewest()).toBe('backend8')
  expect(drain(queue)).toEqual(['backend1', 'backend2', 'backend3', 'backend4', 'backend5', 'backend6', 'backend7'])
  expect(queue.takeNewest()).toBeUndefined()
})
