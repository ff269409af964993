import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { verifyWebhook } from '@gatehouse/sdk/webhooks'
import { Webhook } from 'standardwebhooks'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { version } from '../../packages/server/src/lib/version.ts'
import { whsec } from '../support/app-fixtures.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { deliveriesOf, sendWebhooks } from '../support/outbox.ts'
import { type Received, startReceiver } from '../support/receiver.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, type Json, PASSWORD } from '../support/service.ts'

const receiver = fixture(() => startReceiver(undefined, onFileEnd))
const service = serviceFixture({ AUTH_CHAT_WEBHOOK_HOSTS: 'Chat.Example.com, localhost', AUTH_DEFAULT_APP_CODE: 'by-default' })
beforeAll(() => void sendWebhooks(service, {}, onFileEnd))

let paths = 0
/** An app whose webhook has its own path. */
async function appWithWebhook(settings: Record<string, unknown> = {}, webhook: Record<string, unknown> = {}) {
  paths += 1
  const path = `/${paths}`
  const app = await buildApp(service, { webhooks: [{ name: 'crm', url: receiver.url + path, ...webhook }], ...settings })
  const received = async (count = 1): Promise<Received[]> => {
    const arrived = () => receiver.requests.filter((request) => request.path === path)
    await expect.poll(arrived, { interval: 10 }).toHaveLength(count)
    return arrived()
  }
  return { app, received }
}

const eventsOf = async (received: Promise<Received[]>): Promise<Json[]> => (await received).map(({ body }) => JSON.parse(body))

describe('the event', () => {
  // covers event-envelope
  test('the event has the app, the new user with pools, no organization, the body and the context, under one id', async () => {
    const { app, received } = await appWithWebhook({ registration_namespace: 'crm', read_namespaces: ['default', 'a'] })
    const reply = await service.call('POST', '/auth/register', {
      body: {
        email: ' Ada@Example.com ',
        password: PASSWORD,
        app_code: app.code,
        first_name: 'Ada',
        campaign: { tags: ['x', 1] },
      },
      headers: { 'user-agent': 'the tests', 'x-request-id': 'a-request' },
    })
    expect(reply.status).toBe(201)
    const [event] = await eventsOf(received())
    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      event: 'user.registered',
      occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      app: { id: app.id, code: app.code, name: app.name },
      user: reply.body.user,
      organization: null,
      registration: {
        email: ' Ada@Example.com ',
        password: '[REDACTED]',
        app_code: app.code,
        first_name: 'Ada',
        campaign: { tags: ['x', 1] },
      },
      context: { ip: '127.0.0.1', user_agent: 'the tests', request_id: 'a-request' },
    })
    expect(event.user).toMatchObject({ email: 'ada@example.com', namespace: 'crm', namespaces: ['crm', 'a', 'default'] })
    const [delivery] = await deliveriesOf(service, app, [{ status: 'delivered', last_status: 204 }])
    expect(delivery.id).toBe(event.id)
  })

  // covers event-envelope
  test('the event has the organization that the registration joined or founded', async () => {
    const { app, received } = await appWithWebhook()
    await service.register('founder@example.com', app.code, { organization_name: 'Acme' })
    const organization = await buildOrganization(service)
    const invite_token = await buildInvitation(service, { organizationId: organization.id, email: 'guest@example.com' })
    await service.register('guest@example.com', app.code, { invite_token })
    const events = await eventsOf(received(2))
    const of = (email: string) => events.find(({ user }) => user.email === email)
    expect(of('founder@example.com').organization).toMatchObject({ name: 'Acme', role_codes: ['org_admin'] })
    expect(of('guest@example.com').organization).toEqual({ ...organization, role_codes: ['org_member'] })
    expect(of('guest@example.com').registration.invite_token).toBe(invite_token)
  })

  // covers register-other-fields event-redacted
  test('the event has the body verbatim, except for the password, wherever it stands, and the second factor', async () => {
    const { app, received } = await appWithWebhook()
    const secret = 'a password that is nowhere'
    const body = `{"email":"verbatim@example.com","password":"${secret}","app_code":"${app.code}","mode":"register",
      "two_factor_code":"123456","Password":"x","nested":[{"PASSWORD":{"a":1},"again":["${secret}"],"${secret}":0}],
      "__proto__":{"polluted":true},"constructor":{"prototype":1},"zero":0,"half":0.5,"none":null,"emoji":"🦊 ‮","first_name":null,"html":"<b>&amp;</b>"}`
    expect((await service.call('POST', '/auth/register', { body })).status).toBe(201)
    const [{ body: sent }] = (await received()) as [Received]
    expect(sent).not.toContain(secret)
    expect(JSON.stringify(JSON.parse(sent).registration)).toBe(
      JSON.stringify(
        JSON.parse(
          body
            .replaceAll(`"${secret}"`, '"[REDACTED]"')
            .replace('"123456"', '"[REDACTED]"')
            .replace('"x"', '"[REDACTED]"')
            .replace('{"a":1}', '"[REDACTED]"'),
        ),
      ),
    )
    expect(await countRows(service, 'outbox', { app_id: app.id, kind: 'webhook' })).toBe(1)
    const { payload } = await service.deps.db('outbox').where({ app_id: app.id, kind: 'webhook' }).first('payload')
    expect(payload).not.toContain(secret)
  })

  // covers register-other-fields
  test('the event has numbers in the digits that were sent', async () => {
    const { app, received } = await appWithWebhook()
    const extras = '"referral":12345678901234567890,"rate":[1.0,{"of":1e3}],"small":-0'
    const body = `{"email":"digits@example.com","password":"${PASSWORD}","app_code":"${app.code}",${extras}}`
    expect((await service.call('POST', '/auth/register', { body })).status).toBe(201)
    const [{ body: sent }] = (await received()) as [Received]
    expect(sent).toContain(extras)
  })

  // covers webhook-url webhook-enabled webhook-events
  test('the event goes to each enabled webhook, under an id of its own', async () => {
    const { app, received } = await appWithWebhook({
      webhooks: [
        { name: 'a', url: `${receiver.url}/each` },
        { name: 'b', url: `${receiver.url}/each` },
        { name: 'off', url: `${receiver.url}/off`, enabled: false },
        { name: 'of no event', url: `${receiver.url}/off`, events: [] },
      ],
    })
    await service.register('each@example.com', app.code)
    const items = await deliveriesOf(service, app, [{ status: 'delivered' }, { status: 'delivered' }])
    expect(items.map(({ webhook }) => webhook).sort()).toEqual(['a', 'b'])
    const ids = receiver.requests.filter(({ path }) => path === '/each').map(({ headers }) => headers['webhook-id'])
    expect(ids.sort()).toEqual(items.map(({ id }) => id))
    expect(new Set(ids).size).toBe(2)
    expect(await received(0)).toEqual([])
  })
})

describe('the registrations that fire an event', () => {
  // covers register-webhooks event-new-user
  test('every mode that creates a user fires an event, and so does a registration with the default app', async () => {
    const { app, received } = await appWithWebhook()
    for (const mode of ['register', 'register_or_login']) await service.register(`${mode}@example.com`, app.code, { mode })
    const body = { email: 'returned@example.com', password: PASSWORD, app_code: app.code, mode: 'register_or_return' }
    expect((await service.admin('POST', '/auth/register', { body })).status).toBe(201)
    expect(await received(3)).toHaveLength(3)

    paths += 1
    await service.admin('POST', '/admin/apps', {
      body: { code: 'by-default', name: 'D', webhooks: [{ name: 'a', url: `${receiver.url}/default` }] },
    })
    await service.call('POST', '/auth/register', { body: { email: 'default@example.com', password: PASSWORD } })
    await expect.poll(() => receiver.requests.filter(({ path }) => path === '/default')).toHaveLength(1)
  })

  // covers event-no-login
  test('logins, existing users, refusals, imports and users that admins create fire no event', async () => {
    const { app } = await appWithWebhook({ auto_grant_on_signup: true })
    const email = 'once@example.com'
    const { body: first } = await service.register(email, app.code)
    await service.login(email, app.code)
    await service.call('POST', '/auth/refresh', { body: { refresh_token: first.refresh_token } })
    expect((await service.register(email, app.code)).status).toBe(409)
    expect((await service.register(email, app.code, { mode: 'register_or_login' })).status).toBe(200)
    const again = { email, password: PASSWORD, app_code: app.code, mode: 'register_or_return' }
    expect((await service.admin('POST', '/auth/register', { body: again })).status).toBe(200)
    expect((await service.register('other@example.com', app.code, { invite_code: 'nope' })).status).toBe(400)
    expect((await service.register('short@example.com', app.code, { password: 'short' })).status).toBe(400)
    const made = await service.admin('POST', '/admin/users', { body: { email: 'made@example.com', password: PASSWORD } })
    expect(made.status).toBe(201)
    await service.admin('POST', `/admin/users/${made.body.id}/apps/${app.id}`)
    const line = JSON.stringify({ email: 'imported@example.com', apps: [app.code] })
    const imported = await service.admin('POST', '/admin/users/import', {
      body: Buffer.from(`${line}\n`),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    expect(imported.body).toMatchObject({ imported: 1 })
    expect(await countRows(service, 'outbox', { app_id: app.id, kind: 'webhook' })).toBe(1)
  })

  test('concurrent registrations of one address fire one event', async () => {
    const { app, received } = await appWithWebhook()
    const replies = await Promise.all(Array.from({ length: 8 }, () => service.register('race@example.com', app.code)))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1)
    await received(1)
    expect(await countRows(service, 'outbox', { app_id: app.id, kind: 'webhook' })).toBe(1)
  })
})

describe('the request', () => {
  // covers event-header
  test('the request is a POST of JSON with event, id and time, and without cookies and signature', async () => {
    const { app, received } = await appWithWebhook()
    const before = Math.floor(service.deps.clock() / 1_000)
    await service.register('headers@example.com', app.code)
    const [{ headers, headerNames, body }] = (await received()) as [Received]
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'user.registered',
      'webhook-id': JSON.parse(body).id,
      'user-agent': `gatehouse/${version}`,
      'content-length': String(Buffer.byteLength(body)),
    })
    expect(headerNames).toContain('X-service-Event')
    expect(Number(headers['webhook-timestamp'])).toBeGreaterThanOrEqual(before)
    expect(Number(headers['webhook-timestamp'])).toBeLessThanOrEqual(service.deps.clock() / 1_000)
    for (const name of ['webhook-signature', 'cookie', 'authorization']) expect(headers[name]).toBeUndefined()
  })

  test('the request is signed if the webhook has a secret, and the published verifier accepts it', async () => {
    const { app, received } = await appWithWebhook({}, { secret: whsec })
    await service.register('signed@example.com', app.code, { note: 'Grüße 🦊' })
    const [{ headers, body }] = (await received()) as [Received]
    const verifier = new Webhook(whsec)
    expect(verifier.verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body))
    expect(() => verifier.verify(`${body} `, headers as Record<string, string>)).toThrow()
    const other = new Webhook(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)
    expect(() => other.verify(body, headers as Record<string, string>)).toThrow()
  })

  test('the request is verified by the lines in docs/guard-a-backend/webhooks.md', async () => {
    const { app, received } = await appWithWebhook({}, { secret: whsec })
    await service.register('documented@example.com', app.code)
    const [{ headers, body }] = (await received()) as [Received]
    const guide = readFileSync(new URL('../../docs/guard-a-backend/webhooks.md', import.meta.url), 'utf8')
    const [, lines] = /```js\n([\s\S]*?)```/.exec(guide)!
    const file = join(mkdtempSync(join(tmpdir(), 'gatehouse-receiver-')), 'verify.mjs')
    onTestFinished(() => rmSync(dirname(file), { recursive: true }))
    writeFileSync(file, lines!)
    const { verify } = await import(/* @vite-ignore */ pathToFileURL(file).href)
    expect(verify(whsec, headers, body)).toBe(true)
    const other = `v1,${Buffer.alloc(32).toString('base64')}`
    expect(verify(whsec, { ...headers, 'webhook-signature': `${other} ${headers['webhook-signature']}` }, body)).toBe(true)
    expect(verify(whsec, headers, `${body} `)).toBe(false)
    expect(verify(`whsec_${Buffer.alloc(32).toString('base64')}`, headers, body)).toBe(false)
    for (const [name, value] of [
      ['webhook-signature', other],
      ['webhook-signature', undefined],
      ['webhook-id', 'another'],
      ['webhook-timestamp', '1'],
      ['webhook-timestamp', 'x'],
    ] as const) {
      expect(verify(whsec, { ...headers, [name]: value }, body)).toBe(false)
    }
  })

  test('the request is verified by the SDK, which returns the members of the event', async () => {
    const { app, received } = await appWithWebhook({}, { secret: whsec })
    await service.register('sdk@example.com', app.code, { note: 'Grüße 🦊' })
    const [{ headers, body }] = (await received()) as [Received]
    const event = await verifyWebhook(headers, body, whsec)
    expect(event).toEqual(JSON.parse(body))
    expect([event.app.code, event.user.email, event.registration.note]).toEqual([app.code, 'sdk@example.com', 'Grüße 🦊'])
    const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
    await expect(verifyWebhook(headers, body, other)).rejects.toMatchObject({ code: 'WEBHOOK_SIGNATURE' })
    await expect(verifyWebhook(headers, `${body} `, [other, whsec])).rejects.toMatchObject({ code: 'WEBHOOK_SIGNATURE' })
  })

  test('the request is signed with the secret that the webhook has when it is sent', async () => {
    const { app, received } = await appWithWebhook({}, { secret: whsec })
    const rotated = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
    const webhooks = [{ ...app.webhooks[0], secret: rotated }]
    await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { webhooks } })
    await service.register('rotated@example.com', app.code)
    const [{ headers, body }] = (await received()) as [Received]
    expect(new Webhook(rotated).verify(body, headers as Record<string, string>)).toBeTruthy()
  })
})

describe('a chat host', () => {
  // covers event-chat
  test('a chat host gets only a text, in which nothing that a user wrote is a mention, a link or markup', async () => {
    const path = '/services/T0/B0'
    const url = receiver.url.replace('127.0.0.1', 'localhost') + path
    const { app } = await appWithWebhook({ name: 'Shop & <!channel>', webhooks: [{ name: 'slack', url }] })
    await service.register('eve@here.example', app.code, {
      first_name: '<@U012AB3CD> @everyone *Eve*\n> quote',
      last_name: '[free](https://evil.example) `x` \u202e',
      organization_name: '<https://evil.example|Acme> _Inc_',
    })
    await deliveriesOf(service, app, [{ status: 'delivered' }])
    const [request] = receiver.requests.filter((request) => request.path === path)
    const message = JSON.parse(request!.body)
    expect(Object.keys(message)).toEqual(['text'])
    expect(message.text).toBe(
      'New user in Shop ＆ ‹!channel›: ‹＠U012AB3CD› ＠everyone ＊Eve＊ › quote ［free］（https：／／evil․example） ˋxˋ, ' +
        'eve＠here.example, organization ‹https：／／evil․example｜Acme› ＿Inc＿',
    )
    expect(request!.headers['x-service-event']).toBe('user.registered')
  })
})
