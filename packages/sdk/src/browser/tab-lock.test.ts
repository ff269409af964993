import { expect, test } from 'vitest'
import type { Platform } from './platform.ts'
import { withTabLock } from './tab-lock.ts'
import { later } from './test-platform.ts'

const { locks } = (globalThis.navigator ?? {}) as unknown as Partial<Platform>
const hasLocks = locks !== undefined

test('withTabLock runs the work also in a browser without locks', async () => {
  expect(await withTabLock({ locks: undefined }, 'none', async () => 'done')).toBe('done')
})

test.skipIf(!hasLocks)('two calls with the same name take turns', async () => {
  const order: string[] = []
  const work = (name: string) => async () => {
    order.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    order.push(`${name} ends`)
  }
  await Promise.all([withTabLock({ locks }, 'turns', work('a')), withTabLock({ locks }, 'turns', work('b'))])
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

test.skipIf(!hasLocks)('a tab that holds the lock too long does not block another', async () => {
  const work = later()
  const held = withTabLock({ locks }, 'held', () => work.promise)
  expect(
    await withTabLock(
      { locks },
      'held',
      async () => 'done',
      () => 0,
      1,
    ),
  ).toBe('done')
  work.resolve()
  await held
})

test.skipIf(!hasLocks)('work that fails is not run again', async () => {
  let runs = 0
  const work = async () => {
    runs += 1
    throw new Error('no')
  }
  await expect(withTabLock({ locks }, 'fails', work)).rejects.toThrow('no')
  expect(runs).toBe(1)
})

test.skipIf(!hasLocks)('the next tab waits until it sees what the previous one has written', async () => {
  const seen = { here: 1, there: 1 }
  await withTabLock(
    { locks },
    'lags',
    async () => {
      seen.here = 2
    },
    () => seen.here,
  )
  setTimeout(() => {
    seen.there = 2
  }, 100)
  expect(
    await withTabLock(
      { locks },
      'lags',
      async () => seen.there,
      () => seen.there,
    ),
  ).toBe(2)
})

test.skipIf(!hasLocks)(
  'a tab does not wait long for a change that never comes, or at all for one under another name',
  async () => {
    await withTabLock(
      { locks },
      'lost',
      async () => {},
      () => 7,
    )
    let looks = 0
    expect(
      await withTabLock(
        { locks },
        'los',
        async () => 'done',
        () => {
          looks += 1
          return 1
        },
      ),
    ).toBe('done')
    // Once before the work and once after it.
    expect(looks).toBe(2)
    expect(
      await withTabLock(
        { locks },
        'lost',
        async () => 'done',
        () => 1,
      ),
    ).toBe('done')
  },
)

test('a browser that refuses locks does not block the work', async () => {
  const refusing = { request: () => Promise.reject(new Error('SecurityError')) } as never
  expect(await withTabLock({ locks: refusing }, 'refused', async () => 'done')).toBe('done')
})
