import { expect, test } from 'vitest'
import { addUser, admin, gatehouseFixture, type Machine, machine, nobody, parsed, register } from './sandbox.ts'

const { service, signedIn } = gatehouseFixture({ AUTH_LOCKOUT_THRESHOLD: '2' })

const password = 'a fine password'

const create = async (here: Machine, email: string, namespace = 'default'): Promise<string> =>
  (await addUser(here, { email, password, namespace })).id

const login = async (email: string, typed: string, app = 'authctl') => {
  const { status } = await fetch(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: typed, app_code: app }),
  })
  return status
}

test('user create sends the given fields and reads the password from standard input alone', async () => {
  const { authctl } = await signedIn()
  const full = await authctl(
    'user create --email bob@example.com --pool staff --first-name Bob --last-name Builder --locale pt-br --tag partners guests --verified --password-stdin --json',
    { input: `${password}\n` },
  )
  expect(full.exit).toBe(0)
  expect(parsed(full)).toMatchObject({
    email: 'bob@example.com',
    namespace: 'staff',
    namespaces: ['staff', 'guests', 'partners'],
    first_name: 'Bob',
    last_name: 'Builder',
    locale: 'pt-BR',
    email_verified: true,
    status: 'active',
    outcome: 'created',
  })
  expect(full.stderr).toMatch(/^staff is a new pool.*\npartners is a new pool.*\nguests is a new pool.*\n$/)
  const bare = await authctl('user create --email bare@example.com --json')
  expect(parsed(bare)).toMatchObject({ namespace: 'default', email_verified: false })
  expect(bare.stderr).toContain('no password yet')
  const taken = await authctl('user create --email bob@example.com --pool guests --json')
  expect({ exit: taken.exit, code: JSON.parse(taken.stderr).error.code }).toEqual({ exit: 5, code: 'email_exists_in_pool' })
  const plan = await authctl('user create --email plan@example.com --password-stdin --dry-run', { input: password })
  expect(plan.exit).toBe(0)
  expect(plan.stdout + plan.stderr).not.toContain(password)
  expect((await authctl('user show plan@example.com')).exit).toBe(3)
  expect((await authctl('user create --email nonsense')).exit).toBe(6)
  expect((await authctl('user create --email short@example.com --password-stdin', { input: 'short' })).exit).toBe(6)
  expect((await authctl('user create --pool staff')).exit).toBe(2)
  expect((await authctl(`user create --email x@example.com --password ${password}`)).exit).toBe(2)
})

test('user suspend needs --yes, user activate undoes it, and repeating either is unchanged', async () => {
  const here = await signedIn()
  const { authctl } = here
  await create(here, 'sue@example.com')
  await authctl('grant add --app authctl --user sue@example.com')
  const refused = await authctl('user suspend sue@example.com')
  expect(refused).toMatchObject({ stdout: '', exit: 2 })
  expect(refused.stderr).toContain('--yes')
  expect((await authctl('user suspend sue@example.com --dry-run')).exit).toBe(0)
  expect(await login('sue@example.com', password)).toBe(200)
  const suspended = await authctl('user suspend sue@example.com --yes --json')
  expect(parsed(suspended)).toMatchObject({ status: 'suspended', outcome: 'suspended' })
  expect(await login('sue@example.com', password)).toBe(403)
  expect(parsed(await authctl('user suspend sue@example.com --yes --json'))).toMatchObject({ outcome: 'unchanged' })
  expect(parsed(await authctl('user activate sue@example.com@@default --json'))).toMatchObject({
    status: 'active',
    outcome: 'activated',
  })
  expect(parsed(await authctl('user activate sue@example.com --json'))).toMatchObject({ outcome: 'unchanged' })
  expect(await login('sue@example.com', password)).toBe(200)
  expect((await authctl(`user suspend ${admin.email} --yes`)).exit).toBe(5)
  for (const verb of ['activate', 'suspend --yes', 'unlock', 'logout']) {
    expect({ verb, exit: (await authctl(`user ${verb} ${nobody}`)).exit }).toEqual({ verb, exit: 3 })
    expect((await authctl(`user ${verb} nobody@example.com`)).exit).toBe(3)
    expect((await authctl(`user ${verb}`)).exit).toBe(2)
  }
})

test('user unlock ends a lockout', async () => {
  const here = await signedIn()
  const { authctl } = here
  const id = await create(here, 'lou@example.com')
  await authctl('grant add --app authctl --user lou@example.com')
  for (const _ of [1, 2]) await login('lou@example.com', 'wrong')
  expect(await login('lou@example.com', password)).toBe(423)
  expect((await authctl('user unlock lou@example.com --dry-run')).exit).toBe(0)
  expect(await login('lou@example.com', password)).toBe(423)
  expect(parsed(await authctl('user unlock lou@example.com --json'))).toEqual({ user_id: id, outcome: 'unlocked' })
  expect(await login('lou@example.com', password)).toBe(200)
})

test('user logout ends the sessions of the user and no other', async () => {
  const here = await signedIn()
  const { authctl } = here
  const id = await create(here, 'lea@example.com')
  await authctl('grant add --app authctl --user lea@example.com')
  const hers = machine()
  await hers.login(service.url, { email: 'lea@example.com', password })
  expect((await authctl('user logout lea@example.com --dry-run')).exit).toBe(0)
  expect((await hers.authctl('whoami')).exit).toBe(0)
  expect(parsed(await authctl('user logout lea@example.com --json'))).toEqual({ user_id: id, outcome: 'logged_out' })
  expect((await hers.authctl('whoami')).exit).toBe(4)
  expect((await authctl('whoami')).exit).toBe(0)
})

test('user delete needs the e-mail address, and --erase blanks it, also for a deleted user', async () => {
  const here = await signedIn()
  const { authctl } = here
  const id = await create(here, 'del@example.com')
  for (const flags of ['', '--yes', `--confirm ${id}`, '--confirm del']) {
    expect((await authctl(`user delete ${id} ${flags}`)).exit).toBe(2)
  }
  expect((await authctl('user delete del@example.com --dry-run')).exit).toBe(0)
  expect(parsed(await authctl(`user show ${id} --json`)).status).toBe('active')
  expect(parsed(await authctl('user delete del@example.com@@default --confirm del@example.com --json'))).toEqual({
    user_id: id,
    erased: false,
    outcome: 'deleted',
  })
  expect((await authctl('user delete del@example.com --confirm del@example.com')).exit).toBe(3)
  expect((await authctl(`user delete ${id} --confirm del@example.com`)).exit).toBe(3)
  expect(parsed(await authctl(`user delete ${id} --erase --confirm del@example.com --json`))).toMatchObject({ erased: true })
  expect(parsed(await authctl(`user show ${id} --json`))).toMatchObject({ email: '', status: 'deleted' })
  expect((await authctl(`user delete ${admin.email} --confirm ${admin.email}`)).exit).toBe(5)
})

test('user role gives a global role and removes it, and repeating either is unchanged', async () => {
  const here = await signedIn()
  const { authctl } = here
  const id = await create(here, 'rob@example.com')
  await authctl('role create helper --name Helper')
  const role = 'user role rob@example.com --role helper'
  expect((await authctl(`${role} --dry-run`)).exit).toBe(0)
  expect(parsed(await authctl(`${role} --json`))).toEqual({ user_id: id, role: 'helper', outcome: 'added' })
  expect(parsed(await authctl(`${role} --json`))).toMatchObject({ outcome: 'unchanged' })
  expect(parsed(await authctl('user show rob@example.com --json')).roles).toContain('helper')
  expect((await authctl(`${role} --remove`)).exit).toBe(2)
  expect(parsed(await authctl(`${role} --remove --yes --json`))).toMatchObject({ outcome: 'removed' })
  expect(parsed(await authctl(`${role} --remove --yes --json`))).toMatchObject({ outcome: 'unchanged' })
  expect((await authctl('user role rob@example.com --role nowhere --remove --yes')).exit).toBe(3)
  expect((await authctl('user role rob@example.com --role nowhere')).exit).toBe(6)
  expect((await authctl('user role rob@example.com --role org_admin')).exit).toBe(6)
  expect((await authctl('user role rob@example.com')).exit).toBe(2)
  expect((await authctl(`user role ${admin.email} --role system_admin --remove --yes`)).exit).toBe(5)
})

test('user role exits with 5 and a hint for an admin role of an unproven account', async () => {
  const here = await signedIn()
  const { authctl } = here
  await authctl('app create squatted --name S')
  await register(service.url, { email: 'early@example.com', password, app_code: 'squatted' })
  for (const role of ['system_admin', 'super_admin']) {
    const refused = await authctl(`user role early@example.com --role ${role} --json`)
    expect([refused.exit, JSON.parse(refused.stderr).error]).toMatchObject([
      5,
      { code: 'account_unverified', hint: expect.stringContaining('--claim-unverified') },
    ])
  }
  expect(parsed(await authctl('user show early@example.com --json')).roles).toEqual(['base_user'])
})

test('grant explain names all refusals, and after its commands the user is admitted', async () => {
  const here = await signedIn()
  const { authctl } = here
  await authctl('app create behind --name B --pool behind')
  await authctl('app deactivate behind --yes')
  await create(here, 'ned@example.com', 'elsewhere')
  await authctl('user suspend ned@example.com --yes')
  const { stdout } = await authctl('grant explain --app behind --user ned@example.com -o table')
  expect(stdout).toContain('once that is fixed, this refuses too:')
  const remedies = [...stdout.matchAll(/^ {2}authctl (.*)$/gm)].map(([, remedy]) => remedy!)
  expect(remedies).toEqual([
    'app activate behind',
    'pool tag --user ned@example.com@@elsewhere --pool behind',
    'user activate ned@example.com@@elsewhere',
    'grant add --app behind --user ned@example.com@@elsewhere',
  ])
  for (const remedy of remedies) expect({ remedy, exit: (await authctl(remedy)).exit }).toEqual({ remedy, exit: 0 })
  const mended = parsed(await authctl('grant explain --app behind --user ned@example.com --json'))
  expect(mended).toMatchObject({ outcome: 'granted', further_refusals: [] })
})

test('the commands that grant explain prints for a locked, suspended or unknown user work', async () => {
  const here = await signedIn()
  const { authctl } = here
  await authctl('app create mended --name M --pool mended')
  const mend = async (email: string) => {
    const { stdout } = await authctl(`grant explain --app mended --user ${email} -o table`)
    const remedy = stdout.match(/^ {2}authctl (.*)$/m)![1]!
    expect({ remedy, exit: (await authctl(remedy)).exit }).toEqual({ remedy, exit: 0 })
    return remedy
  }
  expect(await mend('mia@example.com')).toBe('user create --email mia@example.com --pool mended')
  await create(here, 'max@example.com', 'mended')
  await authctl('user suspend max@example.com --yes')
  expect(await mend('max@example.com')).toBe('user activate max@example.com@@mended')
  expect(await mend('max@example.com')).toBe('grant add --app mended --user max@example.com@@mended')
  for (const _ of [1, 2]) await login('max@example.com', 'wrong', 'mended')
  expect(await mend('max@example.com')).toBe('user unlock max@example.com@@mended')
  await create(here, 'moe@example.com')
  expect(await mend('moe@example.com')).toBe('pool tag --user moe@example.com@@default --pool mended')
})
