// A mistyped name never looks like an empty list, nor makes something new without a word.
import { describe, expect, test } from 'vitest'
import { errorOf, gatehouseFixture, parsed, reply, standIn } from './sandbox.ts'

const { signedInOnce: signedIn } = gatehouseFixture()

describe('an unknown name in a filter', () => {
  test.each([
    ['user find --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['user list --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['user find --role sytem_admin', 'No role has the code sytem_admin; the nearest is system_admin'],
    ['audit list --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['audit tail --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['grant list --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['grant request list --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['webhook list --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['webhook deliveries --app shpo', 'No app has the code or id shpo; the nearest is shop'],
    ['org show acne', 'no organization has the slug acne; the nearest is acme'],
    ['user find --app zzzzzzzz', 'No app has the code or id zzzzzzzz'],
  ])('"authctl %s" exits with 3 and names what does not exist', async (command, message) => {
    const { authctl } = await signedIn()
    await authctl('app create shop --name Shop --if-exists skip')
    await authctl('org create acme --name Acme')
    const refused = await authctl(`${command} ${command.includes('tail') ? '-o ndjson' : '--json'}`)
    expect({ exit: refused.exit, stdout: refused.stdout }).toEqual({ exit: 3, stdout: '' })
    expect(errorOf(refused).message).toBe(message)
  })

  test('a command warns of a pool that nobody uses, but not of an empty one', async () => {
    const { authctl } = await signedIn()
    await authctl('app create staffed --name Staffed --pool staff')
    for (const command of ['user find --pool staf --json', 'user list --pool staf -o table', 'user export --pool staf']) {
      const warned = await authctl(command)
      expect(warned).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^(\[\]\n)?$/) })
      expect(warned.stderr).toContain('no user and no app uses the pool staf; the nearest is staff\n')
    }
    expect((await authctl('user find --pool staff --json')).stderr).toBe('')
    expect((await authctl('pool show staf')).stderr).toContain('the nearest is staff')
  })
})

test('a command that creates a pool says so, and other commands do not', async () => {
  const { authctl } = await signedIn()
  const says = async (command: string) => (await authctl(`${command} --json`)).stderr
  const told = (pool: string) => expect.stringContaining(`${pool} is a new pool: no user and no app uses it yet`)
  const created = await says('app create piped --name P --pool guests --read-pool vistors')
  for (const pool of ['guests', 'vistors']) expect(created).toEqual(told(pool))
  expect(await says('app update piped --read-pool visitors')).toContain(
    'visitors is a new pool: no user and no app uses it yet; the nearest is vistors',
  )
  expect(await says('user create --email new@example.com --pool gusts --tag guests')).toContain(
    'gusts is a new pool: no user and no app uses it yet; the nearest is guests',
  )
  expect(await says('pool tag --user new@example.com --pool fresh')).toEqual(told('fresh'))
  expect(await says('pool move --user new@example.com --to moved --yes')).toEqual(told('moved'))
  for (const known of [
    'app update piped --pool guests',
    'pool tag --user new@example.com --pool guests',
    'user create --email second@example.com',
  ])
    expect(await says(known)).not.toContain('is a new pool')
})

test('app create says what its tokens carry unless that was chosen, and a refusal names the flag', async () => {
  const { authctl } = await signedIn()
  const note = /^its tokens carry every permission of its services; --permission-scope roles limits them/m
  expect((await authctl('app create open --name Open --json')).stderr).toMatch(note)
  for (const chosen of ['roles', 'services'])
    expect((await authctl(`app create ${chosen} --name Chosen --permission-scope ${chosen} --json`)).stderr).toBe('')
  expect((await authctl('app create open --name Open --if-exists skip --json')).stderr).toBe('')
  const refused = await authctl('app create bad --name Bad --redirect https://a.example/ nonsense --frontend-url x --json')
  expect(errorOf(refused).message).toMatch(/^--redirect: .*; --frontend-url: /)
  expect(errorOf(await authctl('app update open --pool A! --json')).message).toMatch(/^--pool: /)
})

test('a refusal that only production makes names the flag', async () => {
  const { url } = await standIn((_, response) =>
    reply(response, 400, {
      ...{ status: 400, code: 'validation_failed', title: 'Invalid', request_id: 'r' },
      errors: [{ path: 'allowed_redirect_urls', code: 'required', message: 'must not be empty in production' }],
    }),
  )
  const { authctl } = await signedIn()
  const refused = await authctl('app create shop --name Shop --json', { env: { AUTHCTL_BASE_URL: url, AUTHCTL_TOKEN: 'x' } })
  expect(errorOf(refused).message).toBe('--redirect: must not be empty in production')
})

test('user list prints the same as user find', async () => {
  const { authctl } = await signedIn()
  expect(parsed(await authctl('user list --json'))).toEqual(parsed(await authctl('user find --json')))
  expect(parsed(await authctl('user list --status suspended --json'))).toEqual([])
  const { stdout } = await authctl('user create --email shown@example.com --pool staff -o table')
  expect(stdout).toMatch(/^POOL +staff$/m)
  expect(stdout).toMatch(/^POOLS +staff$/m)
  expect(stdout).not.toMatch(/namespace/i)
})
