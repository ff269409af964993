import { vi } from 'vitest'

/**
 * Replaces `setTimeout` and `clearTimeout` until `vi.useRealTimers()`, except for Node's own `fetch`, which on some versions of
 * Node takes its timers from the same globals. So `vi.getTimerCount()` counts only our timers.
 */
export function useFakeTimers(): void {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { setTimeout: fakeSet, clearTimeout: fakeClear } = globalThis
  const isOfNode = () => /node:internal/.test(new Error().stack?.split('\n')[3] ?? '')
  const set = (...given: Parameters<typeof setTimeout>) => (isOfNode() ? realSet(...given) : fakeSet(...given))
  const clear = (timer: Parameters<typeof clearTimeout>[0]) => (isOfNode() ? realClear(timer) : fakeClear(timer))
  // With the properties of the fakes, by which vitest removes them again.
  Object.assign(globalThis, { setTimeout: Object.assign(set, fakeSet), clearTimeout: Object.assign(clear, fakeClear) })
}
