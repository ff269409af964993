import { vi } from 'vitest'

/**
 * Replaces `setTimeout` and `clearTimeout` until `vi.useRealTimers()`, but not for Node's own `fetch`, which on some Nodes takes
 * its timers from the same globals: `vi.getTimerCount()` tells of ours alone.
 */
export function useFakeTimers(): void {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { setTimeout: fakeSet, clearTimeout: fakeClear } = globalThis
  const isOfNode = () => /node:internal/.test(new Error().stack?.split('\n')[3] ?? '')
  const set = (...given: Parameters<typeof setTimeout>) => (isOfNode() ? realSet(...given) : fakeSet(...given))
  const clear = (timer: Parameters<typeof clearTimeout>[0]) => (isOfNode() ? realClear(timer) : fakeClear(timer))
  // With what the fakes carry, by which they are taken away again.
  Object.assign(globalThis, { setTimeout: Object.assign(set, fakeSet), clearTimeout: Object.assign(clear, fakeClear) })
}
