// With AUTH_WEBHOOK_ALLOW_PRIVATE=false, only public addresses are dialled, whatever name or form the URL uses.
import { beforeAll, describe, expect, test } from 'vitest'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { deliveriesOf, passTime, sendWebhooks } from '../support/outbox.ts'
import { startReceiver } from '../support/receiver.ts'
import { buildApp, buildService, buildUser } from '../support/service.ts'

const refused = expect.stringMatching(/is not a public address \(AUTH_WEBHOOK_ALLOW_PRIVATE\)$/)

/** The replies of a DNS server, one per query. The last one is repeated. */
const answers = new Map<string, string[][]>()
const asked: string[] = []
const resolve = async (hostname: string) => {
  asked.push(hostname)
  const turns = answers.get(hostname) ?? []
  const addresses = (turns.length > 1 ? turns.shift() : turns[0]) ?? []
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

const receiver = fixture(() => startReceiver(undefined, onFileEnd))
let port: string
const service = serviceFixture({ AUTH_WEBHOOK_ALLOW_PRIVATE: 'false' }, { frozen: true })
beforeAll(async () => {
  sendWebhooks(service, { resolve, timeoutMs: 400 }, onFileEnd)
  port = new URL(receiver.url).port
})

async function registerTowards(url: string) {
  const app = await buildApp(service, { webhooks: [{ name: 'crm', url }] })
  await buildUser(service, app)
  return app
}

test.each([
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '0',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '10.0.0.1',
  '192.168.0.1',
  '172.16.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '[fd00::1]',
  '[fe80::1]',
  '１２７.0.0.1',
])('no connection is made to http://%s', async (host) => {
  const app = await registerTowards(`http://${host}:${port}/`)
  await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, last_status: null, last_error: refused }])
  expect(receiver.requests).toEqual([])
})

describe('a host name', () => {
  test.each([
    ['of a private address', [['127.0.0.1']]],
    ['of a private address among public ones', [['93.184.216.34', '127.0.0.1']]],
    ['of a private IPv6 address', [['::1']]],
    ['of an IPv4-mapped one', [['::ffff:127.0.0.1']]],
    ['of no address', [[]]],
  ])('no connection is made to a host name %s', async (_, turns) => {
    const host = `h${answers.size}.example`
    answers.set(host, turns)
    const app = await registerTowards(`http://${host}:${port}/`)
    await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, last_error: refused }])
    expect(receiver.requests).toEqual([])
  })

  test('no connection is made to a host name that first has a public address and then that of this machine', async () => {
    // Nothing answers at this address: it is in IPv6 space that was returned.
    answers.set('rebinding.example', [['3ffe::1'], ['127.0.0.1']])
    const app = await registerTowards(`http://rebinding.example:${port}/`)
    const [first] = await deliveriesOf(service, app, [{ status: 'pending', attempts: 1 }])
    expect(first.last_error).not.toEqual(refused)
    // One DNS query per connection: the address that was checked is the one that was dialled.
    expect(asked.filter((host) => host === 'rebinding.example')).toHaveLength(1)
    passTime(service, 2)
    await deliveriesOf(service, app, [{ status: 'pending', attempts: 2, last_error: refused }])
    passTime(service, 10)
    await deliveriesOf(service, app, [{ status: 'failed', attempts: 3, last_error: refused }])
    expect(receiver.requests).toEqual([])
  })
})

test('no connection is made to a port of another protocol, even for a webhook that was stored earlier', async () => {
  const app = await buildApp(service, { webhooks: [{ name: 'crm', url: 'http://93.184.216.34:8025/' }] })
  const { webhooks } = await service.deps.db('apps').where({ id: app.id }).first('webhooks')
  await service.deps
    .db('apps')
    .where({ id: app.id })
    .update({ webhooks: webhooks.replace(':8025/', ':25/') })
  await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { description: 'what is kept in memory is read again' } })
  await buildUser(service, app)
  const refusal = expect.stringMatching(/^port 25 belongs to another protocol$/)
  await deliveriesOf(service, app, [{ status: 'pending', attempts: 1, last_error: refusal }])
})

test('AUTH_WEBHOOK_ALLOW_PRIVATE allows the private address that a host name has when it is called', async () => {
  const permissive = await buildService({ AUTH_WEBHOOK_ALLOW_PRIVATE: 'true' })
  sendWebhooks(permissive, { resolve })
  answers.set('inside.example', [['127.0.0.1']])
  const app = await buildApp(permissive, { webhooks: [{ name: 'crm', url: `http://inside.example:${port}/in` }] })
  await buildUser(permissive, app)
  await deliveriesOf(permissive, app, [{ status: 'delivered' }])
  expect(receiver.requests.map(({ path, headers }) => [path, headers.host])).toEqual([['/in', `inside.example:${port}`]])
})
