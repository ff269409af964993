// Commands for when something is wrong.
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { onFileEnd } from '../support/on-file-end.ts'
import { startReceiver } from '../support/receiver.ts'
import { totpAt } from '../support/totp.ts'
import { addUser, admin, errorOf, gatehouseFixture, type Machine, nobody, parsed, register } from './sandbox.ts'

const secret = 'a secret of this test alone, and long enough'
const { service, signedInOnce } = gatehouseFixture({ AUTH_LOCKOUT_THRESHOLD: '2', JWT_ACCESS_SECRET: secret })
const password = 'a fine password'

async function call(method: string, path: string, body?: object, token?: string) {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) }
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
}

const login = (email: string, typed = password, app_code = 'people') =>
  call('POST', '/auth/login', { email, password: typed, app_code })
const me = async (token: string) => (await call('GET', '/auth/me', undefined, token)).status

let people: Promise<unknown> | undefined

/** Registers a user through the app `people` and returns the answer with the tokens. */
async function person(email: string) {
  people ??= authctl('app create people --name People --auto-grant')
  await people
  return (await register(service.url, { email, password, app_code: 'people' })) as {
    user: { id: string }
    access_token: string
    refresh_token: string
  }
}

const authctl: Machine['authctl'] = async (...words) => (await signedInOnce()).authctl(...words)

describe('user', () => {
  test('user show prints the lock, the second factor, identities and sessions', async () => {
    const { user } = await person('seen@example.com')
    await login('seen@example.com')
    for (const _ of [1, 2]) await login('seen@example.com', 'wrong')
    const shown = parsed(await authctl('user show seen@example.com --json'))
    expect(shown).toMatchObject({
      id: user.id,
      two_factor: false,
      identities: [],
      locked_until: expect.any(String),
      last_login_at: expect.any(String),
      sessions: [{ app: { code: 'people' } }, { app: { code: 'people' } }],
    })
    const { stdout } = await authctl('user show seen@example.com -o table')
    expect(stdout).toMatch(/LOCKED UNTIL +\d{4}-/)
    expect(stdout).toMatch(/\n\nAPP +ACCESS +EXPIRES AT\npeople +active/)
    expect(stdout).toMatch(/\n\nSESSION +METHOD +IP .*\npeople +password +127\.0\.0\.1/)
  })

  test('user update changes the named fields, and exits with 2 if none is named', async () => {
    await person('old@example.com')
    const updated = parsed(await authctl('user update old@example.com --email new@example.com --first-name Nina --json'))
    expect(updated).toMatchObject({ email: 'new@example.com', email_verified: false, first_name: 'Nina', outcome: 'updated' })
    const same = parsed(await authctl('user update new@example.com --first-name Nina --json'))
    expect(same.outcome).toBe('unchanged')
    expect(parsed(await authctl(['user', 'update', 'new@example.com', '--first-name', '', '--json'])).first_name).toBeNull()
    expect((await authctl('user update new@example.com')).exit).toBe(2)
    expect((await authctl('user update new@example.com --email nonsense')).exit).toBe(6)
    expect((await authctl(`user update ${nobody} --first-name X`)).exit).toBe(3)
  })

  test('user reset-two-factor needs --yes, and then the password alone signs in', async () => {
    const { access_token } = await person('phone@example.com')
    const { body: setUp } = await call('POST', '/auth/2fa/setup', {}, access_token)
    await call('POST', '/auth/2fa/activate', { code: totpAt(setUp.secret, Date.now()) }, access_token)
    expect((await login('phone@example.com')).status).toBe(401)
    expect((await authctl('user reset-two-factor phone@example.com')).exit).toBe(2)
    expect((await authctl('user reset-two-factor phone@example.com --dry-run')).exit).toBe(0)
    expect((await login('phone@example.com')).status).toBe(401)
    expect(parsed(await authctl('user reset-two-factor phone@example.com --yes --json')).outcome).toBe('reset')
    expect((await login('phone@example.com')).status).toBe(200)
    expect(parsed(await authctl('user reset-two-factor phone@example.com --yes --json')).outcome).toBe('unchanged')
  })

  test('user session end ends one session of user session list, and the other continues', async () => {
    const first = await person('two@example.com')
    const second = (await login('two@example.com')).body
    const [newest, oldest] = parsed(await authctl('user session list two@example.com --json'))
    expect([newest.app.code, oldest.auth_method]).toEqual(['people', 'password'])
    const end = `user session end two@example.com --session ${oldest.id} --json`
    expect(parsed(await authctl(end))).toMatchObject({ session_id: oldest.id, outcome: 'ended' })
    expect([await me(first.access_token), await me(second.access_token)]).toEqual([401, 200])
    expect(parsed(await authctl(end)).outcome).toBe('unchanged')
    expect((await authctl('user session list two@example.com -o table')).stdout).toMatch(/^APP +METHOD +IP/)
    expect((await authctl('user session end two@example.com --session ../../x')).exit).toBe(6)
    expect((await authctl('user session end two@example.com')).exit).toBe(2)
    expect((await authctl(`user session end ${nobody} --session ${oldest.id}`)).exit).toBe(3)
    expect((await authctl(`user session list ${nobody}`)).exit).toBe(3)
  })

  test('user identity list says that there are none, and user identity unlink needs --yes', async () => {
    await person('linked@example.com')
    expect((await authctl('user identity list linked@example.com -o table')).stderr).toBe('no identities\n')
    expect((await authctl('user identity unlink linked@example.com --identity google')).exit).toBe(2)
    const unlinked = await authctl('user identity unlink linked@example.com --identity google --yes --json')
    expect(parsed(unlinked)).toMatchObject({ identity: 'google', outcome: 'unchanged' })
  })
})

describe('user offboard', () => {
  test('user offboard closes the accounts of an address in all pools, reports it, and can be repeated', async () => {
    const { access_token } = await person('leaver@example.com')
    const admins = await signedInOnce()
    await addUser(admins, { email: 'leaver@example.com', password, namespace: 'staff' })
    expect((await authctl('user offboard leaver@example.com')).exit).toBe(2)
    expect((await authctl('user offboard leaver@example.com --confirm leaver')).exit).toBe(2)
    const planned = await authctl('user offboard leaver@example.com --dry-run --json')
    expect(planned.stderr).toContain(`nothing was changed in default (${service.url}) (--dry-run)`)
    expect(parsed(planned).accounts).toMatchObject([
      { user: 'leaver@example.com@@staff', outcome: 'planned', did: { suspended: true } },
      { user: 'leaver@example.com@@default', outcome: 'planned', did: { suspended: true, sessions: 1, grants: ['people'] } },
    ])
    expect(await me(access_token)).toBe(200)
    const command = 'user offboard leaver@example.com --confirm leaver@example.com'
    const done = parsed(await authctl(`${command} --reason "left today" --json`))
    expect(done.accounts.map(({ did }: { did: object }) => did)).toEqual(
      parsed(planned).accounts.map(({ did }: { did: object }) => did),
    )
    expect(await me(access_token)).toBe(401)
    const again = parsed(await authctl(`${command} --json`))
    expect(again.accounts.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['unchanged', 'unchanged'])
    const [event] = parsed(await authctl('audit list --event user.offboarded --email leaver@example.com --json'))
    expect(event.audit_reason).toBe('left today')
    expect((await authctl(`${command} -o table`)).stdout).toMatch(/USER +leaver@example\.com@@staff\nOUTCOME +unchanged/)
    expect((await authctl('user offboard no@example.com --confirm no@example.com')).exit).toBe(3)
  })

  test('user offboard --from-file reports each line of the file and needs their number as confirmation', async () => {
    const { access_token } = await person('one@leavers.example')
    const admins = await signedInOnce()
    await addUser(admins, { email: 'one@leavers.example', password, namespace: 'staff' })
    await addUser(admins, { email: 'two@leavers.example', password, namespace: 'staff' })
    const lines = ['# who leaves', 'one@leavers.example', 'nobody@leavers.example # a typing error', admin.email]
    const input = [...lines, 'two@leavers.example@@staff', 'one@leavers.example@@staff'].join('\n')
    const command = 'user offboard --from-file -'
    const unconfirmed = await authctl(command, { input })
    expect(unconfirmed).toMatchObject({ exit: 2, stderr: expect.stringContaining('offboard 5 users') })
    expect((await authctl(`${command} --confirm 4`, { input })).exit).toBe(2)
    expect((await authctl(`user offboard one@leavers.example --from-file - --confirm 5`, { input })).exit).toBe(2)
    const planned = await authctl(`${command} --dry-run -o table`, { input })
    expect(planned.exit).toBe(8)
    expect(planned.stdout).toMatch(/2 +one@leavers\.example +planned +- +to suspend: 2, sessions: 1, grants: 1/)
    expect(planned.stdout).toMatch(/6 +one@leavers\.example@@staff +planned +- +nothing to do/)
    expect(planned.stderr).toContain(`nothing was changed in default (${service.url}) (--dry-run)`)
    expect(await me(access_token)).toBe(200)
    const done = await authctl(`${command} --confirm 5 --reason "the office closes" --json`, { input })
    expect(done.exit).toBe(8)
    const { counts, users } = parsed(done)
    expect(counts).toEqual({ offboarded: 2, failed: 2, unchanged: 1 })
    expect(users).toMatchObject([
      { line: 2, outcome: 'offboarded', accounts: [{ suspended: true }, { suspended: true }] },
      { line: 3, outcome: 'failed', code: 'user_not_found', accounts: [] },
      { line: 4, user: admin.email, outcome: 'failed', code: 'last_system_admin' },
      { line: 5, outcome: 'offboarded' },
      { line: 6, outcome: 'unchanged' },
    ])
    expect(await me(access_token)).toBe(401)
    const [event] = parsed(await authctl('audit list --event user.offboarded --email two@leavers.example --json'))
    expect(event.audit_reason).toBe('the office closes')
  })

  test('user offboard of the last admin exits with 5', async () => {
    expect((await authctl(`user offboard ${admin.email} --confirm ${admin.email}`)).exit).toBe(5)
  })
})

describe('token trace', () => {
  const trace = (token: string, flags = '--json') => authctl(`token trace - ${flags}`, { input: `${token}\n` })

  test('token trace names the user of a token and prints the command that ends it', async () => {
    const { user, access_token, refresh_token } = await person('leak@example.com')
    for (const token of [access_token, refresh_token]) {
      const traced = await trace(token, '--debug')
      expect(traced.exit).toBe(0)
      const { state, user: whose, remedies } = parsed(traced)
      expect([state, whose.email]).toEqual(['live', 'leak@example.com'])
      expect(remedies[0]).toMatch(new RegExp(`^authctl user session end ${user.id} --session `))
      for (const part of [token, token.split('.').at(-1)!]) expect(traced.stdout + traced.stderr).not.toContain(part)
    }
    const table = await trace(access_token, '-o table')
    expect(table.stdout).toMatch(/KIND +access\nSTATE +live\n/)
    expect(table.stdout).toMatch(/USER +leak@example\.com@@default\n/)
    const remedy = /^ {2}authctl (.*)$/m.exec(table.stdout)![1]!
    expect((await authctl(remedy)).exit).toBe(0)
    expect([await me(access_token), parsed(await trace(refresh_token)).state]).toEqual([401, 'ended'])
  })

  test('token trace of a service account token prints a command that ends it', async () => {
    const { token } = parsed(await authctl('service-account create leaky --service notes --json'))
    const { remedies, service_account } = parsed(await trace(token))
    expect([service_account.name, remedies.length]).toEqual(['leaky', 2])
    expect((await authctl(remedies[0].replace('authctl ', ''))).exit).toBe(0)
    expect((await trace(token)).exit).toBe(3)
  })

  test('token trace of a forged token says that the secret has leaked', async () => {
    const { access_token } = await person('forged@example.com')
    const [header, payload] = access_token.split('.')
    const claims = { ...JSON.parse(Buffer.from(payload!, 'base64url').toString()), sid: nobody }
    const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
    const forged = await trace(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`, '-o table')
    expect(forged.exit).toBe(0)
    expect(forged.stdout).toContain('The signing secret has leaked')
  })

  test('token trace reports several tokens by number, and how to end those that are live', async () => {
    const { access_token, refresh_token } = await person('leaks@example.com')
    const { token } = parsed(await authctl('service-account create leaking --service notes --json'))
    const input = `${access_token}\n\n${refresh_token}\r\n${token}\ngrt_of-nobody\n`
    const traced = await authctl('token trace - --json', { input })
    expect([traced.exit, errorOf(traced).code]).toEqual([8, 'token_unknown'])
    const { total, unknown, tokens } = parsed(traced)
    expect([total, unknown]).toEqual([4, 1])
    expect(tokens.map(({ number, kind, state }: Record<string, unknown>) => [number, kind, state])).toEqual([
      [1, 'access', 'live'],
      [2, 'refresh', 'live'],
      [3, 'service_account', 'live'],
      [4, 'refresh', 'unknown'],
    ])
    const table = await authctl('token trace - -o table', { input })
    expect(table.stdout).toMatch(/^NUMBER +KIND +STATE +WHOSE +APP/)
    expect(table.stdout).toMatch(/\n1 +access +live +leaks@example\.com +people/)
    for (const { stdout, stderr } of [traced, table])
      for (const secret of [access_token, refresh_token, token]) expect(stdout + stderr).not.toContain(secret)
    // The first two tokens belong to one session, which has to be ended only once.
    const remedies = [...table.stdout.matchAll(/^ {2}authctl (.*)$/gm)].map(([, remedy]) => remedy!)
    expect(remedies).toHaveLength(2)
    for (const remedy of remedies) expect({ remedy, exit: (await authctl(remedy)).exit }).toEqual({ remedy, exit: 0 })
    expect(await me(access_token)).toBe(401)
    expect((await authctl('token inspect -', { input })).exit).toBe(2)
  })

  test('token trace takes no token on the command line, and --dry-run still asks the service', async () => {
    const refused = await authctl('token trace grt_of-somebody')
    expect(refused.exit).toBe(2)
    expect(refused.stderr).not.toContain('of-somebody')
    const unknown = await trace('grt_of-somebody', '--dry-run --json')
    expect([unknown.exit, errorOf(unknown).code]).toEqual([3, 'token_unknown'])
    expect((await authctl('token trace -')).exit).toBe(2)
  })
})

describe('lockout', () => {
  test('lockout list shows locks, and lockout clear removes one or all', async () => {
    await person('locked@example.com')
    for (const email of ['locked@example.com', 'stranger@example.com']) for (const _ of [1, 2]) await login(email, 'wrong')
    expect((await login('locked@example.com')).status).toBe(423)
    const locks = parsed(await authctl('lockout list --locked --json'))
    const own = locks.find(({ email }: { email: string | null }) => email === 'locked@example.com')
    expect(own).toMatchObject({ pool: 'default', failures: 2 })
    expect((await authctl('lockout list -o table')).stdout).toMatch(/locked@example\.com +default +address +2/)
    expect(parsed(await authctl(`lockout clear ${own.key} --json`))).toEqual({ key: own.key, outcome: 'cleared' })
    expect(parsed(await authctl(`lockout clear ${own.key} --json`)).outcome).toBe('unchanged')
    expect((await login('locked@example.com')).status).toBe(200)
    expect((await authctl('lockout clear --all')).exit).toBe(2)
    const cleared = parsed(await authctl('lockout clear --all --yes --json'))
    expect(cleared).toEqual({ locks: locks.length - 1, outcome: 'cleared' })
    expect((await authctl('lockout list --locked -o table')).stderr).toBe('nothing is locked\n')
    expect((await authctl('lockout clear --all --yes x')).exit).toBe(2)
    expect((await authctl('lockout clear')).exit).toBe(2)
  })
})

test('webhook redeliver --failed sends all failed deliveries again', async () => {
  let isDown = true
  const receiver = await startReceiver((response) => void response.writeHead(isDown ? 410 : 204).end(), onFileEnd)
  await authctl('app create hooked --name H')
  const input = JSON.stringify({ webhooks: [{ name: 'crm', url: receiver.url }] })
  await authctl('api PATCH /admin/apps/hooked -f -', { input })
  await authctl('webhook test --app hooked')
  const statuses = async () =>
    parsed(await authctl('webhook deliveries --app hooked --json')).map(({ status }: { status: string }) => status)
  await expect.poll(statuses, { interval: 50 }).toEqual(['failed'])
  isDown = false
  const command = 'webhook redeliver --app hooked --failed --since 6h --json'
  expect(parsed(await authctl(`${command} --dry-run`))).toMatchObject({ count: 1, dry_run: true })
  expect(parsed(await authctl(command))).toMatchObject({ app: 'hooked', count: 1, outcome: 'queued' })
  await expect.poll(statuses, { interval: 50 }).toEqual(['delivered'])
  expect(parsed(await authctl(command))).toMatchObject({ count: 0, outcome: 'unchanged' })
  for (const flags of ['--app hooked', '--failed', `--app hooked --failed ${nobody}`])
    expect((await authctl(`webhook redeliver ${flags}`)).exit).toBe(2)
  expect((await authctl('webhook redeliver --app hooked --failed --since yesterday')).exit).toBe(6)
  expect((await authctl('webhook redeliver --app nowhere --failed')).exit).toBe(3)
})

describe('audit', () => {
  test('audit list filters by actor and by --until', async () => {
    await authctl('app create acted --name A')
    const events = parsed(await authctl(`audit list --actor ${admin.email} --app acted --json`))
    expect(events.map(({ event }: { event: string }) => event)).toEqual(['app.created'])
    expect(parsed(await authctl(`audit list --actor ${admin.email} --until 1h --json`))).toEqual([])
    expect((await authctl('audit list --until never')).exit).toBe(6)
    expect((await authctl('audit list --actor nobody@example.com')).exit).toBe(3)
  })

  test('audit show names the actor and prints the command that undoes the change', async () => {
    await person('grantee@example.com')
    await authctl('app create shown --name S')
    const made = {
      'grant.created': 'grant add --app shown --user grantee@example.com',
      'user.suspended': 'user suspend grantee@example.com --yes',
      'user.updated': 'user update grantee@example.com --first-name Greta',
      'user.namespace_changed': 'pool move --user grantee@example.com --to elsewhere --yes',
      'role.assigned': 'user role grantee@example.com --role super_admin',
    }
    await authctl('api PATCH /admin/apps/shown -f -', { input: '{"name": "Shown"}' })
    for (const [event, command] of Object.entries(made).slice(0, 4)) {
      expect((await authctl(command)).exit).toBe(0)
      const [{ id }] = parsed(await authctl(`audit list --event ${event} --user grantee@example.com --limit 1 --json`))
      const shown = parsed(await authctl(`audit show ${id} --json`))
      expect(shown.names.actor).toBe(`${admin.email}@@default`)
      const undone = await authctl(
        shown.undo
          .replace('authctl ', '')
          .split(' ')
          .map((word: string) => (word === "''" ? '' : word)),
      )
      expect({ event, exit: undone.exit }).toEqual({ event, exit: 0 })
    }
    const user = parsed(await authctl('user show grantee@example.com --json'))
    expect(user).toMatchObject({ status: 'active', first_name: null, namespace: 'default' })
    expect(user.apps.find(({ app_code }: { app_code: string }) => app_code === 'shown').effective).toBe('revoked')
    const [created] = parsed(await authctl('audit list --event app.created --app shown --json'))
    const table = await authctl(`audit show ${created.id} -o table`)
    expect(table.stdout).toMatch(/APP +shown\n/)
    expect(table.stdout).not.toContain('To undo it')
    expect((await authctl(`audit show ${nobody}`)).exit).toBe(3)
    expect((await authctl('audit show ../users')).exit).toBe(6)
  })

  test('the command of audit show restores the settings of an app, the permissions of a role and a grant', async () => {
    await person('undone@example.com')
    const read = async (command: string) => parsed(await authctl(`${command} --json`))
    await authctl('app create settled --name Settled --redirect https://a.example/*')
    await authctl('permission register --service settled -f - --yes', {
      input: JSON.stringify({ permissions: [{ code: 'settled:read', name: 'Read' }] }),
    })
    await authctl('role create settler --name Settler')
    await authctl(split('grant add --app settled --user undone@example.com --expires 30d --reason "audit in March"'))
    const state = async () => {
      const { updated_at: _, ...app } = await read('app show settled')
      const [{ expires_at, status, reason }] = await read('grant list --app settled')
      return { app, permissions: (await read('role show settler')).permissions, expires_at, status, reason }
    }
    const before = await state()
    const changes = [
      [
        'app.updated',
        'app update settled --name Other --description D --redirect "" --read-pool staff --auto-grant --email-domain a.com b.com ' +
          '--permission-scope roles --sign-up closed --machine-tokens --frontend-url https://a.example --require-verified-email',
      ],
      ['app.updated', 'app deactivate settled --yes'],
      ['role_permissions.changed', 'role permit settler --permission settled:read'],
      ['grant.created', 'grant add --app settled --user undone@example.com --expires 60d'],
      ['grant.created', 'grant add --app settled --user undone@example.com --expires never'],
      ['grant.revoked', 'grant revoke --app settled --user undone@example.com --yes'],
    ] as const
    for (const [event, command] of changes) {
      expect({ command, exit: (await authctl(split(command))).exit }).toEqual({ command, exit: 0 })
      expect(await state()).not.toEqual(before)
      const [{ id }] = await read(`audit list --event ${event} --limit 1`)
      const { undo } = await read(`audit show ${id}`)
      expect({ undo, exit: (await authctl(split(undo.replace('authctl ', '')))).exit }).toEqual({ undo, exit: 0 })
      expect(await state()).toEqual(before)
    }
  })

  test('the undo of a grant never gives access for longer than before', async () => {
    await person('limited@example.com')
    await authctl('app create limited --name Limited')
    const read = async (command: string) => parsed(await authctl(`${command} --json`))
    const grant = '--app limited --user limited@example.com'
    const shown = async (event: string) => {
      const [{ id }] = await read(`audit list --event ${event} --app limited --limit 1`)
      return read(`audit show ${id}`)
    }
    await authctl(`grant add ${grant}`)
    await authctl(`grant add ${grant} --expires 5500ms`)
    const { undo: unlimited } = await shown('grant.created')
    expect(unlimited).toMatch(/ --expires never$/)
    const [{ expires_at }] = await read('grant list --app limited')
    await authctl(`grant revoke ${grant} --yes`)
    expect((await shown('grant.revoked')).undo).toMatch(new RegExp(` --expires ${expires_at}$`))
    await expect.poll(async () => (await shown('grant.revoked')).undo, { timeout: 20_000 }).toBeNull()
    const { id, undo_refused } = await shown('grant.revoked')
    expect(undo_refused).toBe(`The access ended at ${expires_at}, so there is nothing to restore`)
    expect((await authctl(`audit show ${id} -o table`)).stdout).toMatch(
      /\n\nThe access ended at .*, so there is nothing to restore\n$/,
    )
    // The grant that came next replaced an ended one.
    await authctl(`grant add ${grant}`)
    expect((await shown('grant.created')).undo).toMatch(/^authctl grant revoke /)
  })

  test('audit show names a later change of the same thing instead of a command', async () => {
    await addUser(await signedInOnce(), { email: 'changed@example.com', password })
    const run = async (command: string, input?: string) => {
      const { exit, stderr } = await authctl(split(command), input === undefined ? {} : { input })
      expect({ command, exit, stderr: exit === 0 ? '' : stderr }).toEqual({ command, exit: 0, stderr: '' })
    }
    const newest = async (event: string) => parsed(await authctl(`audit list --event ${event} --limit 1 --json`))[0].id
    const shown = async (id: string) => parsed(await authctl(`audit show ${id} --json`))
    const grant = '--app changing --user changed@example.com'
    const member = 'org member --org changed --user changed@example.com'
    const role = 'user role changed@example.com --role super_admin'
    const move = 'pool move --user changed@example.com --yes --to'
    const read = '--permission changing:read'
    await run('app create changing --name Changing')
    await run('org create changed --name Changed')
    await run('role create changer --name Changer')
    const declared = {
      permissions: [
        { code: 'changing:read', name: 'Read' },
        { code: 'changing:write', name: 'Write' },
      ],
    }
    await run('permission register --service changing -f - --yes', JSON.stringify(declared))
    for (const command of [`grant add ${grant} --expires 60d`, role, `${member} --role org_admin`]) await run(command)
    await run(`role permit changer ${read}`)
    // A change; what follows on the same thing; the event that is then named. An undo of the first would reverse the second.
    const cases = [
      ['grant.created', `grant add ${grant} --expires 30d`, `grant revoke ${grant} --yes`, 'grant.revoked'],
      ['grant.created', `grant add ${grant}`, `grant add ${grant} --expires 30d`, 'grant.created'],
      ['grant.revoked', `grant revoke ${grant} --yes`, `grant add ${grant} --expires 1d`, 'grant.created'],
      ['role.unassigned', `${role} --remove --yes`, `${role}\n${role} --remove --yes`, 'role.unassigned'],
      ['membership.updated', `${member} --role org_member`, `${member} --remove --yes`, 'membership.deleted'],
      ['user.suspended', 'user suspend changed@example.com --yes', 'user activate changed@example.com', 'user.activated'],
      ['user.namespace_changed', `${move} staff`, `${move} guests`, 'user.namespace_changed'],
      [
        'user.updated',
        'user update changed@example.com --first-name Ada',
        'user update changed@example.com --first-name Eve',
        'user.updated',
      ],
      [
        'app.updated',
        'app update changing --sign-up closed --description D',
        'app update changing --sign-up invitation',
        'app.updated',
      ],
      [
        'role_permissions.changed',
        `role forbid changer ${read}`,
        `role permit changer ${read}\nrole forbid changer ${read}`,
        'role_permissions.changed',
      ],
    ] as const
    for (const [event, first, then, named] of cases) {
      await run(first)
      const id = await newest(event)
      expect({ first, ...(await shown(id)) }).toMatchObject({
        first,
        undo: expect.stringMatching(/^authctl /),
        undo_refused: null,
      })
      for (const command of then.split('\n')) await run(command)
      const later = await newest(named)
      const refused = `This was changed later, so no command undoes it: ${named} at `
      expect({ first, ...(await shown(id)) }).toMatchObject({ first, undo: null, undo_refused: expect.stringContaining(refused) })
      expect((await authctl(`audit show ${id} -o table`)).stdout).toContain(`\n\n${refused}`)
      expect((await shown(id)).undo_refused).toContain(later)
      expect((await shown(later)).undo).toMatch(/^authctl /)
    }
  })

  test('audit show still prints the command after a change of something else', async () => {
    await addUser(await signedInOnce(), { email: 'separate@example.com', password })
    const newest = async (event: string) => parsed(await authctl(`audit list --event ${event} --limit 1 --json`))[0].id
    const undo = async (id: string) => parsed(await authctl(`audit show ${id} --json`)).undo
    const about = '--user separate@example.com'
    for (const app of ['separate', 'others']) await authctl(`app create ${app} --name ${app}`)
    const pairs = [
      ['grant.created', `grant add --app separate ${about}`, `grant add --app others ${about}`],
      [
        'role.assigned',
        'user role separate@example.com --role super_admin',
        'user role separate@example.com --role system_admin',
      ],
      [
        'user.updated',
        'user update separate@example.com --first-name Ada',
        'user update separate@example.com --last-name Lovelace',
      ],
      ['app.updated', 'app update separate --description D', 'app update separate --sign-up closed'],
    ] as const
    for (const [event, first, second] of pairs) {
      expect((await authctl(split(first))).exit).toBe(0)
      const id = await newest(event)
      expect((await authctl(split(second))).exit).toBe(0)
      expect({ first, undo: await undo(id) }).toEqual({ first, undo: expect.stringMatching(/^authctl /) })
    }
    const suspended = 'user suspend separate@example.com --yes'
    expect((await authctl(suspended)).exit).toBe(0)
    const id = await newest('user.suspended')
    expect((await authctl(`user delete separate@example.com --confirm separate@example.com`)).exit).toBe(0)
    expect(parsed(await authctl(`audit show ${id} --json`)).undo_refused).toContain('user.deleted at ')
  })

  test('audit who shows who gave a role and the command that takes it away', async () => {
    const { id } = await addUser(await signedInOnce(), { email: 'promoted@example.com', password })
    await authctl('user role promoted@example.com --role super_admin --reason "on call"')
    const who = parsed(await authctl('audit who promoted@example.com super_admin --json'))
    expect(who).toMatchObject({
      user_id: id,
      holds: true,
      changes: [{ change: 'given', by: admin.email, why: 'on call' }],
    })
    expect((await authctl(who.remedy.replace('authctl ', ''))).exit).toBe(0)
    const after = parsed(await authctl('audit who promoted@example.com super_admin --json'))
    expect(after).toMatchObject({ holds: false, remedy: null, changes: [{ change: 'taken' }, { change: 'given' }] })
    await authctl('org create governed --name G')
    await authctl('org member --org governed --user promoted@example.com --role org_admin')
    const inside = await authctl('audit who promoted@example.com org_admin -o table')
    expect(inside.stdout).toMatch(/ORGANIZATIONS +governed\n/)
    expect(inside.stdout).toMatch(/given +ada@example\.com +governed/)
    const made = parsed(await authctl(`audit who ${admin.email} system_admin --json`))
    expect(made.changes[0].by).toBe('the service itself, or its command line')
    expect((await authctl('audit who promoted@example.com')).exit).toBe(2)
  })
})

test('org update and org delete work, and org invitation revoke takes an invitation back', async () => {
  await authctl('org create renamed --name R')
  expect(parsed(await authctl('org update renamed --name Renamed --slug fresh --json'))).toMatchObject({
    slug: 'fresh',
    name: 'Renamed',
    outcome: 'updated',
  })
  expect(parsed(await authctl('org update fresh --name Renamed --json')).outcome).toBe('unchanged')
  expect((await authctl('org update fresh')).exit).toBe(2)
  const { id } = parsed(await authctl('org invite --org fresh --email guest@example.com --role org_member --json'))
  expect((await authctl(`org invitation revoke ${id} --org fresh`)).exit).toBe(2)
  expect(parsed(await authctl(`org invitation revoke ${id} --org fresh --yes --json`)).outcome).toBe('revoked')
  expect(parsed(await authctl(`org invitation revoke ${id} --org fresh --yes --json`)).outcome).toBe('unchanged')
  expect((await authctl('org invitation revoke x --org fresh --yes')).exit).toBe(6)
  expect((await authctl('org delete fresh')).exit).toBe(2)
  await person('member@example.com')
  await authctl('org member --org fresh --user member@example.com --role org_member')
  expect((await authctl('org delete fresh --confirm fresh')).exit).toBe(5)
  await authctl('org member --org fresh --user member@example.com --remove --yes')
  expect(parsed(await authctl('org delete fresh --confirm fresh --json'))).toMatchObject({ slug: 'fresh', outcome: 'deleted' })
  expect((await authctl('org show fresh')).exit).toBe(3)
})

/** Splits a command into words as a shell does. */
function split(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare ?? '')
}
