import { type Caller, callService, type ServiceRequest, type Timer } from './call-service.ts'
import type { AuthError } from './errors.ts'

/**
 * Calls the service and retries what may succeed later, up to `retries` times and within `withinMs`. Each wait is what the
 * service asks for, 1 s by default, plus a random time whose limit doubles up to a minute. Calls `onWait` before each wait.
 * Rejects with the reason of `signal` when that is aborted.
 */
export async function callPatiently<Answer>(
  config: Caller,
  request: ServiceRequest,
  withinMs = Number.MAX_VALUE,
  retries = Number.MAX_VALUE,
  onWait?: (error: AuthError, ms: number, timer: Timer) => void,
): Promise<Answer> {
  const { now } = config
  const { signal } = request
  const end = now() + withinMs
  for (let failures = 0; ; failures += 1) {
    signal.throwIfAborted()
    try {
      return await callService<Answer>(config, request, Math.min(10_000, end - now()))
    } catch (thrown) {
      signal.throwIfAborted()
      const error = thrown as AuthError
      const asked = Math.min(60, Math.max(1, Number(error.headers['Retry-After']) || 1))
      const ms = 1_000 * asked + Math.random() * Math.min(59_000, 1_000 * 2 ** failures)
      if (!error.retryable || failures >= retries || now() + ms >= end) throw error
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        signal.addEventListener('abort', wake)
        onWait?.(error, ms, timer)
      })
    }
  }
}
