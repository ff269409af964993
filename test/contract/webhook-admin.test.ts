// Admins list deliveries, send them again, and send test messages.
import { beforeAll, describe, expect, test } from 'vitest'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { whsec } from '../support/app-fixtures.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { deliveriesOf, passTime, sendWebhooks } from '../support/outbox.ts'
import { type Answer, type Receiver, startReceiver } from '../support/receiver.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture({ AUTH_RETENTION_DAYS: '10' })
beforeAll(() => void sendWebhooks(service, {}, onFileEnd))

async function appTowards(answer?: Answer): Promise<{ app: Json; receiver: Receiver }> {
  const receiver = await startReceiver(answer)
  const app = await buildApp(service, { webhooks: [{ name: 'crm', url: `${receiver.url}/hook?key=1` }] })
  return { app, receiver }
}

const gone: Answer = (response) => void response.writeHead(410).end()
const redeliver = (id: string) => service.admin('POST', `/admin/webhook-deliveries/${id}/redeliver`)
const fireTest = (app: Json, body?: unknown) => service.admin('POST', `/admin/apps/${app.code}/webhooks/test`, { body })
const list = (app: Json, query = '') => service.admin('GET', `/admin/apps/${app.code}/webhook-deliveries${query}`)

describe('the list of deliveries', () => {
  test('the list says how each delivery went, and nothing of its content', async () => {
    const { app, receiver } = await appTowards()
    const { user } = await buildUser(service, app)
    const [delivery] = await deliveriesOf(service, app, [{ status: 'delivered' }])
    const moment = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(delivery).toEqual({
      id: receiver.requests[0]!.headers['webhook-id'],
      webhook: 'crm',
      url: `${receiver.url}/hook?key=1`,
      event: 'user.registered',
      test: false,
      status: 'delivered',
      attempts: 1,
      last_status: 204,
      last_error: null,
      created_at: moment,
      next_attempt_at: null,
      finished_at: moment,
    })
    expect(JSON.stringify((await list(app)).body)).not.toContain(user.email)
  })

  test('the list has pages, newest first, of this app only, without mails, and filters by status', async () => {
    const { app } = await appTowards((response, { body }) => {
      response.writeHead(JSON.parse(body).registration.fails ? 410 : 204).end()
    })
    const { app: other } = await appTowards()
    await buildUser(service, other)
    for (const fails of [false, true, false, true, false]) await buildUser(service, app, { fails })
    const endings = ['delivered', 'failed', 'delivered', 'failed', 'delivered'].map((status) => ({ status }))
    const all = (await deliveriesOf(service, app, endings)).reverse()
    const first = (await list(app, '?limit=2')).body
    expect(first.items).toEqual(all.slice(0, 2))
    const second = (await list(app, `?limit=2&cursor=${first.next_cursor}`)).body
    expect(second.items).toEqual(all.slice(2, 4))
    const third = (await list(app, `?limit=2&cursor=${second.next_cursor}`)).body
    expect(third).toEqual({ items: all.slice(4), next_cursor: null })
    expect((await list(app, '?status=failed')).body.items).toEqual(all.filter(({ status }) => status === 'failed'))
    expect((await list(app, '?status=pending')).body.items).toEqual([])
    expect(await countRows(service, 'outbox', { app_id: app.id, kind: 'mail' })).toBeGreaterThan(0)
  })

  test('the list is 404 for an unknown app and 400 for a bad filter', async () => {
    expectError(await list({ code: 'no-such-app' }), 'not_found')
    const { app } = await appTowards()
    for (const query of ['?status=lost', '?limit=0', '?cursor=x', '?q=x'])
      expectError(await list(app, query), 'validation_failed')
  })
})

describe('a redelivery', () => {
  test('a redelivery sends the same event under its id with a new signature, as often as an admin likes', async () => {
    const { app, receiver } = await appTowards()
    await buildUser(service, app)
    const [delivery] = await deliveriesOf(service, app, [{ status: 'delivered' }])
    const webhooks = [{ ...app.webhooks[0], secret: whsec }]
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks } })
    for (const turn of [2, 3]) {
      const reply = await redeliver(delivery.id)
      expect([reply.status, reply.body]).toEqual([202, {}])
      expectHeaders(reply)
      await expect.poll(() => receiver.requests.length, { interval: 10 }).toBe(turn)
      await deliveriesOf(service, app, [{ id: delivery.id, status: 'delivered', attempts: 1 }])
    }
    const [first, second] = receiver.requests
    expect(second!.body).toBe(first!.body)
    expect(second!.headers['webhook-id']).toBe(delivery.id)
    expect(second!.headers['webhook-signature']).toMatch(/^v1,/)
    const [audited] = await auditEvents(service, { event: 'webhook.redelivered', app_id: app.id })
    expect(audited.details).toEqual({ delivery: delivery.id, webhook: 'crm' })
  })

  test('a redelivery of a failed delivery has three attempts', async () => {
    const answers = [410, 500, 500, 500]
    const { app, receiver } = await appTowards((response, _, turn) => void response.writeHead(answers[turn - 1]!).end())
    await buildUser(service, app)
    const [delivery] = await deliveriesOf(service, app, [{ status: 'failed', attempts: 1 }])
    await redeliver(delivery.id)
    await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, last_status: 500 }])
    passTime(service, 3)
    await deliveriesOf(service, app, [{ status: 'pending', attempts: 2 }])
    passTime(service, 11)
    await deliveriesOf(service, app, [{ status: 'failed', attempts: 3 }])
    expect(receiver.requests).toHaveLength(4)
  })

  test('a redelivery of a pending delivery is a conflict, and one of many concurrent redeliveries is accepted', async () => {
    let release = () => {}
    const { app, receiver } = await appTowards((response, _, turn) => {
      release = () => void response.writeHead(410).end()
      if (turn === 1) response.writeHead(500).end()
      else if (turn === 2) release()
    })
    await buildUser(service, app)
    const [delivery] = await deliveriesOf(service, app, [{ status: 'pending', attempts: 1 }])
    expectError(await redeliver(delivery.id), 'delivery_pending')
    passTime(service, 3)
    await deliveriesOf(service, app, [{ status: 'failed', attempts: 2 }])
    const replies = await Promise.all(Array.from({ length: 6 }, () => redeliver(delivery.id)))
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409, 409])
    await expect.poll(() => receiver.requests.length, { interval: 10 }).toBe(3)
    expectError(await redeliver(delivery.id), 'delivery_pending')
    release()
    await deliveriesOf(service, app, [{ status: 'failed', attempts: 1 }])
    expect(receiver.requests).toHaveLength(3)
  })

  test('a redelivery of an unknown id, a mail or a malformed id is 404', async () => {
    const { app } = await appTowards()
    await buildUser(service, app)
    const mail = await service.deps.db('outbox').where({ app_id: app.id, kind: 'mail' }).first('id')
    for (const id of [mail.id, '0190a0a0-0000-7000-8000-000000000000', 'x']) expectError(await redeliver(id), 'not_found')
  })

  test('a redelivery about an erased user is refused, and its stored event names nobody', async () => {
    const { app, receiver } = await appTowards()
    const { user } = await buildUser(service, app, { phone: '555 0100' })
    const [delivery] = await deliveriesOf(service, app, [{ status: 'delivered' }])
    expect((await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)).status).toBe(204)
    expectError(await redeliver(delivery.id), 'delivery_erased')
    const { payload } = await service.deps.db('outbox').where({ id: delivery.id }).first('payload')
    for (const trace of [user.email, '555 0100']) expect(payload).not.toContain(trace)
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('a test', () => {
  test('a test goes to each enabled webhook like an event, marked as a test and about nobody', async () => {
    const { app, receiver } = await appTowards()
    const off = { name: 'off', url: `${receiver.url}/off`, enabled: false }
    const more = { name: 'more', url: `${receiver.url}/more`, secret: whsec }
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks: [...app.webhooks, off, more] } })
    const reply = await fireTest(app)
    expect([reply.status, reply.body]).toEqual([202, {}])
    const items = await deliveriesOf(service, app, Array(2).fill({ status: 'delivered', test: true }))
    expect(items.map(({ webhook }) => webhook).sort()).toEqual(['crm', 'more'])
    expect(receiver.requests.map(({ path }) => path).sort()).toEqual(['/hook?key=1', '/more'])
    const [{ headers, body }] = receiver.requests as [Receiver['requests'][0]]
    expect(headers['x-service-event']).toBe('user.registered')
    const event = JSON.parse(body)
    expect(Object.keys(event)).toEqual([
      'id',
      'event',
      'test',
      'occurred_at',
      'app',
      'user',
      'organization',
      'registration',
      'context',
    ])
    expect(event).toMatchObject({
      event: 'user.registered',
      test: true,
      app: { id: app.id },
      user: { id: '00000000-0000-0000-0000-000000000000', email: 'test@example.invalid' },
    })
    expect(await countRows(service, 'users', { email: 'test@example.invalid' })).toBe(0)
    const [audited] = await auditEvents(service, { event: 'webhook.tested', app_id: app.id })
    expect(audited.details).toEqual({ webhooks: ['crm', 'more'] })
  })

  test('a test goes to the webhook that is named; an unknown name is 400, and a disabled webhook or none at all is 409', async () => {
    const { app, receiver } = await appTowards()
    const off = { name: 'off', url: `${receiver.url}/off`, enabled: false }
    const more = { name: 'more', url: `${receiver.url}/more` }
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks: [...app.webhooks, off, more] } })
    expect((await fireTest(app, { webhook: 'more' })).status).toBe(202)
    await deliveriesOf(service, app, [{ status: 'delivered', webhook: 'more' }])
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/more'])
    const unknown = await fireTest(app, { webhook: 'nope' })
    expectError(unknown, 'validation_failed')
    expect(faultsOf(unknown)).toEqual(['webhook: invalid_value'])
    expectError(await fireTest(app, { webhook: 'off' }), 'webhook_not_enabled')
    expectError(await fireTest(await buildApp(service)), 'webhook_not_enabled')
    expectError(await fireTest({ code: 'no-such-app' }), 'not_found')
    for (const body of [{ webhook: '' }, { webhook: 5 }, { webhooks: ['crm'] }])
      expectError(await fireTest(app, body), 'validation_failed')
  })

  test('a test in a chat says that it is one', async () => {
    const { app } = await appTowards()
    const chat = await startReceiver()
    const webhooks = [{ name: 'chat', url: chat.url }]
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks } })
    service.deps.config.chatWebhookHosts.push(new URL(chat.url).host)
    await fireTest(app)
    await deliveriesOf(service, app, [{ status: 'delivered' }])
    expect(JSON.parse(chat.requests[0]!.body)).toEqual({
      text: expect.stringMatching(/^This is a test, no user registered\. New user in .*: Test User, test@example\.invalid$/),
    })
  })
})

test('only a system_admin can list deliveries, redeliver and test', async () => {
  const { app } = await appTowards(gone)
  const grants = await buildApp(service, { auto_grant_on_signup: true })
  const { access_token } = await buildUser(service, grants)
  await buildUser(service, app)
  const [{ id }] = (await deliveriesOf(service, app, [{ status: 'failed' }])) as [Json]
  for (const [method, path] of [
    ['GET', `/admin/apps/${app.id}/webhook-deliveries`],
    ['POST', `/admin/apps/${app.id}/webhooks/test`],
    ['POST', `/admin/webhook-deliveries/${id}/redeliver`],
  ] as const) {
    expectError(await service.call(method, path), 'token_missing')
    expectError(await service.call(method, path, { token: access_token }), 'system_admin_required')
  }
})

test('finished deliveries are kept for AUTH_RETENTION_DAYS, and pending ones for as long as they wait', async () => {
  const { app } = await appTowards()
  const { app: failing } = await appTowards(gone)
  const dead = await buildApp(service, { webhooks: [{ name: 'crm', url: 'http://127.0.0.1:1/' }] })
  for (const each of [app, failing, dead]) await buildUser(service, each)
  await deliveriesOf(service, app, [{ status: 'delivered' }])
  await deliveriesOf(service, failing, [{ status: 'failed' }])
  await deliveriesOf(service, dead, [{ status: 'pending', attempts: 1 }])
  const counts = async () => {
    await removeExpired(service.deps)
    const rows = [app, failing, dead].map(({ id }) => countRows(service, 'outbox', { app_id: id, kind: 'webhook' }))
    return Promise.all(rows)
  }
  service.deps.outboxBell.onRing = () => {}
  await service.deps
    .db('outbox')
    .where({ app_id: dead.id })
    .update({ next_attempt_at: service.deps.clock() + 40 * 86_400_000 })
  service.advance(9 * 86_400)
  expect(await counts()).toEqual([1, 1, 1])
  service.advance(86_400)
  expect(await counts()).toEqual([0, 0, 1])
})

describe('a redelivery of all failed deliveries', () => {
  const redeliverAll = (body: Json) => service.admin('POST', '/admin/webhook-deliveries/redeliver', { body })

  test('the failed deliveries of one app are sent again by time range, and never twice', async () => {
    let isDown = true
    const { app, receiver } = await appTowards((response) => void response.writeHead(isDown ? 410 : 204).end())
    const { app: other } = await appTowards(gone)
    await buildUser(service, other)
    await deliveriesOf(service, other, [{ status: 'failed' }])
    await buildUser(service, app)
    await deliveriesOf(service, app, [{ status: 'failed' }])
    passTime(service, 3_600)
    const since = new Date(service.deps.clock()).toISOString()
    for (const _ of [1, 2]) await buildUser(service, app)
    const failed = await deliveriesOf(
      service,
      app,
      ['failed', 'failed', 'failed'].map((status) => ({ status })),
    )
    isDown = false
    const known = receiver.requests.length
    expect((await redeliverAll({ app: app.code, until: since, status: 'delivered' })).body).toEqual({ count: 0 })
    const reply = await redeliverAll({ app: app.code, since })
    expect([reply.status, reply.body]).toEqual([200, { count: 2 }])
    await deliveriesOf(service, app, [{ status: 'failed' }, { status: 'delivered' }, { status: 'delivered' }])
    const ids = receiver.requests.slice(known).map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set(failed.slice(1).map(({ id }: Json) => id)))
    expect((await redeliverAll({ app: app.id, since })).body).toEqual({ count: 0 })
    const [audited] = await auditEvents(service, { event: 'webhook.redelivered', app_id: app.id })
    expect(audited.details).toEqual({ status: 'failed', count: 2 })
    expect((await redeliverAll({ app: app.code })).body).toEqual({ count: 1 })
  })

  test('deliveries are left out if the webhook is off or gone or the user was erased', async () => {
    const { app, receiver } = await appTowards(gone)
    const { user } = await buildUser(service, app)
    await buildUser(service, app)
    await deliveriesOf(service, app, [{ status: 'failed' }, { status: 'failed' }])
    await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
    const webhook = { name: 'crm', url: `${receiver.url}/moved` }
    const turn = (webhooks: Json[]) => service.admin('PATCH', `/admin/apps/${app.code}`, { body: { webhooks } })
    await turn([{ ...webhook, enabled: false }])
    expect((await redeliverAll({ app: app.code })).body).toEqual({ count: 0 })
    await turn([])
    expect((await redeliverAll({ app: app.code })).body).toEqual({ count: 0 })
    await turn([webhook])
    expect((await redeliverAll({ app: app.code })).body).toEqual({ count: 1 })
    await expect.poll(() => receiver.requests.at(-1)!.path, { interval: 10 }).toBe('/moved')
  })

  test('a redelivery of all without an existing app or with a bad filter is refused', async () => {
    expectError(await redeliverAll({ app: 'no-such-app' }), 'not_found')
    const { app } = await appTowards()
    for (const body of [
      {},
      { app: app.code, status: 'pending' },
      { app: app.code, since: 'yesterday' },
      { app: app.code, all: true },
    ])
      expectError(await redeliverAll(body), 'validation_failed')
  })
})
