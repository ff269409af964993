import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, onTestFinished, vi } from 'vitest'
import { useFakeTimers } from './test-timers.ts'
import { NOW } from './test-tokens.ts'
import { portOf } from './testing/fake-service.ts'

// Servers that speak the service's protocol, or something like it, and a clock that a test moves. The network is real.

export interface ReceivedRequest {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void

export const answer =
  (status: number, body: object = {}, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(JSON.stringify(body))

/** Nothing listens here. */
export const NOWHERE = 'http://127.0.0.1:9'

/** Starts a service that answers with `service.answer`, which a test may replace. It stops with the test. */
export async function buildService(first: Answer) {
  const requests: ReceivedRequest[] = []
  const service = { url: '', answer: first, requests }
  const server = createServer(async (incoming, response) => {
    let text = ''
    for await (const chunk of incoming) text += chunk
    const { method, url, headers } = incoming
    const request = { method, url, headers, body: text === '' ? undefined : JSON.parse(text) }
    service.requests.push(request)
    service.answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  service.url = `http://127.0.0.1:${portOf(server)}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return service
}

/** Replaces the clock and the timers, which then stand still until `advance` moves them; for `beforeEach`. */
export function stopTime() {
  let nowMs = NOW * 1000
  useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  return {
    now: () => nowMs,
    /** Moves them by a second at a time, and lets the network run in between. */
    async advance(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 1_000) {
        nowMs += Math.min(left, 1_000)
        vi.advanceTimersByTime(Math.min(left, 1_000))
        await settle(2)
      }
    },
  }
}

/** A clock that stands still in each test of a file, as by `stopTime`. */
export function stoppedClock(): ReturnType<typeof stopTime> {
  let time: ReturnType<typeof stopTime>
  beforeEach(() => {
    time = stopTime()
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  return { now: () => time.now(), advance: (ms) => time.advance(ms) }
}

/** Lets the network run until the condition holds. */
export async function until(holds: () => unknown): Promise<void> {
  for (const end = performance.now() + 5_000; !holds(); ) {
    if (performance.now() > end) throw new Error(`never: ${holds}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Lets the network run for a while, to show that something does not happen. */
export async function settle(ms = 60): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) await new Promise((resolve) => setImmediate(resolve))
}
