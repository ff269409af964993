import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { totpAt } from '../support/totp.ts'
import { gatehouseFixture, type Machine, machine, register } from './sandbox.ts'

const { service } = gatehouseFixture()

const password = 'a fine password'
const step = 30_000

/** Registers a user and signs in on a new machine. */
async function person(email: string): Promise<Machine> {
  const admin = machine()
  await admin.login(service.url)
  await admin.authctl('app create people --name People --auto-grant --if-exists skip')
  await register(service.url, { email, password, app_code: 'people' })
  await admin.authctl(`grant add --app authctl --user ${email}`)
  const here = machine()
  await here.login(service.url, { email, password })
  return here
}

/** Goes through the setup with the previous code, so that the current one is still unused. */
async function setUp(here: Machine, flags = ''): Promise<{ screen: string; secret: string }> {
  // Do not start near the end of a step, or the previous code would be too old by the time it is used.
  const left = step - (Date.now() % step)
  if (left < 5_000) await new Promise((resolve) => setTimeout(resolve, left))
  const setup = here.terminal(`two-factor setup ${flags}`)
  await setup.shows('type this secret into it: ')
  await setup.shows('Code that the app shows')
  const secret = /into it: ([A-Z2-7]{16,})/.exec(setup.screen())![1]!
  setup.type(`${totpAt(secret, Date.now() - step)}\r`)
  const { screen, exit } = await setup.ended()
  expect(exit).toBe(0)
  return { screen, secret }
}

const recoveryCodesIn = (screen: string) => [...screen.matchAll(/^[0-9a-z]+(?:-[0-9a-z]+)+$/gim)].map(([code]) => code)
const twoFactor = async (here: Machine) => JSON.parse((await here.authctl('whoami')).stdout).two_factor

test('two-factor setup shows QR code and secret, allows another try, and prints ten recovery codes', async () => {
  const here = await person('one@example.com')
  const setup = here.terminal('two-factor setup')
  await setup.shows('scan this')
  await setup.shows('\u2580')
  await setup.shows('type this secret into it: ')
  await setup.shows('Code that the app shows')
  const secret = /into it: ([A-Z2-7]{16,})/.exec(setup.screen())![1]!
  const near = [-3, -2, -1, 0, 1, 2, 3].map((steps) => totpAt(secret, Date.now() + steps * step))
  setup.type(
    `${['000000', '111111', '222222', '333333', '444444', '555555', '666666', '777777'].find((code) => !near.includes(code))}\r`,
  )
  await setup.shows('wrong code')
  await setup.shows('Code that the app shows')
  setup.type(`${totpAt(secret, Date.now())}\r`)
  const { screen, exit } = await setup.ended()
  expect(exit).toBe(0)
  expect(screen).toContain('Keep these codes')
  expect(new Set(recoveryCodesIn(screen)).size).toBe(10)
  expect(await twoFactor(here)).toBe(true)
  const again = here.terminal('two-factor setup')
  expect((await again.ended()).exit).toBe(5)
})

test('login asks for the second factor on a terminal, or takes it from the second line of input', async () => {
  const email = 'two@example.com'
  const here = await person(email)
  const { secret } = await setUp(here)
  const login = here.terminal(`login --email ${email} --base-url ${service.url}`)
  await login.shows('Password:')
  login.type(`${password}\r`)
  await login.shows('Two-factor or recovery code')
  login.type(`${totpAt(secret, Date.now())}\r`)
  expect((await login.ended()).exit).toBe(0)

  const command = `login --email ${email} --password-stdin --base-url ${service.url}`
  const without = await here.authctl(command, { input: `${password}\n` })
  expect(without.exit).toBe(2)
  expect(without.stderr).toContain('a two-factor code is required')
  const wrong = await here.authctl(`${command} --json`, { input: `${password}\n000000\n` })
  expect({ exit: wrong.exit, code: JSON.parse(wrong.stderr).error.code }).toEqual({ exit: 4, code: 'invalid_two_factor_code' })
  expect((await here.authctl(command, { input: `${password}\n${totpAt(secret, Date.now() + step)}\n` })).exit).toBe(0)
})

test('two-factor setup --svg writes a new private file, and --json prints the codes alone', async () => {
  const here = await person('three@example.com')
  writeFileSync(join(here.folder, 'there.svg'), 'mine')
  const refused = here.terminal('two-factor setup --svg there.svg')
  expect((await refused.ended()).exit).toBe(5)
  expect(readFileSync(join(here.folder, 'there.svg'), 'utf8')).toBe('mine')
  const { screen } = await setUp(here, '--svg qr.svg --json')
  expect(screen).not.toContain('\u2580')
  expect(readFileSync(join(here.folder, 'qr.svg'), 'utf8')).toMatch(/^<svg .*<\/svg>$/s)
  expect(statSync(join(here.folder, 'qr.svg')).mode & 0o777).toBe(0o600)
  const json = JSON.parse(/^\{$.*?^\}$/ms.exec(screen)![0])
  expect(json).toEqual({ recovery_codes: Array(10).fill(expect.any(String)) })
})

test('two-factor disable takes password and code from prompts or standard input', async () => {
  const here = await person('four@example.com')
  const codes = recoveryCodesIn((await setUp(here)).screen)
  const disable = (input: string) => here.authctl('two-factor disable --password-stdin --json', { input })
  const codeOf = ({ stderr }: { stderr: string }) => JSON.parse(stderr).error.code
  const wrongPassword = await disable(`wrong\n${codes[0]}\n`)
  expect({ exit: wrongPassword.exit, code: codeOf(wrongPassword) }).toEqual({ exit: 6, code: 'invalid_credentials' })
  const wrongCode = await disable(`${password}\n000000\n`)
  expect({ exit: wrongCode.exit, code: codeOf(wrongCode) }).toEqual({ exit: 6, code: 'invalid_two_factor_code' })
  expect((await disable(`${password}\n`)).exit).toBe(2)
  expect(await twoFactor(here)).toBe(true)
  const done = await disable(`${password}\n${codes[1]}\n`)
  expect({ exit: done.exit, ...JSON.parse(done.stdout) }).toEqual({ exit: 0, two_factor: false, outcome: 'disabled' })
  expect(await twoFactor(here)).toBe(false)
  expect((await disable(`${password}\n${codes[2]}\n`)).exit).toBe(5)

  const again = recoveryCodesIn((await setUp(here)).screen)
  const asked = here.terminal('two-factor disable')
  await asked.shows('Password:')
  asked.type(`${password}\r`)
  await asked.shows('Two-factor or recovery code')
  asked.type(`${again[0]}\r`)
  const { screen, exit } = await asked.ended()
  expect(exit).toBe(0)
  expect(screen).not.toContain(password)
  expect(await twoFactor(here)).toBe(false)
})

test('two-factor setup exits with 2 without a terminal, and Ctrl-C at the code leaves it off', async () => {
  const here = await person('five@example.com')
  const refused = await here.authctl('two-factor setup --svg qr.svg')
  expect({ stdout: refused.stdout, exit: refused.exit }).toEqual({ stdout: '', exit: 2 })
  expect(refused.stderr).toContain('a terminal is required')
  expect(existsSync(join(here.folder, 'qr.svg'))).toBe(false)
  expect((await here.authctl('two-factor disable')).exit).toBe(2)
  const setup = here.terminal('two-factor setup')
  await setup.shows('Code that the app shows')
  setup.type('\u0003')
  expect((await setup.ended()).exit).toBe(130)
  expect(await twoFactor(here)).toBe(false)
})
