// How authctl keeps a command from doing harm if it is typed in the wrong context or by the wrong person.
import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { addUser, admin, apiError, errorOf, gatehouseFixture, type Machine, machine, parsed, reply, standIn } from './sandbox.ts'

const { service, signedIn } = gatehouseFixture()

/** Signed in as `admin` in a protected context named `prod`. */
async function inProduction(): Promise<Machine> {
  const here = machine()
  await here.authctl(`context set prod --base-url ${service.url} --email ${admin.email} --protected`)
  const { exit } = await here.authctl('login --context prod --password-stdin', { input: admin.password })
  expect(exit).toBe(0)
  return here
}

describe('a protected context', () => {
  test('a protected context is set, shown, kept over a login, and made unprotected again', async () => {
    const here = await inProduction()
    expect(parsed(await here.authctl('context show prod --json'))).toMatchObject({ protected: true, signed_in: true })
    expect(parsed(await here.authctl('context set prod --no-protected --json'))).toMatchObject({
      protected: false,
      signed_in: true,
      outcome: 'updated',
    })
    expect(here.readContexts().contexts.prod).not.toHaveProperty('protected')
    expect((await here.authctl('app create open --name O')).exit).toBe(0)
  })

  test('a protected context lets a script write only if the command names the context and has --yes', async () => {
    const here = await inProduction()
    const env = { AUTHCTL_CONTEXT: 'prod' }
    for (const flags of ['', '--yes', '--context prod', '--confirm prod']) {
      const refused = await here.authctl(`app create guarded --name G ${flags} --json`, { env })
      expect([flags, refused.exit, errorOf(refused).message]).toEqual([
        flags,
        2,
        expect.stringContaining(`in prod (${service.url})`),
      ])
    }
    expect((await here.authctl('app show guarded')).exit).toBe(3)
    expect((await here.authctl('app create guarded --name G --context prod --yes')).exit).toBe(0)
    // Commands that change nothing do not ask for confirmation.
    for (const read of ['app list', 'whoami', 'app delete guarded --dry-run', 'token trace -'])
      expect([read, (await here.authctl(read, { input: 'grt_x' })).exit]).toEqual([read, read.startsWith('token') ? 3 : 0])
  })

  test('a protected context asks on a terminal for its name, once for each command, under a banner', async () => {
    const here = await inProduction()
    const declined = here.terminal('app create asked --name A')
    await declined.shows(`*** PROTECTED: this writes in prod (${service.url}) ***`)
    await declined.shows('To continue, type prod:')
    declined.type('yes\r')
    expect((await declined.ended()).exit).toBe(9)
    expect((await here.authctl('app show asked')).exit).toBe(3)
    writeFileSync(join(here.folder, 'users.txt'), 'one@example.com\ntwo@example.com\n')
    for (const email of ['one@example.com', 'two@example.com'])
      await addUser(await signedIn(), { email, password: 'a fine password' })
    const agreed = here.terminal('pool tag --pool asked --from-file users.txt')
    await agreed.shows('To continue, type prod:')
    agreed.type('prod\r')
    const { screen, exit } = await agreed.ended()
    expect([exit, screen.match(/To continue/g)!.length > 0, screen.match(/PROTECTED/g)]).toEqual([0, true, ['PROTECTED']])
    expect(parsed(await here.authctl('user show one@example.com --json')).namespaces).toContain('asked')
  })
})

test('every question names the context and the service', async () => {
  const here = await signedIn()
  for (const [command, question] of [
    ['app deactivate authctl', `Really deactivate the app authctl in default (${service.url})?`],
    ['app delete authctl', `To delete the app authctl in default (${service.url}), type authctl:`],
  ] as const) {
    const asked = here.terminal(command)
    await asked.shows(question)
    asked.type('\u0003')
    await asked.ended()
    expect((await here.authctl(command)).stderr).toContain(`in default (${service.url})`)
  }
})

test.runIf(process.platform !== 'win32')(
  'a contexts file that others can read is refused, with the command that fixes it',
  async () => {
    const here = await signedIn()
    expect(statSync(here.contextsPath).mode & 0o777).toBe(0o600)
    chmodSync(here.contextsPath, 0o644)
    const refused = await here.authctl('app list --json')
    expect([refused.exit, errorOf(refused).code]).toEqual([6, 'contexts_not_private'])
    expect(errorOf(refused).hint).toContain(`chmod 600 ${here.contextsPath}`)
    chmodSync(here.contextsPath, 0o600)
    expect((await here.authctl('app list --json')).exit).toBe(0)
  },
)

test('login warns of plain http to another machine, but not of an address on this machine', async () => {
  const here = machine()
  const input = admin.password
  const login = 'login --email ada@example.com --password-stdin --timeout 2'
  const plain = await here.authctl(`${login} --base-url http://gatehouse.invalid:1`, { input })
  expect(plain.stderr).toMatch(/warning: http:\/\/gatehouse\.invalid:1 is plain http[\s\S]*cannot reach/)
  const { url } = await standIn((_, response) => reply(response, 401, apiError(401, 'invalid_credentials')))
  const chosen = await here.authctl(`${login} --base-url ${url}`, { input })
  expect(chosen.stderr).not.toContain('warning')
  const json = await here.authctl(`${login} --base-url http://gatehouse.invalid:1 --json`, { input })
  expect(errorOf(json).code).toBe('unreachable')
})

test('--reason is recorded for every kind of write', async () => {
  const { authctl } = await signedIn()
  const said = '--reason "ticket 42"'
  await authctl(`app create reasoned --name R ${said}`)
  await authctl(`app update reasoned --name S ${said}`)
  await authctl(`user import -f - ${said}`, { input: '{"email": "reasoned@example.com"}\n' })
  await authctl(`user update reasoned@example.com --first-name R ${said}`)
  await authctl(`grant add --app reasoned --user reasoned@example.com ${said}`)
  await authctl(`org create reasoned --name R ${said}`)
  await authctl(`api POST /admin/roles -f - ${said}`, { input: '{"code": "reasoned", "name": "R", "scope": "global"}' })
  const events = parsed(await authctl('audit list --since 1h --json')).filter(
    ({ event, actor }: { event: string; actor: { type: string } }) => actor.type === 'user' && !event.startsWith('login'),
  )
  const reasons = (kind: string) => events.find(({ event }: { event: string }) => event === kind)?.audit_reason
  for (const kind of ['app.updated', 'user.imported', 'user.updated', 'grant.created', 'organization.created', 'role.created'])
    expect([kind, reasons(kind)]).toEqual([kind, 'ticket 42'])
})

test('many grants are sent together, each line is reported in order, and a failure stops no other', async () => {
  const here = await signedIn()
  await here.authctl('app create bulk --name B')
  const emails = Array.from({ length: 230 }, (_, index) => `bulk${index}@example.com`)
  await here.authctl('user import -f -', { input: emails.map((email) => JSON.stringify({ email })).join('\n') })
  const list = [...emails.slice(0, 115), 'nobody@example.com', ...emails.slice(115), emails[0]]
  const planned = await here.authctl('grant add --app bulk --from-file - --dry-run --json', { input: list.join('\n') })
  expect([planned.exit, parsed(planned).counts]).toEqual([8, { planned: 231, failed: 1 }])
  expect(parsed(planned).users[0].request).toMatch(/^POST http.*\/api\/v1\/admin\/apps\/bulk\/grants$/)
  expect(parsed(await here.authctl('grant list --app bulk --json'))).toEqual([])

  const done = await here.authctl('grant add --app bulk --from-file - --json', { input: list.join('\n') })
  expect(done.exit).toBe(8)
  const { total, counts, users } = parsed(done)
  expect({ total, counts }).toEqual({ total: 232, counts: { granted: 230, failed: 1, unchanged: 1 } })
  expect(users.map(({ line, user }: { line: number; user: string }) => [line, user])).toEqual(
    list.map((user, index) => [index + 1, user]),
  )
  expect(users[115]).toMatchObject({ outcome: 'failed', code: 'user_not_found' })
})

test('500 grants take six requests', async () => {
  const { url, requests } = await standIn(({ method, body }, response) => {
    const { users = [] } = method === 'POST' ? JSON.parse(body) : {}
    reply(response, 200, { items: users.map((user: string) => ({ user, outcome: 'granted' })) })
  })
  const input = Array.from({ length: 500 }, (_, index) => `u${index}@example.com\n`).join('')
  const done = await machine().authctl('grant add --app shop --from-file - --json', {
    input,
    env: { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url },
  })
  expect([done.exit, parsed(done).counts, requests.length]).toEqual([0, { granted: 500 }, 6])
})

test('many grants on a terminal ask once about all unproven accounts', async () => {
  const here = await signedIn()
  await here.authctl('app create asking --name A --auto-grant')
  const { base_url } = here.readContexts().contexts.default!
  const emails = ['one@asking.example', 'two@asking.example']
  for (const email of emails) {
    await fetch(`${base_url}/api/v1/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: 'correct horse battery', app_code: 'asking' }),
    })
  }
  await here.authctl('app create asked --name A')
  writeFileSync(join(here.folder, 'users.txt'), ['ada@example.com', ...emails].join('\n'))
  const question = 'Really give this to one@asking.example and 1 other, unverified addresses'
  const declined = here.terminal('grant add --app asked --from-file users.txt')
  await declined.shows(question)
  declined.type('no\r')
  expect((await declined.ended()).exit).toBe(9)
  expect(parsed(await here.authctl('grant list --app asked --json'))).toEqual([])
  const agreed = here.terminal('grant add --app asked --from-file users.txt')
  await agreed.shows(question)
  agreed.type('yes\r')
  expect((await agreed.ended()).exit).toBe(0)
  expect(parsed(await here.authctl('grant list --app asked --json'))).toHaveLength(3)
})

test('a question escapes what strangers chose', async () => {
  const user = { id: crypto.randomUUID(), email: 'eve\u001b[2J\u202e@example.com', made_by: 'self', email_verified: false }
  const { url } = await standIn(({ path }, response) => {
    reply(response, 200, path.includes('/users?') ? { items: [user], next_cursor: null } : user)
  })
  const env = { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url }
  const asking = machine().terminal('grant add --app shop --user eve@example.com', { env })
  await asking.shows('Really give this to eve\\u001b[2J\\u202e@example.com')
  asking.type('no\r')
  expect((await asking.ended()).exit).toBe(9)
  expect(await asking.sent()).not.toContain('\u202e')
})

test('Ctrl-C during many changes reports how many are done and which lines were in progress', async () => {
  let moved = 0
  const { url } = await standIn(({ method, path }, response) => {
    if (method === 'GET' && path.includes('/users?'))
      return reply(response, 200, { items: [{ id: crypto.randomUUID() }], next_cursor: null })
    if (method === 'GET' && path.includes('/namespaces?'))
      return reply(response, 200, { items: [{ namespace: 'staff' }], next_cursor: null })
    if (method === 'GET') return reply(response, 200, {})
    moved += 1
    // Only the first ten requests are answered.
    if (moved <= 10) reply(response, 200, {})
  })
  const here = machine()
  writeFileSync(join(here.folder, 'users.txt'), Array.from({ length: 40 }, (_, index) => `u${index}@example.com`).join('\n'))
  const env = { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url }
  const bulk = here.terminal('pool move --to staff --from-file users.txt --yes', { env })
  await expect.poll(() => moved, { interval: 20 }).toBe(18)
  bulk.type('\u0003')
  const { screen, exit } = await bulk.ended()
  expect(exit).toBe(130)
  expect(screen).toContain('interrupted: 10 of 40 users are done; in progress: lines')
  expect(screen).toContain('run the same command again')
})

test('Ctrl-C during grants that are sent together names the lines in progress', async () => {
  let sent = 0
  const { url } = await standIn(({ method, body }, response) => {
    if (method === 'GET') return reply(response, 200, {})
    sent += 1
    const { users } = JSON.parse(body)
    // Only the first request, with a hundred users, is answered.
    if (sent === 1) reply(response, 200, { items: users.map((user: string) => ({ user, outcome: 'granted' })) })
  })
  const here = machine()
  writeFileSync(join(here.folder, 'users.txt'), Array.from({ length: 140 }, (_, index) => `u${index}@example.com`).join('\n'))
  const env = { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url }
  const bulk = here.terminal('grant add --app shop --from-file users.txt --yes', { env })
  await expect.poll(() => sent, { interval: 20 }).toBe(2)
  bulk.type('\u0003')
  const { screen, exit } = await bulk.ended()
  expect(exit).toBe(130)
  expect(screen).toContain('interrupted: 100 of 140 users are done; in progress: lines 101 to 140')
})
