// How webhooks are delivered to receivers that answer badly, late or never.
import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { signWebhook } from '../../packages/server/src/lib/webhook.ts'
import { startOutbox } from '../../packages/server/src/workers/outbox.ts'
import { createWebhookChannel } from '../../packages/server/src/workers/send-webhook.ts'
import { whsec } from '../support/app-fixtures.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { deliveriesOf, idle, passTime, sendWebhooks } from '../support/outbox.ts'
import { type Answer, hang, type Receiver, startReceiver } from '../support/receiver.ts'
import { selfSigned } from '../support/self-signed.ts'
import { buildApp, buildService, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture({}, { frozen: true })
/** Waits only half a second for a reply, for receivers that hang forever. */
const hasty = serviceFixture({}, { frozen: true })
beforeAll(async () => {
  sendWebhooks(service, {}, onFileEnd)
  sendWebhooks(hasty, { timeoutMs: 500 }, onFileEnd)
})

async function buildAppFor(url: string, on = service): Promise<Json> {
  return buildApp(on, { webhooks: [{ name: 'crm', url }] })
}

/** A receiver that replies with `answer`, an app with a webhook to it, and one user registered through the app. */
async function registerTowards(answer: Answer, on = service): Promise<{ app: Json; receiver: Receiver }> {
  const receiver = await startReceiver(answer)
  const app = await buildAppFor(`${receiver.url}/hook`, on)
  await buildUser(on, app)
  return { app, receiver }
}

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end()

// covers event-asynchronous
test('a registration is answered while the receiver of its webhook still holds the request', async () => {
  const patient = await buildService()
  sendWebhooks(patient, { timeoutMs: 600_000 })
  const held: Parameters<Answer>[0][] = []
  const { app, receiver } = await registerTowards((response) => void held.push(response), patient)
  await expect.poll(() => held.length).toBe(1)
  expect(receiver.unanswered()).toBe(1)
  held[0]!.writeHead(204).end()
  await deliveriesOf(patient, app, [{ status: 'delivered', attempts: 1 }])
})

describe('an attempt that fails', () => {
  // covers event-attempts limit-webhook
  test('an attempt fails if the receiver hangs, drips its headers or drips its body', async () => {
    const drip = (response: Parameters<Answer>[0], write: () => void) => {
      const timer = setInterval(write, 30)
      response.on('close', () => clearInterval(timer))
    }
    const answers: Answer[] = [
      hang,
      (response) => {
        const { socket } = response
        socket?.write('HTTP/1.1 200 OK\r\n')
        drip(response, () => void socket?.write('x: y\r\n'))
      },
      (response) => {
        response.writeHead(200)
        drip(response, () => void response.write('.'))
      },
    ]
    const towards = await Promise.all(answers.map((answer) => registerTowards(answer, hasty)))
    const each = (expected: Json) =>
      Promise.all(
        towards.map(({ app }) =>
          deliveriesOf(hasty, app, [{ ...expected, last_status: null, last_error: 'no complete response within 0.5 s' }]),
        ),
      )
    await each({ status: 'pending', attempts: 1 })
    passTime(hasty, 2)
    await each({ status: 'pending', attempts: 2 })
    passTime(hasty, 10)
    await each({ status: 'failed', attempts: 3, next_attempt_at: null })
    for (const { receiver } of towards) await expect.poll(receiver.open, { interval: 10 }).toBe(0)
  })

  // covers event-attempts limit-webhook
  test('an attempt fails without a whole answer within five seconds', async () => {
    const usual = await buildService()
    const worker = startOutbox(usual.deps, { webhook: createWebhookChannel(), mail: idle })
    onTestFinished(() => worker.stop())
    const { app } = await registerTowards(hang, usual)
    await deliveriesOf(usual, app, [{ status: 'pending', attempts: 1, last_error: 'no complete response within 5 s' }])
  })

  const redirecting = (location: string): Answer => status(302, { location })
  test.each<[string, Answer, Json]>([
    ['it resets the connection', (response) => void response.socket?.resetAndDestroy(), { last_status: null }],
    ['it closes the connection', (response) => void response.socket?.end(), { last_status: null }],
    ['it speaks no HTTP', (response) => void response.socket?.end('220 smtp.example.com ESMTP\r\n'), { last_status: null }],
    ['it answers 500', status(500), { last_status: 500, last_error: 'answered 500' }],
    ['it answers 404', status(404), { last_status: 404 }],
    ['it answers 429', status(429), { last_status: 429 }],
    ['it redirects', redirecting('/elsewhere'), { last_status: 302, last_error: 'answered 302; redirects are not followed' }],
    ['it redirects to keep the method', status(307, { location: '/elsewhere' }), { last_status: 307 }],
    ['it answers 304', status(304), { last_status: 304 }],
  ])('a receiver gets three attempts in all if %s', async (_, answer, ending) => {
    const { app, receiver } = await registerTowards(answer)
    const [first] = await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, ...ending }])
    expect(Date.parse(first.next_attempt_at) - service.deps.clock()).toBe(2_000)
    passTime(service, 2)
    const [second] = await deliveriesOf(service, app, [{ status: 'pending', attempts: 2, ...ending }])
    expect(Date.parse(second.next_attempt_at) - service.deps.clock()).toBe(10_000)
    passTime(service, 10)
    await deliveriesOf(service, app, [{ status: 'failed', attempts: 3, next_attempt_at: null, ...ending }])
    passTime(service, 100)
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook'])
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1)
    await expect.poll(receiver.open, { interval: 10 }).toBe(0)
  })

  test('an attempt fails if nothing listens or the host does not exist', async () => {
    const apps = [await buildAppFor('http://127.0.0.1:1/'), await buildAppFor('http://no-such-host.invalid/')]
    for (const app of apps) {
      await buildUser(service, app)
      await deliveriesOf(service, app, [
        { status: 'pending', attempts: 1, last_error: expect.stringMatching(/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/) },
      ])
    }
  })

  test('an attempt fails if the certificate cannot be trusted', async () => {
    const requests: string[] = []
    const server = createTlsServer(selfSigned, (request, response) => {
      requests.push(request.url!)
      response.end()
    })
    const url = await listen(server, 'https')
    const app = await buildAppFor(url)
    await buildUser(service, app)
    const [{ last_error }] = await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, last_status: null }])
    expect(last_error).toMatch(/self-signed certificate/)
    expect(requests).toEqual([])
  })

  test('an attempt fails if the connection is accepted and TLS never begins', async () => {
    const server = createNetServer((socket) => void socket.on('error', () => {}))
    const app = await buildAppFor(await listen(server, 'https'), hasty)
    await buildUser(hasty, app)
    await deliveriesOf(hasty, app, [{ attempts: 1, last_error: 'no complete response within 0.5 s' }])
  })
})

async function listen(server: import('node:net').Server, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as import('node:net').AddressInfo
  return `${scheme}://127.0.0.1:${port}/`
}

describe('an attempt that succeeds', () => {
  test.each([200, 201, 202, 204, 299])('an attempt succeeds if the receiver answers %i', async (code) => {
    const { app, receiver } = await registerTowards(status(code))
    const ending = { status: 'delivered', attempts: 1, last_status: code, last_error: null, next_attempt_at: null }
    await deliveriesOf(service, app, [ending])
    passTime(service, 100)
    expect(receiver.requests).toHaveLength(1)
  })

  test('an attempt succeeds if the answer is huge, and reads it to 64 KiB and no further', async () => {
    let written = 0
    const { app } = await registerTowards((response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(65_536)
      const pour = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length
        response.once('drain', pour)
      }
      pour()
    })
    await deliveriesOf(service, app, [{ status: 'delivered', last_status: 200 }])
    // More than the socket buffers of both ends can hold.
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  test('an attempt succeeds after an earlier one failed', async () => {
    const { app, receiver } = await registerTowards((response, _, turn) => void response.writeHead(turn === 1 ? 503 : 200).end())
    await deliveriesOf(service, app, [{ attempts: 1, last_status: 503 }])
    passTime(service, 2)
    await deliveriesOf(service, app, [{ status: 'delivered', attempts: 2, last_status: 200, last_error: null }])
    const [first, second] = receiver.requests
    expect(Number(second!.headers['webhook-timestamp']) - Number(first!.headers['webhook-timestamp'])).toBe(2)
  })
})

test('an answer of 410 is final', async () => {
  const { app, receiver } = await registerTowards(status(410))
  await deliveriesOf(service, app, [{ status: 'failed', attempts: 1, last_status: 410, last_error: 'answered 410' }])
  passTime(service, 100)
  expect(receiver.requests).toHaveLength(1)
})

describe('Retry-After', () => {
  test.each<[string, (now: number) => string, number]>([
    ['seconds sets the pause', () => '30', 30_000],
    ['an HTTP date sets the pause', (now) => new Date(now + 40_000).toUTCString(), 40_000],
    ['more than a minute sets a pause of one minute', () => '86400', 60_000],
    ['less than the usual pause changes nothing', () => '1', 2_000],
    ['an unreadable value changes nothing', () => 'later', 2_000],
  ])('a Retry-After with %s', async (_, header, waitMs) => {
    const { app, receiver } = await registerTowards((response) => {
      response.writeHead(429, { 'retry-after': header(service.deps.clock()) }).end()
    })
    const [delivery] = await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, last_status: 429 }])
    expect(Date.parse(delivery.next_attempt_at) - service.deps.clock()).toBe(waitMs)
    passTime(service, waitMs / 1_000 - 1)
    // Once a later delivery is done, a later pass has also looked at this one.
    const { app: other } = await registerTowards(status(200))
    await deliveriesOf(service, other, [{ status: 'delivered' }])
    expect(receiver.requests).toHaveLength(1)
    passTime(service, 1)
    await deliveriesOf(service, app, [{ attempts: 2 }])
  })
})

describe('a webhook that was changed before its turn', () => {
  const changed = async (webhooks: (url: string) => Json[], first: Answer = status(500)) => {
    const { app, receiver } = await registerTowards(first)
    await deliveriesOf(service, app, [{ attempts: 1 }])
    const present = await startReceiver()
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks: webhooks(`${present.url}/new`) } })
    passTime(service, 2)
    return { app, receiver, present }
  }

  test('a changed webhook gets the remaining attempts at its new URL, and the list says so', async () => {
    const { app, receiver, present } = await changed((url) => [{ name: 'crm', url, secret: whsec }])
    const [delivery] = await deliveriesOf(service, app, [{ status: 'delivered', attempts: 2 }])
    expect(delivery.url).toBe(`${present.url}/new`)
    expect([receiver.requests.length, present.requests.length]).toEqual([1, 1])
    expect(present.requests[0]!.headers['webhook-signature']).toMatch(/^v1,/)
  })

  test.each<[string, (url: string) => Json[], string]>([
    ['disabled', (url) => [{ name: 'crm', url, enabled: false }], 'the webhook is disabled'],
    ['removed', () => [], 'the app no longer has this webhook'],
    ['renamed', (url) => [{ name: 'other', url }], 'the app no longer has this webhook'],
  ])('a webhook gets nothing more once it is %s, and comes back by a redelivery', async (_, webhooks, last_error) => {
    const { app, receiver, present } = await changed(webhooks)
    const [delivery] = await deliveriesOf(service, app, [{ status: 'failed', attempts: 2, last_status: null, last_error }])
    expect([receiver.requests.length, present.requests.length]).toEqual([1, 0])
    const redeliver = () => service.admin('POST', `/admin/webhook-deliveries/${delivery.id}/redeliver`)
    expect((await redeliver()).body.code).toBe('webhook_not_enabled')
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks: [{ name: 'crm', url: `${present.url}/back` }] } })
    expect((await redeliver()).status).toBe(202)
    await deliveriesOf(service, app, [{ status: 'delivered', url: `${present.url}/back` }])
    expect(present.requests.map(({ headers }) => headers['webhook-id'])).toEqual([delivery.id])
  })
})

describe('two webhooks of one name', () => {
  const secrets = [whsec, `whsec_${Buffer.alloc(32, 7).toString('base64')}`]

  /** An app with two webhooks of one name and a user registered through it. The first receiver fails at first. */
  async function registerTowardsTwo() {
    const down: Answer = (response, _, turn) => void response.writeHead(turn === 1 ? 500 : 204).end()
    const receivers = [await startReceiver(down), await startReceiver()]
    const webhooks = receivers.map(({ url }, index) => ({ name: 'crm', url: `${url}/hook`, secret: secrets[index] }))
    const app = await buildApp(service, { webhooks })
    await buildUser(service, app)
    await deliveriesOf(service, app, [{ status: 'pending', attempts: 1 }, { status: 'delivered' }])
    const change = (webhooks: Json[]) => service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks } })
    return { app, receivers: receivers as [Receiver, Receiver], change, webhooks: app.webhooks as [Json, Json] }
  }

  test('two webhooks of one name each get the event at every attempt, under their own id and signature', async () => {
    const { app, receivers } = await registerTowardsTwo()
    passTime(service, 2)
    const [one, other] = await deliveriesOf(service, app, [{ status: 'delivered' }, { status: 'delivered' }])
    expect(one.id).not.toBe(other.id)
    for (const [index, { requests }] of receivers.entries()) {
      for (const { body, headers } of requests) {
        const signed = { id: String(headers['webhook-id']), timestamp: Number(headers['webhook-timestamp']), body }
        expect(headers['webhook-signature']).toBe(signWebhook(secrets[index]!, signed))
      }
    }
    expect(receivers.map(({ requests }) => requests.length)).toEqual([2, 1])
  })

  test.each<[string, (webhooks: [Json, Json]) => Json[], string]>([
    ['removed', ([, other]) => [other], 'the app no longer has this webhook'],
    ['disabled', ([one, other]) => [{ ...one, enabled: false }, other], 'the webhook is disabled'],
    ['sent elsewhere', ([one, other]) => [{ ...one, url: `${one.url}/new` }, other], 'the app no longer has this webhook'],
  ])(
    'a delivery for one of two webhooks of one name does not go to the other once the first is %s',
    async (_, changed, last_error) => {
      const { app, receivers, change, webhooks } = await registerTowardsTwo()
      expect((await change(changed(webhooks))).status).toBe(200)
      passTime(service, 2)
      const [lost] = await deliveriesOf(service, app, [{ status: 'failed', last_error }, { status: 'delivered' }])
      const redeliver = () => service.admin('POST', `/admin/webhook-deliveries/${lost.id}/redeliver`)
      const redeliverAll = (query = '') =>
        service.admin('POST', `/admin/webhook-deliveries/redeliver${query}`, { body: { app: app.code } })
      expect((await redeliver()).body.code).toBe('webhook_not_enabled')
      for (const query of ['?dry_run=true', '']) expect((await redeliverAll(query)).body).toEqual({ count: 0 })
      expect(receivers.map(({ requests }) => requests.length)).toEqual([1, 1])

      await change(webhooks)
      expect((await redeliverAll('?dry_run=true')).body).toEqual({ count: 1 })
      expect((await redeliverAll()).body).toEqual({ count: 1 })
      await deliveriesOf(service, app, [{ status: 'delivered', url: webhooks[0].url }, { status: 'delivered' }])
      expect(receivers.map(({ requests }) => requests.length)).toEqual([2, 1])
    },
  )

  test('a test by the name of two webhooks goes to both', async () => {
    const { app, receivers } = await registerTowardsTwo()
    const fired = await service.admin('POST', `/admin/apps/${app.code}/webhooks/test`, { body: { webhook: 'crm' } })
    expect(fired.status).toBe(202)
    await expect.poll(() => receivers.map(({ requests }) => requests.length), { interval: 10 }).toEqual([2, 2])
  })
})

test('a dead endpoint does not delay others, however many messages wait for it', async () => {
  const service = await buildService()
  sendWebhooks(service)
  const dead = await startReceiver(hang)
  const alive = await startReceiver()
  const slow = await buildApp(service, { webhooks: [{ name: 'dead', url: dead.url }] })
  const fast = await buildApp(service, { webhooks: [{ name: 'alive', url: alive.url }] })
  await Promise.all(Array.from({ length: 100 }, () => buildUser(service, slow)))
  await expect.poll(dead.unanswered, { interval: 10 }).toBe(64)
  await buildUser(service, fast)
  await expect.poll(() => alive.requests.length, { interval: 5 }).toBe(1)
  expect(dead.requests).toHaveLength(64)
})
