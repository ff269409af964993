import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { admin, gatehouseFixture, machine, standIn } from './sandbox.ts'

const { service } = gatehouseFixture()

test('login asks for e-mail and password, and does not show the password', async () => {
  const { terminal, authctl } = machine()
  const login = terminal(`login --base-url ${service.url}`)
  await login.shows('E-mail:')
  login.type(`${admin.email}\r`)
  await login.shows('Password:')
  login.type(`${admin.password}\r`)
  const { screen, exit } = await login.ended()
  expect(exit).toBe(0)
  expect(screen).toContain('signed_in')
  expect(screen).not.toContain(admin.password)
  expect((await authctl('whoami')).exit).toBe(0)
})

test('a missing value is asked for, and again after an empty answer', async () => {
  const here = machine()
  await here.login(service.url)
  const create = here.terminal('app create')
  await create.shows('Code of the new app')
  create.type('\r')
  await create.shows('Type an answer')
  create.type('asked\r')
  await create.shows('Display name')
  create.type('Asked for\r')
  expect((await create.ended()).exit).toBe(0)
  expect(JSON.parse((await here.authctl('app show asked --json')).stdout).name).toBe('Asked for')
})

test('--no-input exits with 2 instead of asking', async () => {
  const here = machine()
  await here.login(service.url)
  for (const command of ['app create', 'app deactivate authctl', 'app delete authctl', 'login']) {
    expect((await here.terminal(`${command} --no-input`).ended()).exit).toBe(2)
  }
})

test('app deactivate asks without a default, and no exits with 9', async () => {
  const here = machine()
  await here.login(service.url)
  await here.authctl('app create asked-twice --name A')
  const declined = here.terminal('app deactivate asked-twice')
  await declined.shows('(yes/no)')
  declined.type('\r')
  await declined.shows('Type yes or no')
  declined.type('no\r')
  expect((await declined.ended()).exit).toBe(9)
  expect(JSON.parse((await here.authctl('app show asked-twice --json')).stdout).status).toBe('active')
  const agreed = here.terminal('app deactivate asked-twice')
  await agreed.shows('(yes/no)')
  agreed.type('yes\r')
  expect((await agreed.ended()).exit).toBe(0)
  expect(JSON.parse((await here.authctl('app show asked-twice --json')).stdout).status).toBe('inactive')
})

test.each(['grant add --app open', 'user role --role support', 'org member --org acme --role org_member'])(
  '"%s" asks first if the address of a registered account is unverified',
  async (command) => {
    const here = machine()
    await here.login(service.url)
    await here.authctl('app create open --name Open')
    await here.authctl('role create support --name Support --scope global')
    await here.authctl('org create acme --name Acme')
    const email = `${randomUUID()}@example.com`
    const body = JSON.stringify({ email, password: 'a password of somebody', app_code: 'open' })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${service.url}/api/v1/auth/register`, { method: 'POST', headers, body })
    const [noun, verb, ...rest] = command.split(' ')
    const typed = noun === 'user' ? `user role ${email} ${rest.join(' ')}` : `${noun} ${verb} --user ${email} ${rest.join(' ')}`
    const declined = here.terminal(typed)
    await declined.shows('an unverified address')
    declined.type('no\r')
    expect((await declined.ended()).exit).toBe(9)
    const agreed = here.terminal(typed)
    await agreed.shows('an unverified address')
    agreed.type('yes\r')
    expect((await agreed.ended()).exit).toBe(0)
    // In a script it goes ahead; the answer contains a warning.
    expect((await here.authctl(typed)).exit).toBe(0)
    await here.authctl('app delete open --confirm open --force')
  },
)

test('app delete asks for the code, and another answer exits with 9', async () => {
  const here = machine()
  await here.login(service.url)
  await here.authctl('app create named --name N')
  const declined = here.terminal('app delete named')
  await declined.shows('type named')
  declined.type('nmaed\r')
  expect((await declined.ended()).exit).toBe(9)
  const agreed = here.terminal('app delete named')
  await agreed.shows('type named')
  agreed.type('named\r')
  expect((await agreed.ended()).exit).toBe(0)
  expect((await here.authctl('app show named')).exit).toBe(3)
})

test('pool move asks for the user and for a yes, and no exits with 9', async () => {
  const here = machine()
  await here.login(service.url)
  const move = here.terminal('pool move --to elsewhere')
  await move.shows('User: ')
  move.type(`${admin.email}\r`)
  await move.shows(`move ${admin.email} to the pool elsewhere in default (${service.url})? (yes/no)`)
  move.type('no\r')
  expect((await move.ended()).exit).toBe(9)
  expect(JSON.parse((await here.authctl(`user show ${admin.email} --json`)).stdout).namespace).toBe('default')
})

test('permission register asks for the name of the service before it prunes', async () => {
  const here = machine()
  await here.login(service.url)
  const register = 'permission register --service pruned -f'
  const list = '[{"code": "pruned:a", "name": "A"}]'
  expect((await here.authctl(`${register} -`, { input: list })).exit).toBe(0)
  writeFileSync(join(here.folder, 'none.json'), '[]')
  const declined = here.terminal(`${register} none.json`)
  await declined.shows(`To prune a permission of pruned in default (${service.url}), type pruned`)
  declined.type('yes\r')
  expect((await declined.ended()).exit).toBe(9)
  const agreed = here.terminal(`${register} none.json`)
  await agreed.shows('type pruned')
  agreed.type('pruned\r')
  expect((await agreed.ended()).exit).toBe(0)
  expect((await here.authctl('permission list --service pruned --json')).stdout).toBe('[]\n')
})

test('secret new on a terminal prints the secret on a line of its own beside the hints', async () => {
  const { screen, exit } = await machine().terminal('secret new').ended()
  expect(exit).toBe(0)
  expect(screen).toMatch(/(^|\n)[A-Za-z0-9+/]{64}\n/)
  expect(screen).toContain('5. servers')
})

test('Ctrl-C at a prompt exits with 130', async () => {
  const here = machine()
  await here.login(service.url)
  for (const [command, question] of [
    ['app create', 'Code of the new app'],
    ['app deactivate authctl', '(yes/no)'],
    ['app delete authctl', 'type authctl'],
    ['login', 'Password:'],
  ] as const) {
    const asked = here.terminal(command)
    await asked.shows(question)
    asked.type('\u0003')
    expect({ command, exit: (await asked.ended()).exit }).toEqual({ command, exit: 130 })
  }
})

test('Ctrl-C exits with 130 while authctl waits for the service', async () => {
  let arrived = () => {}
  const waiting = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const { url } = await standIn(() => arrived())
  const list = machine().terminal('app list', { env: { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url } })
  await waiting
  list.type('\u0003')
  expect((await list.ended()).exit).toBe(130)
})

test('a table on a terminal has bold titles, unless NO_COLOR or --no-color is set', async () => {
  const here = machine()
  await here.login(service.url)
  const { screen, exit } = await here.terminal('app list').ended()
  expect(exit).toBe(0)
  expect(screen).toMatch(/CODE +NAME +STATUS/)
  expect(await here.terminal('app list').colours()).toBe(true)
  expect(await here.terminal('app list --no-color').colours()).toBe(false)
  expect(await here.terminal('app list', { env: { NO_COLOR: '1' } }).colours()).toBe(false)
})

test('--json on a terminal prints JSON', async () => {
  const here = machine()
  await here.login(service.url)
  expect(JSON.parse((await here.terminal('app list --json').ended()).screen)).toMatchObject([
    { code: expect.any(String) },
    {},
    {},
  ])
})
