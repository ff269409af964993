// Who has no second factor, what the doctor says of admin apps, and what a login says to somebody who must set one up.
import { expect, test } from 'vitest'
import { addUser, admin, gatehouseFixture, parsed } from './sandbox.ts'

const { signedIn } = gatehouseFixture({ AUTH_ADMIN_APP_CODES: 'authctl' })

test('two-factor report lists users without a second factor, and doctor warns of an admin app without it', async () => {
  const here = await signedIn()
  const { authctl } = here
  await authctl('app create shop --name Shop --auto-grant')
  await addUser(here, { email: 'bob@example.com', password: admin.password })
  await authctl('grant add --app shop --user bob@example.com')
  const listed = parsed(await authctl('two-factor report --app shop --of everyone --json')) as { email: string }[]
  expect(listed.map(({ email }) => email)).toEqual(['bob@example.com'])
  expect(parsed(await authctl('two-factor report --app shop --of admins --json'))).toEqual([])
  expect((await authctl('two-factor report --app authctl -o table')).stdout).toMatch(/^EMAIL +POOL +ROLES/)
  expect(await authctl('two-factor report --app nothing')).toMatchObject({ exit: 3 })
  const { stdout } = await authctl('doctor')
  expect(stdout).toContain('authctl app update authctl --require-two-factor everyone')
  await authctl('app update authctl --require-two-factor everyone')
  expect((await authctl('doctor')).stdout).not.toContain('a password alone is enough')
  const refused = await authctl(`login --email ${admin.email} --password-stdin`, { input: `${admin.password}\n` })
  expect(refused.exit).toBe(4)
  expect(refused.stderr).toMatch(/set one up at http\S+\/account\/two-factor\?app=authctl, then sign in again: authctl login/)
})
