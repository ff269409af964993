import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { gatehouseFixture, machine, parsed } from './sandbox.ts'

const current = 'the secret that signs here, at least 32 characters long'
const previous = 'the secret before that one, at least 32 characters long'

const { service, signedIn } = gatehouseFixture({ JWT_ACCESS_SECRET: current, JWT_ACCESS_SECRET_PREVIOUS: previous })

describe('secret new', () => {
  test('secret new prints 48 random bytes on stdout and the steps of a rotation on stderr, without a service', async () => {
    const { authctl } = machine()
    const env = { AUTHCTL_BASE_URL: 'http://127.0.0.1:9' }
    const first = await authctl('secret new', { env })
    expect(first.exit).toBe(0)
    expect(first.stdout).toMatch(/^[A-Za-z0-9+/]{64}\n$/)
    expect(Buffer.from(first.stdout, 'base64')).toHaveLength(48)
    expect(first.stderr.match(/^\d\. (servers|consumers)/gm)).toEqual([
      '1. servers',
      '2. consumers',
      '3. servers',
      '4. consumers',
      '5. servers',
    ])
    expect(first.stderr).toContain(`its key id is ${kidOf(first.stdout.trim())}`)
    expect(first.stderr).not.toContain(first.stdout.trim())
    const second = await authctl('secret new --quiet', { env })
    expect(second.stdout).not.toBe(first.stdout)
    expect(second.stderr).toBe('')
    const { secret, kid } = parsed(await authctl('secret new --json'))
    expect(kid).toBe(kidOf(secret))
  })
})

test('secret new --webhook prints 32 random bytes in the form of Standard Webhooks, without the steps', async () => {
  const { authctl, folder } = machine()
  const made = await authctl('secret new --webhook')
  expect(made).toMatchObject({ exit: 0, stderr: '' })
  const secret = made.stdout.trim()
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(parsed(await authctl('secret new --webhook --json'))).toEqual({ secret: expect.stringMatching(/^whsec_/) })
  expect((await authctl('secret new --webhook --out hook.txt')).exit).toBe(0)
  expect(readFileSync(join(folder, 'hook.txt'), 'utf8')).toMatch(/^whsec_.{44}\n$/)
  expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
})

test('secret new --out writes a file that only its owner can read, and overwrites no file', async () => {
  const { authctl, folder } = machine()
  const { stdout, stderr, exit } = await authctl('secret new --out secret.txt')
  expect(exit).toBe(0)
  const file = join(folder, 'secret.txt')
  const secret = readFileSync(file, 'utf8')
  expect(secret).toMatch(/^[A-Za-z0-9+/]{64}\n$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(stdout + stderr).not.toContain(secret.trim())
  expect(stderr).toContain(`its key id is ${kidOf(secret.trim())}`)
  expect((await authctl('secret new --out secret.txt')).exit).toBe(6)
  expect(readFileSync(file, 'utf8')).toBe(secret)
  expect((await authctl('secret new --out other.txt --dry-run')).exit).toBe(0)
  expect(existsSync(join(folder, 'other.txt'))).toBe(false)
})

describe('secret status', () => {
  const poll = async (code: string, secrets: string[]) => {
    const token = assertionOf({ code }, { secret: secrets[0]!, claims: { kids: secrets.map(kidOf) } })
    const { status } = await fetch(`${service.url}/api/v1/revocations`, { headers: { authorization: `Bearer ${token}` } })
    expect(status).toBe(200)
  }

  test('secret status shows which secrets the consumers of an app accept, and whether all accept the current', async () => {
    const { authctl } = await signedIn()
    const empty = await authctl('secret status -o table')
    expect(empty.exit).toBe(0)
    expect(empty.stdout).toMatch(/^SERVER +KID\nsigns +[0-9a-f]{8}\nalso accepted +[0-9a-f]{8}\n$/)
    expect(empty.stderr).toContain('no consumer was seen')

    for (const code of ['ready', 'halfway', 'behind']) await authctl(`app create ${code} --name N`)
    await poll('ready', [current, previous])
    await poll('halfway', [current, previous])
    await poll('halfway', [previous])
    await poll('behind', [previous])
    const { stdout, exit } = await authctl('secret status -o table')
    expect(exit).toBe(0)
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/))
    expect(lines).toContainEqual(['APP', 'KID', 'SECRET', 'LAST SEEN', 'LAST MISSING', 'ACCEPTS CURRENT'])
    const line = (app: string, secret: string, missing: unknown, accepts: string) => [
      app,
      kidOf(secret),
      secret === current ? 'current' : 'previous',
      expect.stringMatching(/^\d{4}-.*Z$/),
      missing,
      accepts,
    ]
    const moment = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(lines).toContainEqual(line('ready', current, '-', 'all'))
    expect(lines).toContainEqual(line('ready', previous, '-', 'all'))
    expect(lines).toContainEqual(line('halfway', current, moment, 'some'))
    expect(lines).toContainEqual(line('behind', previous, '-', 'none'))

    const json = parsed(await authctl('secret status --json'))
    const authorization = `Bearer ${assertionOf({ code: 'ready' }, { secret: current })}`
    const consumer = await fetch(`${service.url}/api/v1/consumer`, { headers: { authorization } })
    const { service_id } = JSON.parse(await consumer.text())
    expect(json).toMatchObject({ service_id, current: { kid: kidOf(current) }, previous: { kid: kidOf(previous) } })
    expect(json.consumers).toHaveLength(5)
    expect(json.consumers).toContainEqual(
      expect.objectContaining({ app_code: 'behind', kid: kidOf(previous), is_ours: true, accepts_current: 'none' }),
    )
  })

  test('secret status needs a sign-in', async () => {
    expect((await machine().authctl(`secret status --base-url ${service.url}`)).exit).toBe(4)
  })
})

describe('service-account', () => {
  const works = async (token: string) => {
    const { status } = await fetch(`${service.url}/api/v1/admin/service-accounts`, {
      headers: { authorization: `Bearer ${token}` },
    })
    // The token is valid but may not read the list.
    return status === 403
  }

  test('service-account create prints the token once, and list never does', async () => {
    const { authctl } = await signedIn()
    await authctl('app create shop --name Shop')
    const created = await authctl(
      'service-account create "crm import" --service crm --scope permissions:register users:register_or_return users:override tokens:introspect limits:exempt users:changes --app shop --expires 30d --json',
    )
    expect(created.exit).toBe(0)
    const { token, ...account } = parsed(created)
    expect(account).toMatchObject({
      name: 'crm import',
      service: 'crm',
      scopes: [
        'permissions:register',
        'users:register_or_return',
        'users:override',
        'tokens:introspect',
        'limits:exempt',
        'users:changes',
      ],
      app_codes: ['shop'],
      expires_at: expect.any(String),
      outcome: 'created',
    })
    expect(token).toMatch(/^gsa_/)
    expect(created.stderr).toBe('the token is not shown again\n')
    expect(await works(token)).toBe(true)
    const headers = { authorization: `Bearer ${token}` }
    const changes = await fetch(`${service.url}/api/v1/consumer/changes?app_code=shop`, { headers })
    expect(await changes.json()).toMatchObject({ items: [], reset: false })
    const listed = await authctl('service-account list --service crm --json')
    expect(parsed(listed)).toMatchObject([{ id: account.id, name: 'crm import' }])
    expect(listed.stdout).not.toContain('gsa_')
    const table = await authctl('service-account list -o table')
    expect(table.stdout).toMatch(/^NAME +SERVICE +SCOPES/)
    expect((await authctl('service-account list --service nowhere -o table')).stderr).toBe('no service accounts\n')
  })

  test('service-account create --dry-run creates nothing, a refusal exits with 6, a missing option with 2', async () => {
    const { authctl } = await signedIn()
    expect(parsed(await authctl('service-account create planned --service planned --dry-run --json')).request).toMatchObject({
      method: 'POST',
      body: { name: 'planned', service: 'planned' },
    })
    expect(parsed(await authctl('service-account list --service planned --json'))).toEqual([])
    expect((await authctl('service-account create x --service x --scope everything')).exit).toBe(6)
    expect((await authctl('service-account create x --service x --scope limits:exempt')).exit).toBe(6)
    expect((await authctl('service-account create x --service x --app nowhere')).exit).toBe(6)
    expect((await authctl('service-account create x --service x --expires someday')).exit).toBe(6)
    expect((await authctl('service-account create x')).exit).toBe(2)
    expect((await authctl('service-account create --service x')).exit).toBe(2)
  })

  test('service-account rotate needs --yes, and the old token stops working', async () => {
    const { authctl } = await signedIn()
    const { id, token } = parsed(await authctl('service-account create rotating --service rotating --json'))
    const refused = await authctl('service-account rotate rotating')
    expect(refused).toMatchObject({ stdout: '', exit: 2 })
    expect(refused.stderr).toContain('--yes')
    expect((await authctl('service-account rotate rotating --dry-run')).exit).toBe(0)
    expect(await works(token)).toBe(true)
    const rotated = parsed(await authctl(`service-account rotate ${id} --yes --json`))
    expect(rotated).toMatchObject({ id, name: 'rotating', outcome: 'rotated' })
    expect([await works(token), await works(rotated.token)]).toEqual([false, true])
    expect((await authctl('service-account rotate nobody --yes')).exit).toBe(3)
  })

  test('service-account update changes the given fields, keeps the token, and reports if nothing changed', async () => {
    const { authctl } = await signedIn()
    const { id, token } = parsed(await authctl('service-account create nightly --service nightly --json'))
    const change = 'service-account update nightly --scope permissions:register limits:exempt --app shop --expires 90d'
    expect(parsed(await authctl(`${change} --dry-run --json`)).request).toMatchObject({ method: 'PATCH' })
    const changed = parsed(await authctl(`${change} --json`))
    expect(changed).toMatchObject({ id, name: 'nightly', app_codes: ['shop'], outcome: 'updated' })
    expect(changed.scopes).toEqual(['permissions:register', 'limits:exempt'])
    expect(changed).not.toHaveProperty('token')
    expect(await works(token)).toBe(true)
    const rename = `service-account update ${id} --name weekly --expires never --json`
    expect(parsed(await authctl(rename))).toMatchObject({ name: 'weekly', expires_at: null, outcome: 'updated' })
    expect(parsed(await authctl(rename))).toMatchObject({ outcome: 'unchanged' })
    expect((await authctl('service-account update weekly --app ""')).exit).toBe(6)
    expect((await authctl('service-account update weekly')).exit).toBe(2)
    expect((await authctl('service-account update nightly --name x')).exit).toBe(3)
  })

  test('service-account create exits with 5 for a taken name, and delete needs the name', async () => {
    const { authctl } = await signedIn()
    const create = 'service-account create double --service double --json'
    const first = parsed(await authctl(create))
    const second = await authctl(create)
    expect(second).toMatchObject({ stdout: '', exit: 5 })
    expect(JSON.parse(second.stderr).error).toMatchObject({
      code: 'service_account_name_taken',
      message: expect.stringContaining('double'),
      hint: expect.stringContaining('service-account rotate'),
      exit: 5,
    })
    expect((await authctl(`${create} --dry-run`)).exit).toBe(5)
    expect(await works(first.token)).toBe(true)
    for (const flags of ['', '--yes', `--confirm ${first.id}`]) {
      expect((await authctl(`service-account delete ${first.id} ${flags}`)).exit).toBe(2)
    }
    expect(parsed(await authctl(`service-account delete ${first.id} --confirm double --json`))).toEqual({
      id: first.id,
      name: 'double',
      service: 'double',
      outcome: 'deleted',
    })
    expect(await works(first.token)).toBe(false)
    expect((await authctl('service-account delete double --confirm double')).exit).toBe(3)
    expect((await authctl(create)).exit).toBe(0)
    expect((await authctl('service-account delete double --dry-run')).exit).toBe(0)
    expect((await authctl('service-account delete double --confirm double')).exit).toBe(0)
  })
})
