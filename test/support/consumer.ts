// A consumer backend that talks to the service without the SDK: assertions, and the feed by polling and as a stream.
import { hash, hkdfSync } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { CONSUMER_KEY_INFO, keyIdOf } from '@gatehouse/sdk/protocol'
import { onTestFinished } from 'vitest'
import { ACCESS_SECRET, type Json } from './client.ts'
import { forgeToken } from './forge-token.ts'

export interface AssertionOptions {
  /** The secret that the consumer signs with. */
  secret?: string
  claims?: Record<string, unknown>
  header?: { alg?: 'HS256' | 'HS384' | 'HS512'; [name: string]: unknown }
  /** The consumer's clock, in milliseconds. */
  now?: number
}

export function kidOf(secret: string): string {
  return keyIdOf(secret, hash)
}

/** The assertion of a consumer of an app. It is valid for 30 seconds unless `claims` says otherwise. */
export function assertionOf(app: { code: string }, options: AssertionOptions = {}): string {
  const { secret = ACCESS_SECRET, claims = {}, header = {}, now = Date.now() } = options
  const key = Buffer.from(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, 32))
  const iat = Math.floor(now / 1000)
  const whole = { sub: app.code, iat, exp: iat + 30, kids: [kidOf(secret)], ...claims }
  return forgeToken(whole, { secret: key, header: { typ: 'consumer+jwt', ...header } })
}

export interface StreamEvent {
  id: string | undefined
  event: string
  data: Json
}

export interface EventStream {
  status: number
  headers: IncomingMessage['headers']
  events: StreamEvent[]
  /** The lines that begin with a colon. */
  comments: string[]
  /** Resolves with the first event that fits, whether it has already arrived or not. */
  next(fits: (event: StreamEvent) => boolean, timeoutMs?: number): Promise<StreamEvent>
  /** Resolves when the stream is over: `end` if the server ended it properly, else `cut`. */
  ended: Promise<'end' | 'cut'>
  pause(): void
  resume(): void
  close(): void
}

/** Opens a stream of server-sent events; it is closed when the test ends. */
export async function openEventStream(
  url: string,
  token: string,
  { lastEventId, onEnd = onTestFinished }: { lastEventId?: number | string; onEnd?: (fn: () => void) => void } = {},
): Promise<EventStream> {
  let sent: ClientRequest | undefined
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    }
    sent = request(url, { headers, agent: false }, resolve)
    sent.on('error', reject)
    sent.end()
  })
  const close = () => void sent?.destroy()
  onEnd(close)
  const events: StreamEvent[] = []
  const comments: string[] = []
  const waiting = new Set<() => void>()
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split('\n')
      comments.push(...lines.filter((line) => line.startsWith(':')))
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data !== undefined) events.push({ id: field('id'), event: field('event') ?? 'message', data: JSON.parse(data) })
    }
    for (const look of waiting) look()
  })
  const ended = new Promise<'end' | 'cut'>((resolve) => {
    response.once('end', () => resolve('end'))
    response.once('error', () => resolve('cut'))
    response.once('close', () => resolve('cut'))
  })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    comments,
    ended,
    close,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    next(fits, timeoutMs = 60_000) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`no such event in ${timeoutMs} ms; there were ${JSON.stringify(events).slice(0, 1_000)}`))
        }, timeoutMs)
        const look = () => {
          const found = events.find(fits)
          if (!found) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
    },
  }
}
