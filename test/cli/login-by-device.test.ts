// `authctl login --device`: a code that a person types in a browser elsewhere.
import { expect, test } from 'vitest'
import { callHttp } from '../support/client.ts'
import { visit } from '../support/sign-in-page.ts'
import { totpAt } from '../support/totp.ts'
import { admin, gatehouseFixture, machine, parsed } from './sandbox.ts'

const { service } = gatehouseFixture({ PUBLIC_URL: 'http://localhost:4999' })

/** Turns on a second factor for the admin, and returns its seed. */
async function withSecondFactor(): Promise<string> {
  const call = async (path: string, body: unknown, token?: string) =>
    (await callHttp(`${service.url}/api/v1${path}`, 'POST', { body, ...(token === undefined ? {} : { token }) })).body
  const { access_token } = await call('/auth/login', { ...admin, app_code: 'authctl' })
  const { secret } = await call('/auth/2fa/setup', {}, access_token)
  await call('/auth/2fa/activate', { code: totpAt(secret, Date.now() - 30_000) }, access_token)
  return secret
}

test('an admin allows login --device in a browser elsewhere with both factors, and authctl is signed in', async () => {
  const here = machine()
  const login = here.terminal(`login --device --base-url ${service.url} --email ${admin.email}`, { columns: 200 })
  await login.shows('open this page in a browser: http://localhost:4999/device')
  await login.shows('type this code there: ')
  const seed = await withSecondFactor()
  const visitor = visit({ url: service.url })
  let page = await visitor.get('/device')
  page = await visitor.send(page, 'Sign in', admin)
  page = await visitor.send(page, 'Continue', { two_factor_code: totpAt(seed, Date.now()) })
  const code = /type this code there: (\S+)/.exec(login.screen())![1]!
  page = await visitor.send(page, 'Continue', { user_code: code })
  expect(page.title).toBe('Allow sign-in to authctl?')
  expect(page.html).toContain('authctl')
  page = await visitor.send(page, 'Allow')
  expect(page.title).toBe('The device is signed in')
  expect((await login.ended()).exit).toBe(0)
  expect(parsed(await here.authctl('whoami --json'))).toMatchObject({ email: admin.email, system_admin: true })
})

test('Ctrl-C ends login --device while it waits', async () => {
  const login = machine().terminal(`login --device --base-url ${service.url}`, { columns: 200 })
  await login.shows('type this code there: ')
  login.type('\u0003')
  expect((await login.ended()).exit).toBe(130)
})
