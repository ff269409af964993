import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from '../support/client.ts'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { startInstance } from '../support/server-instance.ts'
import { startServer } from '../support/server-process.ts'
import { addUser, admin, gatehouseFixture, machine, reply, standIn } from './sandbox.ts'

const current = 'the secret that signs here, at least 32 characters long'
const previous = 'the secret before that one, at least 32 characters long'

const { service, signedIn } = gatehouseFixture({ JWT_ACCESS_SECRET: current })

const refusedAnew =
  /^the service refuses a token that it has just issued, so its servers have different secrets; trying again.*\n/gm

interface Finding {
  level: 'ok' | 'warn' | 'fail'
  check: string
  app: string | null
  message: string
  fix: string | null
}

const findingsOf = ({ stdout }: { stdout: string }): Finding[] => JSON.parse(stdout).findings
const wrong = (ended: { stdout: string }) =>
  findingsOf(ended)
    .filter(({ level }) => level !== 'ok')
    .map(({ level, check, app, fix }) => [level, check, app, fix])
const withToken = (url: string) => ({ env: { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url } })

test('doctor exits with 0 for a service without faults, with a table on a terminal and an object in a pipe', async () => {
  const here = await signedIn()
  const piped = await here.authctl('doctor')
  expect({ exit: piped.exit, stderr: piped.stderr, wrong: wrong(piped) }).toEqual({ exit: 0, stderr: '', wrong: [] })
  const { counts } = JSON.parse(piped.stdout)
  expect(counts).toEqual({ ok: findingsOf(piped).length, warn: 0, fail: 0 })
  expect(findingsOf(piped).map(({ check }) => check)).toEqual([
    ...['service', 'ready', 'version', 'clock', 'rights', 'secrets', 'service-accounts', 'servers', 'audit', 'passkeys'],
    ...[
      'second-factor',
      'search',
      'status',
      'linked-apps',
      'services',
      'permission-scope',
      'tokens',
      'auto-grant',
      'overrides',
      'verified-emails',
      'pools',
      'redirects',
      'signing',
    ],
    'webhooks',
    'mail',
  ])
  const { screen, exit } = await here.terminal('doctor').ended()
  expect(exit).toBe(0)
  expect(screen).toMatch(/^LEVEL +CHECK +APP +FINDING\nok +service +- +http/)
  expect(screen).not.toContain('how to fix it')
})

describe('findings about apps', () => {
  test('warnings alone exit with 0, and each names a command that solves it', async () => {
    const here = await signedIn()
    const { authctl } = here
    for (const command of [
      'app create target --name T --service target',
      'app create linker --name L --service target --link target nowhere authctl --pool here --read-pool there',
      'permission register --service target -f - --max-prune 0',
      'app deactivate target --yes',
      'app create granting --name G --auto-grant --service target silent --pool here --email-domain corp.com --require-verified-email',
    ])
      expect({ command, exit: (await authctl(command, { input: '[{"code": "target:a", "name": "A"}]' })).exit }).toMatchObject({
        exit: 0,
      })
    for (const namespace of ['here', 'there'])
      await addUser(here, { email: 'twin@example.com', password: 'a fine password', namespace })
    const found = await authctl('doctor --json')
    expect({ exit: found.exit, stderr: found.stderr }).toEqual({ exit: 0, stderr: '' })
    expect(wrong(found)).toEqual([
      ['warn', 'linked-apps', 'linker', 'authctl app update linker --link target'],
      ['warn', 'linked-apps', 'linker', 'authctl app update linker --link target'],
      ['warn', 'linked-apps', 'linker', 'authctl app activate target'],
      ['warn', 'services', 'granting', 'authctl permission register --service silent -f permissions.yaml'],
      ['warn', 'permission-scope', 'granting', 'authctl app update granting --permission-scope roles'],
      ['warn', 'permission-scope', 'linker', 'authctl app update linker --permission-scope roles'],
      ['warn', 'auto-grant', 'granting', 'authctl app update granting --auto-grant-follows-policy'],
      ['warn', 'overrides', 'granting', 'set AUTH_CLIENT_OVERRIDES=declared on the servers'],
      ['warn', 'pools', 'linker', 'authctl pool collisions here there'],
    ])
    const table = (await authctl('doctor --app linker -o table')).stdout
    expect(table).toMatch(/\n\nhow to fix it:\n {2}linked-apps of linker: authctl app update linker --link target\n/)
    expect(wrong(await authctl('doctor --app target'))).toEqual([
      ['warn', 'status', 'target', 'authctl app activate target'],
      ['warn', 'permission-scope', 'target', 'authctl app update target --permission-scope roles'],
    ])
    for (const [level, check, app, fix] of wrong(found)) {
      if (check !== 'linked-apps' && check !== 'permission-scope') continue
      expect({ level, app, exit: (await authctl(fix!.replace(/^authctl /, ''))).exit }).toMatchObject({ exit: 0 })
    }
    // The app was inactive before, and doctor skips inactive apps.
    expect(wrong(await authctl('doctor')).filter(([, check]) => ['linked-apps', 'permission-scope'].includes(check!))).toEqual([
      ['warn', 'permission-scope', 'target', 'authctl app update target --permission-scope roles'],
    ])
    for (const code of ['linker', 'granting', 'target']) await authctl(`app delete ${code} --confirm ${code} --force`)
  })

  test('doctor reports an app with long tokens and their size', async () => {
    const { authctl } = await signedIn()
    await authctl('app create lengthy --name L --permission-scope services --service lengthy')
    const permissions = Array.from({ length: 300 }, (_, index) => ({ code: `lengthy-${index}:read`, name: 'Read' }))
    const registered = await authctl('permission register --service lengthy -f - --json', { input: JSON.stringify(permissions) })
    expect(registered.exit).toBe(0)
    const found = findingsOf(await authctl('doctor --app lengthy')).filter(({ check }) => check === 'tokens')
    expect(found).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(/about \d{4} bytes/),
        fix: 'authctl app update lengthy --permission-scope roles',
      },
    ])
    expect((await authctl('app update lengthy --permission-scope roles')).exit).toBe(0)
    expect(wrong(await authctl('doctor --app lengthy'))).toEqual([])
    await authctl('app delete lengthy --confirm lengthy')
  })

  test('doctor reports an organization in which anybody can become an admin', async () => {
    const { authctl } = await signedIn()
    const org = JSON.parse((await authctl('org create --name Acme --json')).stdout)
    await authctl(`app create joining --name J --auto-grant --service core --org ${org.id} --role org_admin`)
    const found = await authctl('doctor --app joining')
    expect(found.exit).toBe(0)
    expect(findingsOf(found).filter(({ check }) => check === 'overrides')).toMatchObject([
      { level: 'warn', message: expect.stringContaining('org_admin too') },
      { level: 'warn', fix: 'authctl app update joining --role org_member' },
    ])
    expect((await authctl('app update joining --role org_member')).exit).toBe(0)
    expect(wrong(await authctl('doctor --app joining'))).toHaveLength(1)
    await authctl('app delete joining --confirm joining')
  })

  test('doctor reports an app that admits unverified addresses of a domain, until it requires verified ones', async () => {
    const { authctl } = await signedIn()
    await authctl('app create corp --name C --auto-grant --service core --email-domain corp.test')
    const fix = 'authctl app update corp --require-verified-email'
    const found = await authctl('doctor --app corp')
    expect(found.exit).toBe(0)
    expect(wrong(found)).toContainEqual(['warn', 'verified-emails', 'corp', fix])
    const onboarded = await authctl('app onboard corp --if-exists skip --json')
    expect(onboarded.stderr).toContain(fix)
    expect((await authctl(fix.replace(/^authctl /, ''))).exit).toBe(0)
    expect(wrong(await authctl('doctor --app corp')).map(([, check]) => check)).not.toContain('verified-emails')
    await authctl('app delete corp --confirm corp')
  })

  test('doctor exits with 8 for an unknown app', async () => {
    const { authctl } = await signedIn()
    const failed = await authctl('doctor --app nowhere --json')
    expect(failed.exit).toBe(8)
    expect(wrong(failed)).toEqual([['fail', 'app', 'nowhere', 'authctl app list']])
    expect(JSON.parse(failed.stderr).error).toMatchObject({ code: 'checks_failed', exit: 8 })
  })
})

test('doctor reports service accounts that expire soon and those whose apps are all deleted', async () => {
  const { authctl } = await signedIn()
  await authctl('service-account create fresh --service crm --expires 90d')
  await authctl('service-account create soon --service crm --expires 20d')
  await authctl('app create gone --name G')
  await authctl('service-account create lost --service crm --scope limits:exempt --app gone')
  await authctl('service-account create plain --service crm --app gone')
  expect((await authctl('app delete gone --confirm gone')).exit).toBe(0)
  const found = findingsOf(await authctl('doctor')).filter(({ check }) => check === 'service-accounts')
  expect(found).toMatchObject([
    {
      level: 'warn',
      message: expect.stringContaining('"lost" holds limits:exempt but has no app left'),
      fix: expect.stringContaining('delete'),
    },
    {
      level: 'warn',
      message: expect.stringContaining('"soon" expires at'),
      fix: expect.stringContaining('"soon 2" --service crm'),
    },
  ])
  for (const name of ['fresh', 'soon', 'lost', 'plain'])
    expect((await authctl(`service-account delete ${name} --confirm ${name}`)).exit).toBe(0)
})

test('doctor fails the check of an app whose consumers do not accept the current secret', async () => {
  const { authctl } = await signedIn()
  for (const code of ['fresh', 'stale']) await authctl(`app create ${code} --name N --service core`)
  const poll = async (code: string, secrets: string[]) => {
    const token = assertionOf({ code }, { secret: current, claims: { kids: secrets.map(kidOf) } })
    const { status } = await fetch(`${service.url}/api/v1/revocations`, { headers: { authorization: `Bearer ${token}` } })
    expect(status).toBe(200)
  }
  await poll('fresh', [current])
  await poll('stale', [previous])
  const failed = await authctl('doctor')
  expect(failed.exit).toBe(8)
  expect(wrong(failed)).toEqual([['fail', 'secrets', 'stale', 'authctl secret status']])
  expect((await authctl('doctor --app fresh')).exit).toBe(0)
  for (const code of ['fresh', 'stale']) await authctl(`app delete ${code} --confirm ${code}`)
})

test('in production, doctor fails open overrides and missing redirect URLs, and warns of one at the service', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-doctor-'))
  const settings = {
    DATABASE_URL: `sqlite:${join(folder, 'moved.db')}`,
    JWT_ACCESS_SECRET: current,
    AUTH_ENCRYPTION_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
    AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email,
    AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
  }
  const production = {
    NODE_ENV: 'production',
    AUTH_BCRYPT_COST: '10',
    JWT_ACCESS_SECRET_PREVIOUS: previous,
    AUTH_CLIENT_OVERRIDES: 'open',
    PUBLIC_URL: 'https://login.example.com',
    SMTP_URL: 'smtp://127.0.0.1:2525',
  }
  try {
    const development = await startServer(settings, () => {})
    const here = machine()
    await here.login(development.url)
    for (const command of ['app create bare --name B --service core', 'app create open --name O --service core --auto-grant'])
      expect((await here.authctl(command)).exit).toBe(0)
    await here.authctl(
      'app update open --redirect http://shop.example/cb http://localhost:3000/cb https://shop.example/cb https://LOGIN.example.com:443/app/* https://login.example.com.evil.example/cb',
    )
    await development.stop()
    const moved = await startServer({ ...settings, ...production })
    await here.login(moved.url)
    const failed = await here.authctl('doctor --json')
    expect(failed.exit).toBe(8)
    expect(wrong(failed)).toEqual([
      ['warn', 'secrets', null, 'authctl secret status'],
      ['warn', 'second-factor', 'authctl', 'authctl app update authctl --require-two-factor everyone'],
      ['fail', 'overrides', 'open', 'set AUTH_CLIENT_OVERRIDES=declared on the servers'],
      ['warn', 'redirects', 'open', 'authctl app update open --redirect URL'],
      ['warn', 'redirects', 'open', 'authctl app update open --redirect https://…'],
      ['fail', 'redirects', 'bare', 'authctl app update bare --redirect URL'],
    ])
    expect(JSON.parse(failed.stderr).error.message).toMatch(/^2 of \d+ checks failed$/)
    await moved.stop()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe('doctor without a service that answers', () => {
  const health = { status: 'ok', version: '0.1.0' }
  const fineCheck = { ok: true, detail: null }
  const ready = { status: 'ready', checks: { database: fineCheck } }

  test('doctor exits with 8 and stops if nobody listens', async () => {
    const down = await machine().authctl('doctor --json', withToken('http://127.0.0.1:9'))
    expect(down.exit).toBe(8)
    expect(findingsOf(down)).toMatchObject([{ level: 'fail', check: 'service', fix: expect.stringContaining('--base-url') }])
  })

  test('doctor exits with 8 if something else answers', async () => {
    const { url } = await standIn((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>'))
    const other = await machine().authctl('doctor', withToken(url))
    expect(other.exit).toBe(8)
    expect(findingsOf(other)).toMatchObject([
      { check: 'service', message: expect.stringContaining('not like a Gatehouse service') },
    ])
  })

  test('doctor exits with 8 at once and gives the reason if the service is not ready', async () => {
    const checks = { accepting: fineCheck, database: { ok: false, detail: 'not reachable' } }
    const { url, requests } = await standIn(({ path }, response) =>
      path.endsWith('/health')
        ? reply(response, 200, health)
        : reply(response, 503, { status: 'not_ready', checks }, { 'retry-after': '2' }),
    )
    const failed = await machine().authctl('doctor', withToken(url))
    expect({ exit: failed.exit, requests: requests.length }).toEqual({ exit: 8, requests: 2 })
    expect(findingsOf(failed)).toContainEqual(
      expect.objectContaining({ level: 'fail', check: 'ready', message: 'the service is not ready: database not reachable' }),
    )
  })

  test.each([
    ['+3 s', 3_000, 'ok'],
    ['+20 s', 20_000, 'warn'],
    ['-20 s', -20_000, 'warn'],
    ['+5 min', 300_000, 'fail'],
    ['-5 min', -300_000, 'fail'],
  ])('doctor reports a clock that is off by %s and a server of another release', async (_, skewMs, level) => {
    const { url } = await standIn(({ path }, response) => {
      const headers = { date: new Date(Date.now() + skewMs).toUTCString() }
      if (path.endsWith('/health')) reply(response, 200, { ...health, version: '9.9.9' }, headers)
      else reply(response, path.endsWith('/ready') ? 200 : 401, path.endsWith('/ready') ? ready : { code: 'token_invalid' })
    })
    const found = await machine().authctl('doctor', withToken(url))
    expect(found.exit).toBe(8)
    expect(findingsOf(found)).toMatchObject([
      { check: 'service', level: 'ok' },
      { check: 'ready', level: 'ok' },
      { check: 'version', level: 'warn', message: expect.stringContaining('9.9.9') },
      { check: 'clock', level },
      { check: 'rights', level: 'fail', fix: expect.stringContaining('authctl login') },
    ])
  })
})

test('commands work behind a balancer of servers with different secrets, and doctor names the servers', async () => {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const settings = { ...bootstrapAdmin, DATABASE_URL: database.url }
  const servers = [await startInstance(settings), await startInstance({ ...settings, JWT_ACCESS_SECRET: current })]
  const { url } = await startBalancer(servers.map((server) => server.url))
  const here = machine()
  await here.login(url, { email: ADMIN_EMAIL, password: PASSWORD })
  for (let time = 0; time < 4; time += 1) {
    const listed = await here.authctl('app list')
    expect({ exit: listed.exit, stderr: listed.stderr.replace(refusedAnew, '') }).toEqual({ exit: 0, stderr: '' })
  }
  const found = await here.authctl('doctor')
  expect(found.exit).toBe(8)
  const ofServers = findingsOf(found).filter(({ check, level }) => check === 'servers' && level === 'fail')
  const fix = 'give all servers the same JWT_ACCESS_SECRET, and restart them; their names are MACHINE-PROCESS-…'
  const message = expect.stringMatching(
    /^the server \S+ refuses the tokens of \S+, so calls fail now and then: it does not have its JWT_ACCESS_SECRET \S+$/,
  )
  expect(ofServers).toMatchObject([
    { message, fix },
    { message, fix },
  ])
})

test('doctor exits with 8 for a user who is not signed in or lacks system_admin', async () => {
  const nobody = machine()
  const anonymous = await nobody.authctl(`doctor --base-url ${service.url}`)
  expect(anonymous.exit).toBe(8)
  expect(wrong(anonymous)).toEqual([['fail', 'rights', null, 'authctl login']])
  const here = await signedIn()
  await addUser(here, { email: 'eve@example.com', password: 'a fine password' })
  await here.authctl('grant add --app authctl --user eve@example.com')
  const hers = machine()
  await hers.login(service.url, { email: 'eve@example.com', password: 'a fine password' })
  const refused = await hers.authctl('doctor')
  expect(refused.exit).toBe(8)
  expect(wrong(refused)).toEqual([
    ['fail', 'rights', null, 'a system_admin runs: authctl user role eve@example.com@@default --role system_admin'],
  ])
})
