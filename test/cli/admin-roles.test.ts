// authctl in the hands of somebody who is no system_admin.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

test('an auditor signs in and reads, and a refused write names the role that may do it', async () => {
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

test('a help desk user investigates, helps with a reason, and cannot touch an admin', async () => {
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

test('apply with a service account makes its allowed changes and names each entry that it may not change', async () => {
  const admin = machine()
  await admin.login(service.url)
  const write = (content: object) => writeFileSync(join(admin.folder, 'declared.yaml'), JSON.stringify(content, null, 2))
  const services = [{ service: 'orders', permissions: [{ code: 'orders:read', name: 'Read orders' }] }]
  const support = { code: 'support', name: 'Support', scope: 'org' }
  const shop = { code: 'shop', name: 'Shop' }
  write({ services, roles: [support], apps: [shop] })
  await done(admin, 'apply -f declared.yaml')
  const created = 'service-account create nightly --service nightly --scope admin:read admin:configure --json'
  const { token } = parsed(await done(admin, created))
  const env = { AUTHCTL_TOKEN: token, AUTHCTL_BASE_URL: service.url }

  write({
    services,
    roles: [{ ...support, permissions: ['orders:read'] }],
    apps: [{ ...shop, name: 'The shop', sign_up: 'closed' }],
  })
  const applied = await admin.authctl('apply -f declared.yaml --json', { env })
  expect(parsed(applied)).toMatchObject({ changed: 2, unchanged: 1, failed: 0 })
  expect((await admin.authctl('diff -f declared.yaml --exit-code', { env })).exit).toBe(0)

  write({
    services: [{ service: 'orders', permissions: [{ code: 'orders:all', name: 'All' }] }],
    roles: [
      { ...support, name: 'Support team', permissions: ['orders:read'] },
      { code: 'boss', name: 'Boss' },
    ],
    apps: [{ ...shop, name: 'The shop', frontend_url: 'https://evil.example.com' }],
  })
  const refused = await admin.authctl('apply -f declared.yaml', { env })
  expect(refused.exit).toBe(6)
  for (const fault of [
    /:3: services\[0\] The scope permissions:register is required/,
    /roles\[1\] admin:configure does not cover global roles/,
    /apps\[0\] admin:configure does not cover these settings of an app: .*frontend_url/,
  ])
    expect(refused.stderr).toMatch(fault)
  expect((await done(admin, 'role show support --json')).stdout).toContain('"Support"')

  write({ roles: [], apps: [] })
  const pruned = await admin.authctl('apply -f declared.yaml --prune --confirm default', { env })
  expect(pruned.exit).toBe(4)
  expect(pruned.stderr).toContain('admin:configure')
  await done(admin, 'service-account update nightly --scope admin:read')
  write({ apps: [{ ...shop, name: 'Another', sign_up: 'closed' }] })
  expect((await admin.authctl('apply -f declared.yaml', { env })).stderr).toContain('Needed: system_admin, or admin:configure')
})
