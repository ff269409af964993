import { describe, expect, test } from 'vitest'
import { whsec } from '../support/app-fixtures.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, type Json, type Reply } from '../support/service.ts'

const url = 'https://crm.example.com/hook?key=1'
const other = `whsec_${Buffer.alloc(24, 3).toString('base64')}`

const service = serviceFixture()

function patch(app: Json, webhooks: unknown): Promise<Reply> {
  return service.admin('PATCH', `/admin/apps/${app.code}`, { body: { webhooks } })
}

/** The sealed secrets of an app by the names of its webhooks, as stored. */
async function boxesOf(app: Json): Promise<Record<string, string | null>> {
  const { webhooks } = await service.deps.db('apps').where({ id: app.id }).first('webhooks')
  return Object.fromEntries(JSON.parse(webhooks).map((webhook: Json) => [webhook.name, webhook.secret_box]))
}

describe('a webhook of an app', () => {
  // covers webhook-events
  test('a webhook is enabled and gets user.registered by default', async () => {
    const app = await buildApp(service, { webhooks: [{ name: ' crm ', url }] })
    expect(app.webhooks).toEqual([{ name: 'crm', url, events: ['user.registered'], enabled: true, has_secret: false }])
    expect((await patch(app, [{ name: 'crm', url, enabled: false }])).body.webhooks[0].enabled).toBe(false)
  })

  const valid = { name: 'crm', url, events: ['user.registered'], enabled: true }
  // covers webhook-events-only webhook-name webhook-url
  test.each<[unknown, string]>([
    [{ ...valid, name: undefined }, 'webhooks.0.name: required'],
    [{ ...valid, name: '' }, 'webhooks.0.name: too_short'],
    [{ ...valid, name: 'x'.repeat(201) }, 'webhooks.0.name: too_long'],
    [{ ...valid, name: 5 }, 'webhooks.0.name: invalid_type'],
    [{ ...valid, url: undefined }, 'webhooks.0.url: required'],
    [{ ...valid, url: null }, 'webhooks.0.url: invalid_type'],
    [{ ...valid, url: '' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'crm.example.com' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'ftp://crm.example.com' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'file:///etc/passwd' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'javascript:alert(1)' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://user:pass@crm.example.com' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://crm.example.com/\r\nHost: evil' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https:\\\\crm.example.com' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https:crm.example.com' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: `https://crm.example.com/${'x'.repeat(2000)}` }, 'webhooks.0.url: too_long'],
    [{ ...valid, url: 'http://mail.example.com:25/' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://mail.example.com:465/' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://mail.example.com:587/' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://shell.example.com:0022/' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://db.example.com:5432/' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, url: 'https://cache.example.com:6379/' }, 'webhooks.0.url: invalid_value'],
    [{ ...valid, events: ['user.deleted'] }, 'webhooks.0.events.0: invalid_value'],
    [{ ...valid, events: ['user.registered', 'USER.REGISTERED'] }, 'webhooks.0.events.1: invalid_value'],
    [{ ...valid, events: ['*'] }, 'webhooks.0.events.0: invalid_value'],
    [{ ...valid, events: [''] }, 'webhooks.0.events.0: invalid_value'],
    [{ ...valid, events: 'user.registered' }, 'webhooks.0.events: invalid_type'],
    [{ ...valid, enabled: 'true' }, 'webhooks.0.enabled: invalid_type'],
    [{ ...valid, enabled: 1 }, 'webhooks.0.enabled: invalid_type'],
    [{ ...valid, secret: 'whsec_short' }, 'webhooks.0.secret: invalid_value'],
    [{ ...valid, secret: 'plain text that is long enough to be a secret' }, 'webhooks.0.secret: invalid_value'],
    [{ ...valid, secret: 5 }, 'webhooks.0.secret: invalid_type'],
    [{ ...valid, Secret: whsec }, 'webhooks.0.Secret: unknown_field'],
    [{ ...valid, secret_box: 'x' }, 'webhooks.0.secret_box: unknown_field'],
    ['https://crm.example.com', 'webhooks.0: invalid_type'],
    [null, 'webhooks.0: invalid_type'],
    [[], 'webhooks.0: invalid_type'],
  ])('the webhook %j is refused with 400', async (webhook, fault) => {
    const app = await buildApp(service)
    const created = await service.admin('POST', '/admin/apps', { body: { code: 'never', name: 'Never', webhooks: [webhook] } })
    for (const reply of [await patch(app, [webhook]), created]) {
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toContain(fault)
    }
  })

  // covers webhook-name
  // covers webhook-name
  test('two webhooks may have one name, but not one name and one URL', async () => {
    const app = await buildApp(service)
    const reply = await patch(app, [valid, { ...valid, name: 'b' }, { ...valid, url: `${url}&b` }, { ...valid, name: ' crm' }])
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['webhooks.3.url: invalid_value'])
    const { status, body } = await patch(app, [valid, { ...valid, url: `${url}&b` }])
    expect([status, body.webhooks.map((webhook: Json) => [webhook.name, webhook.url])]).toEqual([
      200,
      [
        ['crm', url],
        ['crm', `${url}&b`],
      ],
    ])
  })

  // covers app-webhooks
  test('the webhooks of an app must be a list, which is replaced as a whole', async () => {
    const app = await buildApp(service, { webhooks: [valid, { ...valid, name: 'b' }] })
    for (const webhooks of [valid, 'x', 5, true]) expectError(await patch(app, webhooks), 'validation_failed')
    expect((await patch(app, [{ ...valid, name: 'c' }])).body.webhooks.map((webhook: Json) => webhook.name)).toEqual(['c'])
  })
})

describe('a secret', () => {
  test('a secret is kept under the name and URL of its webhook, replaced by another, and cleared by null or ""', async () => {
    const app = await buildApp(service, {
      webhooks: [
        { name: 'a', url, secret: whsec },
        { name: 'b', url },
      ],
    })
    const hasSecrets = ({ webhooks }: Json) => webhooks.map((webhook: Json) => webhook.has_secret)
    expect(hasSecrets(app)).toEqual([true, false])
    const { a } = await boxesOf(app)

    // Reordered, disabled, or sent back as it was read: a webhook of the same name and URL keeps its secret.
    expect(
      hasSecrets(
        (
          await patch(app, [
            { name: 'b', url },
            { name: 'a', url, enabled: false },
          ])
        ).body,
      ),
    ).toEqual([false, true])
    expect(await boxesOf(app)).toEqual({ a, b: null })
    const read = (await service.admin('GET', `/admin/apps/${app.code}`)).body
    expect((await patch(app, read.webhooks)).body.webhooks).toEqual(read.webhooks)
    expect(await boxesOf(app)).toEqual({ a, b: null })

    expect(hasSecrets((await patch(app, [{ name: 'a', url, secret: other }])).body)).toEqual([true])
    expect((await boxesOf(app)).a).not.toBe(a)
    for (const blank of [null, '']) {
      await patch(app, [{ name: 'a', url, secret: whsec }])
      expect(hasSecrets((await patch(app, [{ name: 'a', url, secret: blank }])).body)).toEqual([false])
    }
  })

  test('a secret goes with its webhook, and does not come back with its name', async () => {
    const app = await buildApp(service, { webhooks: [{ name: 'a', url, secret: whsec }] })
    await patch(app, [{ name: 'renamed', url }])
    expect((await patch(app, [{ name: 'a', url }])).body.webhooks[0].has_secret).toBe(false)
  })

  test('a secret does not move to another URL, and the answer warns of that unless the secret is given or cleared', async () => {
    const app = await buildApp(service, { webhooks: [{ name: 'a', url, secret: whsec }] })
    const moved = { name: 'a', url: 'https://elsewhere.example' }
    const sent = [moved, { ...moved, secret: other }, { ...moved, secret: null }]
    for (const [index, webhook] of sent.entries()) {
      const { body } = await patch(app, [webhook])
      expect([body.webhooks[0].has_secret, body.warnings]).toEqual([
        index === 1,
        index === 0 ? [{ code: 'webhook_secret_lost', webhook: 'a', message: expect.any(String) }] : undefined,
      ])
      const [before] = app.webhooks
      await patch(app, [{ ...before, secret: whsec }])
    }
    const dry = await service.admin('PATCH', `/admin/apps/${app.code}?dry_run=true`, { body: { webhooks: [moved] } })
    expect(dry.body.warnings).toMatchObject([{ code: 'webhook_secret_lost' }])
    expect((await service.admin('GET', `/admin/apps/${app.code}`)).body.webhooks).toMatchObject([{ url, has_secret: true }])
  })

  test('a secret does not move to another name, and the answer warns of that unless the secret is given or cleared', async () => {
    const app = await buildApp(service, { webhooks: [{ name: 'a', url, secret: whsec }] })
    const renamed = { name: 'b', url }
    const message = 'deliveries of b are not signed: the stored secret belongs to its old name, a'
    const warnings = [{ code: 'webhook_secret_lost', webhook: 'b', message }]
    const dry = await service.admin('PATCH', `/admin/apps/${app.code}?dry_run=true`, { body: { webhooks: [renamed] } })
    expect(dry.body.warnings).toEqual(warnings)
    for (const [webhook, hasSecret, warned] of [
      [renamed, false, warnings],
      [{ ...renamed, secret: other }, true, undefined],
      [{ ...renamed, secret: null }, false, undefined],
    ] as const) {
      const { body } = await patch(app, [webhook])
      expect([body.webhooks[0].has_secret, body.warnings]).toEqual([hasSecret, warned])
      await patch(app, [{ ...app.webhooks[0], secret: whsec }])
    }
    // Nothing is lost if the signed webhook stays beside the new one.
    for (const added of [renamed, { name: 'a', url: 'https://elsewhere.example' }]) {
      const { body } = await patch(app, [{ name: 'a', url }, added])
      expect([body.webhooks.map((webhook: Json) => webhook.has_secret), body.warnings]).toEqual([[true, false], undefined])
    }
  })

  test('each of two webhooks of one name keeps its own secret, in whatever order the list is sent back', async () => {
    const twins = [
      { name: 'a', url, secret: whsec },
      { name: 'a', url: `${url}&b`, secret: other },
      { name: 'a', url: `${url}&c` },
    ]
    const { webhooks, ...app } = await buildApp(service, { webhooks: twins })
    expect(webhooks.map((webhook: Json) => webhook.has_secret)).toEqual([true, true, false])
    const stored = async () => {
      const row = await service.deps.db('apps').where({ id: app.id }).first('webhooks')
      const boxes: Json[] = JSON.parse(row.webhooks)
      const open = ({ url, secret_box: box }: Json) => [url, box && service.deps.secretBox.open(box, `apps/${app.id}/webhooks/a`)]
      return Object.fromEntries(boxes.map(open))
    }
    const expected = { [url]: whsec, [`${url}&b`]: other, [`${url}&c`]: null }
    expect(await stored()).toEqual(expected)
    for (const list of [webhooks, [...webhooks].reverse()]) {
      expect((await patch(app, list)).status).toBe(200)
      expect(await stored()).toEqual(expected)
    }
    await patch(app, [webhooks[0], { ...webhooks[1], secret: null }])
    expect(await stored()).toEqual({ [url]: whsec, [`${url}&b`]: null })
  })

  test('has_secret can be read and not written', async () => {
    const app = await buildApp(service, {
      webhooks: [
        { name: 'a', url, has_secret: true },
        { name: 'b', url, secret: whsec, has_secret: false },
      ],
    })
    expect(app.webhooks.map((webhook: Json) => webhook.has_secret)).toEqual([false, true])
    expect((await patch(app, [{ name: 'a', url, has_secret: 'x' }])).status).toBe(200)
  })

  test('a secret is stored sealed, and opens only for its app and name', async () => {
    const app = await buildApp(service, { webhooks: [{ name: 'a', url, secret: whsec }] })
    const { a } = await boxesOf(app)
    expect(a).not.toContain(whsec.slice(6))
    const { secretBox } = service.deps
    expect(secretBox.open(a!, `apps/${app.id}/webhooks/a`)).toBe(whsec)
    expect(() => secretBox.open(a!, `apps/${app.id}/webhooks/b`)).toThrow()
  })

  test('a secret is in no answer and in no row of the audit', async () => {
    const secrets = [whsec, other].map((secret) => secret.slice('whsec_'.length))
    const created = await service.admin('POST', '/admin/apps', {
      body: { code: 'discreet', name: 'Discreet', webhooks: [{ name: 'a', url, secret: whsec }] },
    })
    const replies = [
      created,
      await patch(created.body, [{ name: 'a', url, secret: other }]),
      await patch(created.body, [{ name: 'a', url, secret: whsec, nope: 1 }]),
      await patch(created.body, [{ name: 'a', url, secret: `${whsec}${whsec}` }]),
      await service.admin('GET', '/admin/apps/discreet'),
      await service.admin('GET', '/admin/apps?q=discreet'),
      await service.admin('DELETE', '/admin/apps/discreet'),
    ]
    const events = await service.deps.db('audit_events').where({ app_id: created.body.id })
    expect(events.map((event) => event.event).sort()).toEqual(['app.created', 'app.deleted', 'app.updated'])
    const everything = JSON.stringify([replies.map((reply) => reply.body), events])
    for (const secret of secrets) expect(everything).not.toContain(secret)
    expect(everything).not.toMatch(/secret_box|whsec_[^ ]/)
  })
})
