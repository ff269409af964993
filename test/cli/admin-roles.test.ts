// authctl in the hands of somebody who is no system_admin.
import { expect, test } from 'vitest'
import { addUser, errorOf, gatehouseFixture, type Machine, machine, parsed, register } from './sandbox.ts'

const { service } = gatehouseFixture()
const password = 'a fine password'

const done = async (from: Machine, command: string | string[]) => {
  const ended = await from.authctl(command)
  expect(ended.exit, ended.stderr).toBe(0)
  return ended
}

/** The machines of an admin, and of somebody with this role who was given access to authctl. Both have signed in. */
async function colleague(role: string): Promise<{ admin: Machine; here: Machine }> {
  const admin = machine()
  await admin.login(service.url)
  await done(admin, 'app create people --name People --auto-grant --if-exists skip')
  const email = `${role}@example.com`
  await addUser(admin, { email, password })
  await done(admin, `user role ${email} --role ${role}`)
  await done(admin, `grant add --app authctl --user ${email}`)
  const here = machine()
  await here.login(service.url, { email, password })
  return { admin, here }
}

test('an auditor signs in, reads, changes nothing and is told who may', async () => {
  const { here } = await colleague('auditor')
  expect(parsed(await done(here, 'whoami --json'))).toMatchObject({
    email: 'auditor@example.com',
    roles: expect.arrayContaining(['auditor']),
    system_admin: false,
  })
  for (const command of [
    'user list --json',
    'app list --json',
    'grant list --app people --json',
    'audit list --json',
    'audit verify',
  ])
    await done(here, command)
  expect((await done(here, 'export')).stdout).toContain('- code: people')
  for (const command of ['app create other --name Other', 'user logout ada@example.com --yes', 'pool list']) {
    const refused = await here.authctl(`${command} --json`)
    expect(refused.exit, command).toBe(4)
    expect(errorOf(refused)).toMatchObject({
      code: 'system_admin_required',
      message: expect.stringMatching(/^auditor may not do this\. Needed: system_admin/),
    })
  }
})

test('somebody of the help desk finds out what is wrong, helps with a reason, and touches no admin', async () => {
  const { admin, here } = await colleague('help_desk')
  const user = 'locked@example.com'
  await register(service.url, { email: user, password, app_code: 'people' })
  for (const command of [
    `user show ${user}`,
    `grant explain --app people --user ${user}`,
    'lockout list',
    `audit list --user ${user}`,
  ])
    await done(here, `${command} --json`)
  const [session] = parsed(await done(here, `user session list ${user} --json`))

  const helps = [`user unlock ${user}`, `user session end ${user} --session ${session.id}`, `user logout ${user} --yes`]
  for (const command of helps) {
    const asked = await here.authctl(`${command} --json`)
    expect(asked.exit, command).toBe(6)
    expect(errorOf(asked).message).toBe('--reason is required: say why you do this')
    await done(here, [...command.split(' '), '--reason', 'Ticket 4711'])
  }
  await done(here, ['user', 'reset-two-factor', user, '--yes', '--reason', 'Ticket 4711'])
  expect((await done(admin, `audit list --user ${user} --json`)).stdout.match(/Ticket 4711/g)).toHaveLength(2)

  for (const command of [
    ['user', 'logout', 'ada@example.com', '--yes', '--reason', 'x'],
    ['user', 'suspend', user, '--yes', '--reason', 'x'],
    ['user', 'role', user, '--role', 'help_desk', '--reason', 'x'],
    ['app', 'list'],
  ]) {
    const refused = await here.authctl([...command, '--json'])
    expect(refused.exit, command.join(' ')).toBe(4)
    expect(errorOf(refused).code).toBe('system_admin_required')
  }
})
