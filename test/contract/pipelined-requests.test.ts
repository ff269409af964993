// Requests that a client sends on one connection without waiting for the answers.
import { expect, test } from 'vitest'
import { serviceFixture } from '../support/fixtures.ts'
import { sendBytes } from '../support/hostile-http.ts'

const service = serviceFixture()

/** Sends that number of requests at once, of which the last ends the connection. Returns the ids of the answers, in their order. */
async function sendAhead(count: number): Promise<string[]> {
  const requests = Array.from({ length: count }, (_, i) => {
    const connection = i === count - 1 ? 'close' : 'keep-alive'
    return `GET /api/v1/health HTTP/1.1\r\nhost: x\r\nx-request-id: n-${i}\r\nconnection: ${connection}\r\n\r\n`
  })
  const answers = await sendBytes(Number(new URL(service.url).port), Buffer.from(requests.join('')), { quietMs: 15_000 })
  return [...answers.matchAll(/^x-request-id: (\S+)/gim)].map(([, id]) => id!)
}

test('pipelined requests are answered in order', async () => {
  expect(await sendAhead(100)).toEqual(Array.from({ length: 100 }, (_, i) => `n-${i}`))
})

test('a connection with more than a hundred waiting requests is closed, and delays no other', async () => {
  const [ids, other] = await Promise.all([sendAhead(700), service.call('GET', '/health')])
  expect(ids.length).toBeLessThan(102)
  expect(other.status).toBe(200)
  expect(await sendAhead(2)).toEqual(['n-0', 'n-1'])
})
