import { PassThrough, pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import type { Snapshot } from '../lib/feed-cursors.ts'
import { type HubEvent, type HubLimits, RevocationHub, type StreamOwner, Turns } from './revocation-hub.ts'

afterEach(() => {
  vi.useRealTimers()
})

const event = (position: number, appId: string | null = null): HubEvent => ({
  position,
  appId,
  form: 1,
  frame: Buffer.from(`${position};`),
})
/** Sees every position up to this one, but for those that are running. */
const upTo = (last: number, ...running: number[]): Snapshot => ({ xmin: Math.min(last + 1, ...running), xmax: last + 1, running })

const owner: StreamOwner = { appId: 'app', appCode: 'shop', standing: 'as authenticated', kids: [], form: 1 }

/** A stream that has caught up, and the text that its reader has received. */
function listen(hub: RevocationHub, appId = 'app', form: 1 | 2 = 1) {
  const stream = hub.open({ ...owner, appId, kids: ['00000000'], form })!
  stream.goLive(upTo(0))
  const chunks: string[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  return { stream, text: () => chunks.join('').replace(': open\n\n', '') }
}

function buildHub(limits: Partial<HubLimits> = {}): RevocationHub {
  return new RevocationHub(limits)
}

test('an event goes to the streams of its app, and an event for all apps goes to every stream', async () => {
  const hub = buildHub()
  const [one, two] = [listen(hub, 'one'), listen(hub, 'two')]
  await hub.publish([event(1, 'one'), event(2), event(3, 'two'), event(4, 'three')], upTo(4))
  await sleep(1)
  expect([one.text(), two.text()]).toEqual(['1;2;', '2;3;'])
})

test('an event of the second form goes only to readers that understand it, and the next events follow', async () => {
  const hub = buildHub()
  const [first, second] = [listen(hub), listen(hub, 'app', 2)]
  await hub.publish([{ ...event(1, 'app'), form: 2 }, event(2, 'app')], upTo(2))
  await sleep(1)
  expect([first.text(), second.text()]).toEqual(['2;', '1;2;'])
})

test('a stream gets events that are published while it catches up, but none that it has read itself', async () => {
  const hub = buildHub()
  const stream = hub.open(owner)!
  const chunks: string[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  await hub.publish([event(5), event(6), event(8)], upTo(8, 7))
  expect([stream.isLive, chunks.join('')]).toEqual([false, ': open\n\n'])
  // It has read 5, 8 and 9. Meanwhile 6 was still running.
  stream.goLive(upTo(9, 6, 7))
  await hub.publish([event(9)], upTo(9, 7))
  await hub.publish([event(7), event(10)], upTo(10))
  await sleep(1)
  expect(chunks.join('').replace(': open\n\n', '')).toBe('6;7;10;')
})

test('after a failover, live streams start over and those that are catching up are cut', async () => {
  const hub = buildHub()
  const live = listen(hub)
  const behind = hub.open(owner)!
  await hub.startOver(Buffer.from('reset;'))
  // Numbers of the new history may be lower than those of the former one.
  await hub.publish([event(0)], upTo(0))
  await sleep(1)
  expect([live.text(), behind.destroyed]).toEqual(['reset;0;', true])
})

test('a heartbeat comes every 15 seconds, and a reader that takes nothing between two of them is dropped', async () => {
  vi.useFakeTimers()
  const hub = buildHub()
  const awake = listen(hub)
  const stalled = hub.open(owner)!
  await vi.advanceTimersByTimeAsync(14_999)
  expect(awake.text()).toBe('')
  await vi.advanceTimersByTimeAsync(1)
  expect(awake.text()).toBe(': heartbeat\n\n')
  await vi.advanceTimersByTimeAsync(15_000)
  expect(awake.text()).toBe(': heartbeat\n\n: heartbeat\n\n')
  expect([awake.stream.destroyed, stalled.destroyed]).toEqual([false, true])
  expect(hub.streamCount).toBe(1)
  awake.stream.destroy()
  await vi.advanceTimersByTimeAsync(1)
  expect([hub.streamCount, vi.getTimerCount()]).toEqual([0, 0])
})

test('the bytes that wait for one reader are bounded, and a slow reader is dropped without loss for others', async () => {
  const hub = buildHub({ waitingBytes: 10_000 })
  const good = listen(hub)
  const slow = hub.open(owner)!
  slow.goLive(upTo(0))
  let most = 0
  for (let cursor = 1; cursor <= 50; cursor += 1) {
    await hub.publish([{ ...event(cursor), frame: Buffer.alloc(1_000, 'x') }], upTo(cursor))
    most = Math.max(most, slow.readableLength)
  }
  await sleep(1)
  expect(slow.destroyed).toBe(true)
  expect(most).toBeLessThanOrEqual(10_000)
  expect(good.text()).toHaveLength(50_000)
  expect(hub.streamCount).toBe(1)
})

test('the hub writes to a thousand streams in slices, so that other work runs in between', async () => {
  const hub = buildHub()
  const streams = Array.from({ length: 1_000 }, () => listen(hub))
  let turns = 0
  const count = () => {
    turns += 1
    if (turns < 1_000) setImmediate(count)
  }
  setImmediate(count)
  await hub.publish([event(1)], upTo(1))
  expect(turns).toBeGreaterThanOrEqual(9)
  await sleep(1)
  expect(streams.every(({ text }) => text() === '1;')).toBe(true)
})

test('the hub refuses streams beyond the limit and after its end', async () => {
  const hub = buildHub({ streams: 2 })
  const [one, two] = [listen(hub), listen(hub)]
  expect(hub.open(owner)).toBeUndefined()
  one.stream.destroy()
  await sleep(1)
  const three = listen(hub)
  const sink = new PassThrough()
  const end = new Promise((resolve) => pipeline(three.stream, sink, resolve))
  sink.resume()
  hub.close()
  expect(await end).toBeUndefined()
  await sleep(1)
  expect(two.stream.readableEnded).toBe(true)
  expect(hub.open(owner)).toBeUndefined()
  expect(hub.streamCount).toBe(0)
})

test('an app has a limited number of streams, and only streams of an outdated standing are ended', async () => {
  const hub = buildHub({ streams: 3, streamsOfApp: 2 })
  const outdated = listen(hub)
  const current = hub.open({ ...owner, standing: 'with the new key' })!
  current.resume()
  expect([hub.fullness('app'), hub.open(owner), hub.fullness('other')]).toEqual(['app', undefined, undefined])
  listen(hub, 'other')
  expect(hub.fullness('other')).toBe('process')
  expect(hub.owners().filter(({ appId }) => appId === 'app')).toHaveLength(2)
  hub.endApp('app', owner.standing)
  await sleep(1)
  expect([outdated.stream.readableEnded, current.readableEnded]).toEqual([true, false])
  expect(hub.fullness('app')).toBeUndefined()
})

test('the hub lists an owner once for each app and set of secrets, and a deleted app loses its streams', async () => {
  const hub = buildHub()
  const streams = [listen(hub, 'one'), listen(hub, 'one'), listen(hub, 'two')]
  hub.open({ ...owner, appId: 'one', kids: ['00000000', '11111111'] })
  expect(hub.owners()).toHaveLength(3)
  hub.endApp('one')
  await sleep(1)
  expect(streams.map(({ stream }) => stream.readableEnded)).toEqual([true, true, false])
  hub.endApp('nobody')
})

test('turns let a limited number of tasks run at once, in order, and continue after a failure', async () => {
  const turns = new Turns(2)
  let running = 0
  let most = 0
  const order: number[] = []
  const work = Array.from({ length: 10 }, (_, index) =>
    turns.take(async () => {
      running += 1
      most = Math.max(most, running)
      order.push(index)
      await sleep(1)
      running -= 1
      if (index === 3) throw new Error('this one fails')
      return index
    }),
  )
  const results = await Promise.allSettled(work)
  expect(most).toBe(2)
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
})
