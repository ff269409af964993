import type { TestService } from './service.ts'

/** Stops the clock of a service at the start of a 30-second step. Only `advance` moves it. */
export function freezeClock(service: TestService): TestService {
  let now = Math.ceil(service.deps.clock() / 30_000) * 30_000
  service.deps.clock = () => now
  service.advance = (seconds) => {
    now += seconds * 1000
  }
  return service
}
