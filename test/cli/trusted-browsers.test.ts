// Browsers that do not ask a user for the second factor, as an admin sees them.
import { expect, test } from 'vitest'
import { callHttp } from '../support/client.ts'
import { askFor, visit } from '../support/sign-in-page.ts'
import { totpAt } from '../support/totp.ts'
import { gatehouseFixture, parsed, register } from './sandbox.ts'

const { service, signedInOnce } = gatehouseFixture()
const password = 'a fine password'

test('an admin lists the trusted browsers of a user and ends the trust of a lost one', async () => {
  const { authctl } = await signedInOnce()
  const app = parsed(
    await authctl('app create people --name People --auto-grant --redirect https://people.example/cb --trust-days 7 --json'),
  )
  const email = 'trust@example.com'
  await register(service.url, { email, password, app_code: 'people' })
  const { body: tokens } = await callHttp(`${service.url}/api/v1/auth/login`, 'POST', {
    body: { email, password, app_code: 'people' },
  })
  expect((await authctl('user browser list trust@example.com -o table')).stderr).toBe('no trusted browsers\n')
  const call = (path: string, body = {}) =>
    callHttp(`${service.url}/api/v1/auth/2fa/${path}`, 'POST', { body, token: tokens.access_token })
  const { secret } = (await call('setup')).body
  await call('activate', { code: totpAt(secret, Date.now() - 30_000) })
  const visitor = visit(service)
  const page = await visitor.send(await visitor.get(askFor(app).path), 'Sign in', { email, password })
  await visitor.send(page, 'Continue', { two_factor_code: totpAt(secret, Date.now()), trust: 'yes' })
  const [browser, ...others] = parsed(await authctl('user browser list trust@example.com --limit 5 --json'))
  expect(others).toEqual([])
  expect((await authctl('user browser revoke trust@example.com --browser phone')).exit).toBe(6)
  const revoke = (option = '') => authctl(`user browser revoke trust@example.com --browser ${browser.id} --json ${option}`.trim())
  await revoke('--dry-run')
  expect(parsed(await revoke())).toMatchObject({ outcome: 'revoked' })
  expect(parsed(await revoke())).toMatchObject({ outcome: 'unchanged' })
  expect(parsed(await authctl('user browser list trust@example.com --json'))).toEqual([])
})
