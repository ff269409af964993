// Passkeys of users, as an admin sees them.
import { expect, test } from 'vitest'
import { Authenticator, askedIn } from '../support/authenticator.ts'
import { visit } from '../support/sign-in-page.ts'
import { gatehouseFixture, parsed, register } from './sandbox.ts'

const origin = 'https://login.example.com'
const { service, signedInOnce } = gatehouseFixture({ PUBLIC_URL: origin })
const password = 'a fine password'

test('an admin lists the passkeys of a user and removes the one of a lost device by name', async () => {
  const { authctl } = await signedInOnce()
  await authctl('app create people --name People --auto-grant')
  await register(service.url, { email: 'keys@example.com', password, app_code: 'people' })
  expect((await authctl('user passkey list keys@example.com -o table')).stderr).toBe('no passkeys\n')
  const visitor = visit(service)
  let page = await visitor.get('/account/passkeys?app=people')
  page = await visitor.send(page, 'Sign in', { email: 'keys@example.com', password })
  for (const name of ['Phone', 'Laptop', 'Laptop'])
    page = await visitor.send(page, 'Add a passkey', { passkey: new Authenticator(origin).create(askedIn(page)!), name })
  expect(parsed(await authctl('user show keys@example.com --json'))).toMatchObject({ passkeys: 3 })
  const listed = await authctl('user passkey list keys@example.com -o table')
  expect(listed.stdout).toMatch(/^NAME +HOST +CREATED AT +LAST USED AT +BACKED UP.*\nLaptop +login\.example\.com /)
  expect((await authctl('user passkey remove keys@example.com --passkey Phone')).exit).toBe(2)
  const ambiguous = await authctl('user passkey remove keys@example.com --passkey Laptop --yes')
  expect(ambiguous.stderr).toContain('several passkeys')
  const remove = (option = '') => authctl(`user passkey remove keys@example.com --passkey Phone --yes --json ${option}`.trim())
  await remove('--dry-run')
  expect(parsed(await remove())).toMatchObject({ name: 'Phone', outcome: 'removed' })
  expect(parsed(await remove())).toMatchObject({ outcome: 'unchanged' })
  const left = parsed(await authctl('user passkey list keys@example.com --json'))
  expect(JSON.stringify(left)).not.toContain('Phone')
  const { stdout } = await authctl('doctor --json')
  expect(stdout).toContain('all passkeys belong to the host of the service')
})
