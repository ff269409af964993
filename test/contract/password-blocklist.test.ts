import { beforeAll, describe, expect, test } from 'vitest'
import { commonPasswords } from '../../packages/server/src/adapters/password-blocklist.ts'
import { createSystemAdmin } from '../../packages/server/src/flows/bootstrap/bootstrap.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { productionSettings } from '../support/app-fixtures.ts'
import { createDatabase } from '../support/database.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { runGatehouse } from '../support/server-process.ts'
import {
  ADMIN_EMAIL,
  anyLine,
  buildApp,
  buildService,
  type Json,
  PASSWORD,
  someEmail,
  type TestService,
  testDatabase,
} from '../support/service.ts'

describe('the blocklist turned on', () => {
  let service: TestService
  let app: Json
  beforeAll(async () => {
    service = await buildService({ AUTH_PASSWORD_BLOCKLIST: 'on' }, onFileEnd)
    app = await buildApp(service, { auto_grant_on_signup: true })
  })

  test.each(['password', '12345678', 'qwertyuiop', 'iloveyou', 'Password1', 'PASSWORD123', 'p@sSw0rD', 'TrustNo1'])(
    'the password %s is refused at registration in any case, and is not echoed',
    async (password) => {
      const users = await countRows(service, 'users')
      for (const mode of ['register', 'register_or_login']) {
        const reply = await service.register(someEmail(), app.code, { password, mode })
        expectError(reply, 'validation_failed')
        expect(faultsOf(reply)).toEqual(['password: too_common'])
        const { title, detail, errors } = reply.body
        // The reply is the same, whichever password was refused.
        expect([title, detail, errors[0].message]).toEqual([
          'The request is not valid',
          'password: is one of the most common passwords',
          'is one of the most common passwords',
        ])
      }
      expect(await countRows(service, 'users')).toBe(users)
    },
  )

  test('every password on the list is refused, and passwords similar to one are not', async () => {
    const list = [...commonPasswords()]
    for (let index = 0; index < list.length; index += 499) {
      const reply = await service.register(someEmail(), app.code, { password: list[index]!.toUpperCase() })
      expect(faultsOf(reply)).toEqual(['password: too_common'])
    }
    for (const password of [PASSWORD, 'password and more of it', ' password', 'password ', 'pässword', '1234567890-and-a-half']) {
      expect((await service.register(someEmail(), app.code, { password })).status, password).toBe(201)
    }
  })

  test('a user who already has a common password signs in with it', async () => {
    const { user } = (await service.register(someEmail(), app.code)).body
    const password_hash = await service.deps.passwords.hash('password1', anyLine)
    await service.deps.db('users').where({ id: user.id }).update({ password_hash })
    expect((await service.login(user.email, app.code, { password: 'password1' })).status).toBe(200)
    const entered = await service.register(user.email, app.code, { password: 'password1', mode: 'register_or_login' })
    expect(entered.status).toBe(200)
  })

  test('an admin cannot be created with a common password, and an existing user is promoted without one', async () => {
    const { user } = (await service.register(someEmail(), app.code)).body
    await markVerified(service, user.id)
    const make = (email: string, password: string | undefined, promote = false) =>
      createSystemAdmin(service.deps, { email, password, promote, unlessOneExists: false }, systemActor)
    await expect(make(someEmail(), 'Password1')).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'password', code: 'too_common' }],
    })
    expect(await make(user.email, undefined, true)).toBe('promoted')
    expect(await make(someEmail(), PASSWORD)).toBe('created')
  })
})

test('without the blocklist, the default outside production, any password of sufficient length is accepted', async () => {
  for (const settings of [{}, { AUTH_PASSWORD_BLOCKLIST: 'off' }] as Record<string, string>[]) {
    const service = await buildService(settings)
    const app = await buildApp(service)
    expect((await service.register(someEmail(), app.code, { password: 'password' })).status).toBe(201)
  }
})

test('the blocklist is on by default in production', async () => {
  const service = await buildService(productionSettings)
  const redirects = { allowed_redirect_urls: ['https://app.example.com/*'] }
  const app = await buildApp(service, redirects)
  expect(faultsOf(await service.register(someEmail(), app.code, { password: 'password' }))).toEqual(['password: too_common'])
})

test('create-admin and the first admin refuse a common password in one line that does not show it', async () => {
  const database = await createDatabase(testDatabase())
  const settings = { DATABASE_URL: database.url, AUTH_PASSWORD_BLOCKLIST: 'on' }
  const bootstrap = { AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL, AUTH_BOOTSTRAP_ADMIN_PASSWORD: 'Sunshine1' }
  for (const outcome of [
    await runGatehouse(['create-admin', '--email', ADMIN_EMAIL, '--password-stdin'], settings, 'Sunshine1\n'),
    await runGatehouse(['serve'], { ...settings, ...bootstrap }),
  ]) {
    expect(outcome.code).toBe(1)
    expect(outcome.stderr).toBe('gatehouse: password: is one of the most common passwords\n')
    expect(outcome.stdout).not.toContain('unshine1')
  }
  await database.drop()
})
