import { describe, expect, test } from 'vitest'
import { fixture } from '../support/fixture.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { startReceiver } from '../support/receiver.ts'
import { gatehouseFixture, type Machine, machine, parsed, register } from './sandbox.ts'

const { service } = gatehouseFixture()
const receiver = fixture(() =>
  startReceiver((response, { path }) => void response.writeHead(path === '/gone' ? 410 : 204).end(), onFileEnd),
)

/** Returns a signed-in machine, after creating an app with these webhooks. */
async function signedIn(code: string, webhooks: object[]): Promise<Machine> {
  const here = machine()
  await here.login(service.url)
  expect((await here.authctl(['app', 'create', code, '--name', code])).exit).toBe(0)
  const input = JSON.stringify({ webhooks })
  expect((await here.authctl(`api PATCH /admin/apps/${code} -f -`, { input })).exit).toBe(0)
  return here
}

async function deliveries({ authctl }: Machine, code: string, count: number) {
  const list = async () => parsed(await authctl(`webhook deliveries --app ${code} --json`))
  await expect.poll(list, { interval: 50 }).toSatisfy(isFinished(count))
  return list()
}

const isFinished = (count: number) => (items: { status: string }[]) =>
  items.length === count && items.every(({ status }) => status !== 'pending')

describe('webhook list', () => {
  test('webhook list shows the webhooks of one app or of all', async () => {
    const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
    const { authctl } = await signedIn('listed', [
      { name: 'crm', url: `${receiver.url}/crm`, secret },
      { name: 'off', url: `${receiver.url}/off`, enabled: false },
    ])
    const table = await authctl('webhook list --app listed -o table')
    expect(table.exit).toBe(0)
    expect(table.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['APP', 'NAME', 'URL', 'EVENTS', 'ENABLED', 'SIGNED'],
      ['listed', 'crm', `${receiver.url}/crm`, 'user.registered', 'yes', 'yes'],
      ['listed', 'off', `${receiver.url}/off`, 'user.registered', 'no', 'no'],
      [''],
    ])
    const all = await authctl('webhook list --json')
    expect(parsed(all)).toContainEqual({
      app_code: 'listed',
      name: 'crm',
      url: `${receiver.url}/crm`,
      events: ['user.registered'],
      enabled: true,
      has_secret: true,
    })
    expect(all.stdout).not.toContain(secret)
    expect((await authctl('webhook list --app authctl -o table')).stderr).toBe('no webhooks\n')
    expect((await authctl('webhook list --app nowhere')).exit).toBe(3)
  })
})

test('webhook test sends a sample, deliveries shows its result, and redeliver sends it again', async () => {
  const here = await signedIn('tried', [
    { name: 'crm', url: `${receiver.url}/tried` },
    { name: 'gone', url: `${receiver.url}/gone` },
  ])
  const { authctl } = here
  const planned = await authctl('webhook test --app tried --dry-run --json')
  expect(parsed(planned).request).toMatchObject({ method: 'POST', body: {} })
  const fired = await authctl('webhook test --app tried --json')
  expect(fired.exit).toBe(0)
  expect(parsed(fired)).toEqual({ app: 'tried', webhook: null, outcome: 'queued' })
  expect(fired.stderr).toContain('authctl webhook deliveries --app tried')
  const two = await deliveries(here, 'tried', 2)
  expect(two).toContainEqual(expect.objectContaining({ webhook: 'crm', status: 'delivered', last_status: 204, test: true }))
  expect(two).toContainEqual(expect.objectContaining({ webhook: 'gone', status: 'failed', last_status: 410, test: true }))

  await register(service.url, { email: 'new@example.com', password: 'correct horse battery', app_code: 'tried' })
  await deliveries(here, 'tried', 4)
  const failed = parsed(await authctl('webhook deliveries --app tried --status failed --json'))
  expect(failed.map(({ test }: { test: boolean }) => test)).toEqual([false, true])
  const table = await authctl('webhook deliveries --app tried --limit 1 -o wide')
  expect(table.stdout.split('\n')[0]!.split(/ {2,}/)).toEqual([
    'ID',
    'CREATED AT',
    'WEBHOOK',
    'STATUS',
    'ATTEMPTS',
    'LAST STATUS',
    'ERROR',
    'TEST',
  ])
  expect(table.stdout.trimEnd().split('\n')).toHaveLength(2)

  const { screen } = await here.terminal('webhook deliveries --app tried --status failed', { columns: 60 }).ended()
  expect(screen).toContain(failed[0].id)

  const { id } = two.find(({ webhook }: { webhook: string }) => webhook === 'crm')
  const again = await authctl(`webhook redeliver ${id} --json`)
  expect(again.exit).toBe(0)
  expect(parsed(again)).toEqual({ id, outcome: 'queued' })
  const told = () => receiver.requests.filter(({ headers }) => headers['webhook-id'] === id)
  await expect.poll(() => told().length, { interval: 20 }).toBe(2)
})

test('doctor reports failed deliveries until they are sent again, and ignores samples', async () => {
  let isDown = true
  const moody = await startReceiver((response) => void response.writeHead(isDown ? 410 : 204).end(), onFileEnd)
  const here = await signedIn('given-up', [{ name: 'crm', url: `${moody.url}/crm` }])
  const { authctl } = here
  const findings = async () => {
    const { findings } = parsed(await authctl('doctor --app given-up --json'))
    return findings.filter(({ check }: { check: string }) => check === 'webhooks')
  }
  await authctl('webhook test --app given-up')
  await deliveries(here, 'given-up', 1)
  expect(await findings()).toMatchObject([{ level: 'ok' }])
  await register(service.url, { email: 'lost@example.com', password: 'correct horse battery', app_code: 'given-up' })
  await deliveries(here, 'given-up', 2)
  const [finding, ...others] = await findings()
  expect(others).toEqual([])
  expect(finding).toMatchObject({
    level: 'warn',
    app: 'given-up',
    message: expect.stringContaining('deliveries of crm that failed for good in 7 days: 1, the last'),
  })

  isDown = false
  expect((await authctl(finding.fix.replace(/^authctl /, ''))).exit).toBe(0)
  await deliveries(here, 'given-up', 2)
  expect(await findings()).toMatchObject([{ level: 'ok' }])
})

test('webhook commands exit with a code for each kind of refusal', async () => {
  const { authctl } = await signedIn('refused', [{ name: 'off', url: receiver.url, enabled: false }])
  expect((await authctl('webhook test --app refused')).exit).toBe(5)
  expect((await authctl('webhook test --app refused --webhook nope')).exit).toBe(6)
  expect((await authctl('webhook test --app nowhere')).exit).toBe(3)
  expect((await authctl('webhook test')).exit).toBe(2)
  expect((await authctl('webhook deliveries')).exit).toBe(2)
  expect((await authctl('webhook deliveries --app refused --status lost')).exit).toBe(2)
  expect((await authctl('webhook deliveries --app refused -o table')).stderr).toBe('no deliveries\n')
  expect((await authctl('webhook redeliver 0190a0a0-0000-7000-8000-000000000000')).exit).toBe(3)
  expect((await authctl('webhook redeliver ../../apps')).exit).toBe(6)
  expect((await machine().authctl(`webhook list --base-url ${service.url}`)).exit).toBe(4)
})

test('webhook test on a terminal asks for the app and prints a table', async () => {
  const { terminal } = await signedIn('asked', [{ name: 'crm', url: `${receiver.url}/asked` }])
  const session = terminal('webhook test')
  await session.shows('Code or id of the app')
  session.type('asked\r')
  const { screen, exit } = await session.ended()
  expect(exit).toBe(0)
  expect(screen).toMatch(/OUTCOME +queued/)
  await expect.poll(() => receiver.requests.some(({ path }) => path === '/asked'), { interval: 20 }).toBe(true)
})
