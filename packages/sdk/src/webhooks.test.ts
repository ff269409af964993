import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { AuthError } from './errors.ts'
import { verifyWebhook, WebhookError, type WebhookHeaders } from './webhooks.ts'

// Messages are signed by the reference implementation of Standard Webhooks.

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const secret = newSecret()
const now = () => 1_790_000_000_000
const id = '0197c2f0-0000-7000-8000-000000000001'
const event = {
  id,
  event: 'user.registered',
  occurred_at: '2026-01-31T12:00:00.000Z',
  app: { id: 'a-1', code: 'shop', name: 'Shop' },
  user: { id: 'u-1', email: 'zoë@example.com' },
  organization: null,
  registration: { email: 'Zoë@example.com', ünknown: [1, '😀'] },
  context: { ip: null, user_agent: null, request_id: null },
}
const body = JSON.stringify(event)

function headersOf(text = body, { at = now(), signedWith = secret, messageId = id } = {}): Record<string, string> {
  const date = new Date(at)
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(at / 1000),
    'webhook-signature': new Webhook(signedWith).sign(messageId, date, text),
  }
}

const verify = (headers: WebhookHeaders, text: string | Uint8Array | ArrayBuffer = body, secrets: string | string[] = secret) =>
  verifyWebhook(headers, text, secrets, { now })
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'verified',
    (error) => error.code,
  )

test('a genuine message gives its event, in any form of body and headers', async () => {
  const headers = headersOf()
  const bytes = new TextEncoder().encode(body)
  for (const text of [body, bytes, bytes.buffer, Buffer.from(body)]) expect(await verify(headers, text)).toEqual(event)
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
  for (const each of [new Headers(headers), upper]) expect(await verify(each)).toEqual(event)
})

test('the type of an event gives its members', async () => {
  const { event: name, user, registration } = await verify(headersOf())
  expect(name satisfies 'user.registered').toBe('user.registered')
  expect(user.email satisfies string).toBe('zoë@example.com')
  // @ts-expect-error a stranger wrote it
  expect(registration.email satisfies string).toBe('Zoë@example.com')
})

test('a message signed with either secret is accepted during a rotation', async () => {
  const next = newSecret()
  expect(await codeOf(verify(headersOf(), body, [next, secret]))).toBe('verified')
  expect(await codeOf(verify(headersOf(body, { signedWith: next }), body, [next, secret]))).toBe('verified')
  const both = headersOf()
  both['webhook-signature'] =
    `v1a,AAAA ${headersOf(body, { signedWith: newSecret() })['webhook-signature']} ${both['webhook-signature']}`
  expect(await codeOf(verify(both))).toBe('verified')
})

test.each([
  ['another secret', headersOf(body, { signedWith: newSecret() }), body],
  ['another body', headersOf(), body.replace('u-1', 'u-2')],
  ['another id', { ...headersOf(), 'webhook-id': 'other' }, body],
  ['another time', { ...headersOf(), 'webhook-timestamp': '1789999999' }, body],
  ['no version before the signature', { ...headersOf(), 'webhook-signature': headersOf()['webhook-signature']!.slice(3) }, body],
  ['another version', { ...headersOf(), 'webhook-signature': headersOf()['webhook-signature']!.replace('v1', 'v2') }, body],
  ['a signature that was cut', { ...headersOf(), 'webhook-signature': headersOf()['webhook-signature']!.slice(0, -1) }, body],
  ['a signature that goes on', { ...headersOf(), 'webhook-signature': `${headersOf()['webhook-signature']}A` }, body],
])('a message with %s is refused', async (_, headers, text) => {
  expect(await codeOf(verify(headers, text))).toBe('WEBHOOK_SIGNATURE')
})

test('a message is accepted for five minutes around its time, or within toleranceSec', async () => {
  const at = (seconds: number) => headersOf(body, { at: now() + seconds * 1000 })
  for (const seconds of [-300, 0, 300]) expect(await codeOf(verify(at(seconds)))).toBe('verified')
  for (const seconds of [-301, 301]) expect(await codeOf(verify(at(seconds)))).toBe('WEBHOOK_TIMESTAMP')
  expect(await codeOf(verifyWebhook(at(-20), body, secret, { now, toleranceSec: 10 }))).toBe('WEBHOOK_TIMESTAMP')
  expect(await codeOf(verifyWebhook(at(0), body, secret, { now: () => Number.NaN }))).toBe('WEBHOOK_TIMESTAMP')
})

test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
  'a message without %s is refused, and the error names the header',
  async (name) => {
    const { [name]: _, ...headers } = headersOf()
    const error: unknown = await verify(headers).catch((thrown) => thrown)
    expect(WebhookError.is(error, 'WEBHOOK_HEADERS')).toBe(true)
    expect(error).toMatchObject({ status: 400, hint: expect.stringContaining(name) })
  },
)

test.each(['', '1e9', '-1', '179000000000000', '0x10', ' '])('the time "%s" is refused', async (timestamp) => {
  expect(await codeOf(verify({ ...headersOf(), 'webhook-timestamp': timestamp }))).toBe('WEBHOOK_HEADERS')
})

test.each([
  ['{', id],
  ['null', id],
  ['{"id":"x"}', id],
  [body, 'another id'],
])('a genuine message %s under the id %s is refused as an event', async (text, messageId) => {
  expect(await codeOf(verify(headersOf(text, { messageId }), text))).toBe('WEBHOOK_BODY')
})

test('a fault of the program is named: a parsed body or an invalid secret', async () => {
  const faults: [unknown, unknown, RegExp][] = [
    [JSON.parse(body), secret, /rawBody/],
    [body, 'secret', /whsec_/],
    [body, 'whsec_', /whsec_/],
    [body, 'whsec_A', /whsec_/],
    [body, undefined, /whsec_/],
    [body, [], /missing/],
    [body, [secret, ''], /whsec_/],
    [body, `whsec_${randomBytes(23).toString('base64')}`, /24 bytes or more, has 23/],
    [body, [secret, 'whsec_AA=='], /24 bytes or more, has 1/],
  ]
  for (const [text, secrets, message] of faults) {
    const error: unknown = await verifyWebhook(headersOf(), text as string, secrets as string, { now }).catch((thrown) => thrown)
    expect(AuthError.is(error, 'CONFIG_INVALID')).toBe(true)
    expect(String(error)).toMatch(message)
  }
})

test('an error contains nothing of the message or the secret', async () => {
  const errors = await Promise.all([
    verify(headersOf(), `${body} `).catch((error) => error),
    verify(headersOf('{'), '{').catch((error) => error),
    verifyWebhook(headersOf(), body, 'whsec_not base64 but secret').catch((error) => error),
  ])
  for (const error of errors)
    expect(JSON.stringify({ ...error, text: String(error.stack) })).not.toMatch(/zoë|not base64 but|v1,/)
})
