// A stranger registers the address of someone else and waits: what such an account can be given,
// and what the owner of the address finds.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { PasswordHasher } from '../../packages/server/src/adapters/password-hasher.ts'
import { createSystemAdmin } from '../../packages/server/src/flows/bootstrap/bootstrap.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildOrganization, buildRole } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { ADMIN_EMAIL, anyLine, buildApp, buildUser, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { type Authenticator, enableTwoFactor, loginWithCode } from '../support/totp.ts'

const IMPORTED = 'the password of the import'
/** The hash of IMPORTED. */
let hash: string
const { service, mailbox } = mailingFixture({}, { frozen: true })
const app = appFixture(service)
beforeAll(async () => {
  const hasher = new PasswordHasher({ cost: 5, threads: 1 })
  hash = await hasher.hash(IMPORTED, anyLine)
  await hasher.close()
})

const show = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body
const consume = (token: string, extra: Json = {}) =>
  service.call('POST', '/auth/magic-link/consume', { body: { token, ...extra } })
const give = (id: string, role_code: string) => service.admin('POST', `/admin/users/${id}/roles`, { body: { role_code } })
const verify = (token: string, extra: Json = { password: PASSWORD }) =>
  service.call('POST', '/auth/email/verify', { body: { token, ...extra } })
/** Opens the link of the first mail, as the owner of an address might who does not know of the account. */
const click = async (email: string) => {
  const { status, body } = await verify((await mailbox.take(email, /^Confirm/)).token, {})
  expect([status, body.user.email_verified]).toEqual([200, true])
}
const load = (line: Json, query = ''): Promise<Reply> =>
  service.admin('POST', `/admin/users/import${query}`, {
    body: JSON.stringify(line),
    headers: { 'content-type': 'application/x-ndjson' },
  })

async function ask(email: string, through = app): Promise<Mail> {
  await service.call('POST', '/auth/magic-link', { body: { email, app_code: through.code } })
  return mailbox.take(email, /^Sign in to/)
}

interface Planted {
  user: Json
  tokens: Json
  authenticator: Authenticator
  /** A link that was mailed and not used. */
  openLink: string
  invitation: string
  organization: Json
}

/**
 * An account that a stranger registered, with everything that a stranger can put into it. With `isClicked`, the owner of the
 * address has clicked the link of the first mail.
 */
async function plant({ isClicked = false } = {}): Promise<Planted> {
  const tokens = await buildUser(service, app, {
    organization_name: 'Trap',
    first_name: 'Eve',
    last_name: 'Stranger',
    // Its mails stay English.
    locale: 'zh',
  })
  const { user, organization } = tokens
  const authenticator = await enableTwoFactor(service, tokens.access_token)
  // Inviting needs a verified address. Earlier versions let others invite, so such invitations may exist.
  await markVerified(service, user.id)
  const invited = await service.call('POST', `/organizations/${organization.id}/invitations`, {
    token: tokens.access_token,
    body: { role_codes: ['org_admin'] },
  })
  await service.deps
    .db('users')
    .where({ id: user.id })
    .update({ email_verified_at: null, first_verified_at: null, mailbox_proven_at: null })
  const other = await buildOrganization(service)
  await service.admin('PUT', `/admin/organizations/${other.id}/members/${user.id}`, { body: { role_codes: ['org_member'] } })
  await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: app.code } })
  const openLink = (await mailbox.take(user.email, /^Set a new password/)).token
  if (isClicked) await click(user.email)
  return { user, tokens, authenticator, openLink, invitation: invited.body.token, organization }
}

/** Asserts that nothing of what the stranger put in is left or lets anyone in. */
async function expectStripped({ user, tokens, authenticator, openLink, invitation, organization }: Planted): Promise<void> {
  const { access_token: token, refresh_token } = tokens
  expectError(await service.call('GET', '/auth/me', { token }), 'token_revoked')
  expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token } }), 'invalid_refresh_token')
  expectError(await service.login(user.email, app.code), 'invalid_credentials')
  expectError(await loginWithCode(service, user, app, authenticator.code()), 'invalid_credentials')
  expectError(
    await service.call('POST', '/auth/password/reset', { body: { token: openLink, password: 'another one of the stranger' } }),
    'invalid_token',
  )
  const someone = await buildUser(service, app)
  const accepted = await service.call('POST', '/auth/invitations/accept', {
    token: someone.access_token,
    body: { token: invitation },
  })
  expectError(accepted, 'invalid_invitation')
  const shown = await show(user.id)
  expect(shown).toMatchObject({ organizations: [], apps: [{ app_code: app.code, status: 'active' }] })
  expect(['Eve', 'Stranger']).not.toContain(shown.first_name)
  const members = await service.admin('GET', `/admin/organizations/${organization.id}/members`)
  expect(members.body.items).toEqual([])
  for (const table of ['user_identities', 'recovery_codes', 'organization_memberships'])
    expect(await countRows(service, table, { user_id: user.id }), table).toBe(0)
  expect(await countRows(service, 'mail_tokens', { user_id: user.id, spent_at: null })).toBe(0)
}

/** Asserts that nothing was taken away: the first token, the password and the second factor are as they were. */
async function expectUntouched(user: Json, token: string, authenticator: Authenticator, password = PASSWORD): Promise<void> {
  expect((await service.call('GET', '/auth/me', { token })).body.two_factor).toBe(true)
  service.advance(30)
  expect((await loginWithCode(service, user, app, undefined, password)).body).toEqual({ requires_2fa: true })
  expect((await loginWithCode(service, user, app, authenticator.code(), password)).status).toBe(200)
  expect(await auditEvents(service, { user_id: user.id, event: 'credentials.removed' })).toEqual([])
}

describe('a magic link', () => {
  test('a magic link to the first admin, who never read a mail, asks for the second factor and removes nothing', async () => {
    await service.admin('GET', '/admin/apps')
    const user = { email: ADMIN_EMAIL }
    const { access_token: token, user: admin } = (await service.login(ADMIN_EMAIL, app.code)).body
    expect(await show(admin.id)).toMatchObject({ email_verified: true, made_by: 'bootstrap' })
    const authenticator = await enableTwoFactor(service, token)
    const { token: link } = await ask(ADMIN_EMAIL, { code: 'authctl' })
    expect((await consume(link)).body).toEqual({ requires_2fa: true })
    await expectUntouched({ ...user, id: admin.id }, token, authenticator)
    service.advance(30)
    expect((await consume(link, { two_factor_code: authenticator.code() })).status).toBe(200)
    service.advance(30)
    const off = { token, body: { password: PASSWORD, code: authenticator.code() } }
    expect((await service.call('POST', '/auth/2fa/disable', off)).status).toBe(204)
  })

  test('a magic link to a user made by an admin asks for the second factor, removes nothing and verifies the address', async () => {
    const role = await buildRole(service, 'global')
    for (const roles of [[], [role], ['system_admin']]) {
      const email = `made-${randomUUID()}@example.com`
      const { body: user } = await service.admin('POST', '/admin/users', { body: { email, password: PASSWORD, roles } })
      expect(user).toMatchObject({ email_verified: false, made_by: 'admin' })
      await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
      const { access_token: token } = (await service.login(email, app.code)).body
      const authenticator = await enableTwoFactor(service, token)
      const { token: link } = await ask(email)
      expect((await consume(link)).body).toEqual({ requires_2fa: true })
      await expectUntouched(user, token, authenticator)
      service.advance(30)
      const entered = await consume(link, { two_factor_code: authenticator.code() })
      expect([entered.status, entered.body.user.email_verified]).toEqual([200, true])
      expect(await auditEvents(service, { user_id: user.id, event: 'email.verified' })).toHaveLength(1)
    }
  })

  test('a magic link to an imported user with an unverified address asks for the second factor and removes nothing', async () => {
    const email = `imported-${randomUUID()}@example.com`
    await load({ email, password_hash: hash, apps: [app.code] })
    const { access_token: token, user } = (await service.login(email, app.code, { password: IMPORTED })).body
    const authenticator = await enableTwoFactor(service, token)
    expect((await consume((await ask(email)).token)).body).toEqual({ requires_2fa: true })
    await expectUntouched(user, token, authenticator, IMPORTED)
  })

  test('a magic link to a user verified under a former address asks for the second factor and removes nothing', async () => {
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    await verify((await mailbox.take(user.email)).token)
    const authenticator = await enableTwoFactor(service, token)
    const email = `moved-${user.email}`
    const moved = await service.admin('PATCH', `/admin/users/${user.id}`, { body: { email } })
    expect(moved.body).toMatchObject({ email_verified: false, made_by: 'self' })
    // The token with the old address is dead, the session is not.
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expect((await consume((await ask(email)).token)).body).toEqual({ requires_2fa: true })
    await expectUntouched({ ...user, email }, refreshed.body.access_token, authenticator)
  })

  test('a magic link to an unproven account with a global role asks for the second factor and removes nothing', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    expect((await give(user.id, await buildRole(service, 'global'))).status).toBe(201)
    const authenticator = await enableTwoFactor(service, token)
    expect((await consume((await ask(user.email)).token)).body).toEqual({ requires_2fa: true })
    await expectUntouched(user, token, authenticator)
  })

  test.each([
    ['that nobody has verified', false],
    ['whose address was verified by the link alone', true],
  ])(
    'a magic link takes over an unproven account %s, removes what a stranger put into it, and keeps grants',
    async (_, isClicked) => {
      const planted = await plant({ isClicked })
      const { user } = planted
      const { status, body } = await consume((await ask(user.email)).token)
      expect([status, body.user]).toEqual([200, { ...user, email_verified: true, first_name: null, last_name: null }])
      await expectStripped(planted)
      const me = await service.call('GET', '/auth/me', { token: body.access_token })
      expect(me.body).toMatchObject({ organizations: [], locale: null, two_factor: false, user: { first_name: null } })
      const [lost] = await auditEvents(service, { user_id: user.id, event: 'credentials.removed' })
      expect(lost.details).toEqual({
        ...{ password: true, two_factor: true, passkeys: 0, identities: 0, memberships: 2, invitations: 1, names: true },
      })
      expect(await auditEvents(service, { user_id: user.id, event: 'membership.deleted' })).toHaveLength(2)
    },
  )

  test('a magic link with the password of an unproven account proves it, removes nothing and asks for its second factor', async () => {
    for (const isClicked of [false, true]) {
      const { user, tokens, authenticator } = await plant({ isClicked })
      const { token } = await ask(user.email)
      expectError(await consume(token, { password: 'a guess' }), 'invalid_credentials')
      expect((await consume(token, { password: PASSWORD })).body).toEqual({ requires_2fa: true })
      service.advance(30)
      const entered = await consume(token, { password: PASSWORD, two_factor_code: authenticator.code() })
      expect([entered.status, entered.body.user.email_verified]).toEqual([200, true])
      await expectUntouched(user, tokens.access_token, authenticator)
      expect((await show(user.id)).organizations).toHaveLength(2)
      // The account is proven from now on.
      expect((await consume((await ask(user.email)).token)).body).toEqual({ requires_2fa: true })
      expect((await give(user.id, 'super_admin')).status).toBe(201)
    }
  })

  test('a magic link refuses a password that is not a text, and any password for an account that has none', async () => {
    const email = someEmail()
    await service.admin('POST', '/admin/users', { body: { email } })
    const { token } = await ask(email)
    for (const password of ['', null, 12345678]) expectError(await consume(token, { password }), 'validation_failed')
    expectError(await consume(token, { password: PASSWORD }), 'invalid_credentials')
    expect((await consume(token)).status).toBe(200)
  })

  test('a magic link with wrong passwords locks what logins lock, and still works without a password', async () => {
    const { user } = await buildUser(service, app)
    const { token } = await ask(user.email)
    for (let count = 0; count < 10; count += 1) expectError(await consume(token, { password: 'a guess' }), 'invalid_credentials')
    expectError(await consume(token, { password: PASSWORD }), 'account_locked')
    expectError(await service.login(user.email, app.code), 'account_locked')
    expect((await consume(token)).status).toBe(200)
  })

  test('a magic link also removes a second factor whose set-up a stranger had only begun', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    await service.call('POST', '/auth/2fa/setup', { token })
    expect((await consume((await ask(user.email)).token)).status).toBe(200)
    expect(await countRows(service, 'second_factors', { user_id: user.id })).toBe(0)
  })
})

describe('a reset of an unproven account', () => {
  const reset = async (email: string) => {
    await service.call('POST', '/auth/password/forgot', { body: { email, app_code: app.code } })
    const { token } = await mailbox.take(email, /^Set a new password/)
    return service.call('POST', '/auth/password/reset', { body: { token, password: IMPORTED } })
  }

  test.each([false, true])(
    'a reset removes what a magic link removes, but keeps the second factor, also after a click (%s)',
    async (isClicked) => {
      const planted = await plant({ isClicked })
      const { user, authenticator } = planted
      expect((await reset(user.email)).status).toBe(204)
      const login = (code?: string) => loginWithCode(service, user, app, code, IMPORTED)
      expect((await login()).body).toEqual({ requires_2fa: true })
      expect((await login(authenticator.code())).status).toBe(200)
      expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(10)
      await service.deps.db('recovery_codes').where({ user_id: user.id }).delete()
      await expectStripped(planted)
    },
  )

  test('a reset verifies the address, and removes no membership and no name of a proven account', async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildUser(service, app, { first_name: 'Ada' })
    expect((await reset(user.email)).status).toBe(204)
    expect(await show(user.id)).toMatchObject({ email_verified: true, first_name: null })
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Ada' } })
    const member = `/admin/organizations/${organization.id}/members/${user.id}`
    await service.admin('PUT', member, { body: { role_codes: ['org_member'] } })
    expect((await reset(user.email)).status).toBe(204)
    expect(await show(user.id)).toMatchObject({ first_name: 'Ada', organizations: [{ id: organization.id }] })
  })
})

describe('an import', () => {
  test.each([false, true])(
    'an import fails for an unproven account and changes nothing of it, also after a click (%s)',
    async (isClicked) => {
      const planted = await plant({ isClicked })
      const { user, tokens, authenticator } = planted
      const before = await show(user.id)
      for (const line of [{ roles: ['system_admin'] }, { tags: ['staff'] }, {}]) {
        for (const query of ['', '?dry_run=true', '?claim_unverified=false']) {
          const { status, body } = await load({ email: user.email, password_hash: hash, ...line }, query)
          expect([status, body]).toEqual([
            200,
            {
              ...{ imported: 0, updated: 0, unchanged: 0, failed: 1 },
              errors: [{ line: 1, code: 'account_unverified', message: expect.stringContaining(user.id) }],
            },
          ])
        }
      }
      expect(await show(user.id)).toEqual(before)
      await expectUntouched(user, tokens.access_token, authenticator)
    },
  )

  test('an import with claim_unverified takes over the account and applies the line as for a new user', async () => {
    const planted = await plant()
    const { user } = planted
    const line = {
      ...{ email: user.email, password_hash: hash, first_name: 'Ada', email_verified: true },
      ...{ tags: ['staff'], roles: ['system_admin'] },
    }
    const rows = () => service.deps.db('users').where({ id: user.id }).first()
    const before = await rows()
    const counts = { imported: 0, updated: 1, unchanged: 0, failed: 0, errors: [] }
    expect((await load(line, '?claim_unverified=true&dry_run=true')).body).toEqual(counts)
    expect(await rows()).toEqual(before)
    expect((await load(line, '?claim_unverified=true')).body).toEqual(counts)
    const shown = await show(user.id)
    expect(shown).toMatchObject({
      ...{ email_verified: true, first_name: 'Ada', last_name: null, made_by: 'import' },
      ...{ roles: ['base_user', 'system_admin'], namespaces: ['default', 'staff'] },
    })
    await expectStripped(planted)
    expect((await service.login(user.email, app.code, { password: IMPORTED })).status).toBe(200)
    const [imported] = await auditEvents(service, { user_id: user.id, event: 'user.imported' })
    expect(imported.details).toMatchObject({ claimed: true, before: { roles: ['base_user'] }, after: { email_verified: true } })
    expect((await load(line, '?claim_unverified=true')).body).toMatchObject({ unchanged: 1 })
    expect((await load(line)).body).toMatchObject({ unchanged: 1 })
  })

  test('an import takes over an account once, by the first good line, also in a dry run, and other lines add to it', async () => {
    for (const query of ['&dry_run=true', '']) {
      const { user } = await buildUser(service, app)
      const lines = [
        { email: user.email, roles: ['no_such_role'] },
        { email: user.email, password_hash: hash },
        { email: user.email, tags: ['later'], password_hash: hash.replace(/.$/, '.') },
        { email: user.email },
      ]
      const { body } = await service.admin('POST', `/admin/users/import?claim_unverified=true${query}`, {
        body: lines.map((line) => JSON.stringify(line)).join('\n'),
        headers: { 'content-type': 'application/x-ndjson' },
      })
      expect(body).toMatchObject({ imported: 0, updated: 2, unchanged: 1, failed: 1, errors: [{ line: 1 }] })
      if (query !== '') continue
      expect((await service.login(user.email, app.code, { password: IMPORTED })).status).toBe(200)
      expect((await show(user.id)).namespaces).toEqual(['default', 'later'])
      expect(await auditEvents(service, { user_id: user.id, event: 'credentials.removed' })).toHaveLength(1)
    }
  })
})

describe('system_admin and super_admin', () => {
  test.each(['system_admin', 'super_admin'])('%s is refused to an unproven account until it is proven', async (role) => {
    const { user } = await buildUser(service, app)
    expectError(await give(user.id, role), 'account_unverified')
    await click(user.email)
    expectError(await give(user.id, role), 'account_unverified')
    expect((await show(user.id)).roles).toEqual(['base_user'])
    await consume((await ask(user.email)).token, { password: PASSWORD })
    expect((await give(user.id, role)).status).toBe(201)
  })

  test('super_admin can be given to users whom an operator made or who were verified once', async () => {
    const email = `made-${randomUUID()}@example.com`
    const { body: made } = await service.admin('POST', '/admin/users', { body: { email } })
    expect((await give(made.id, 'super_admin')).status).toBe(201)
    const { user } = await buildUser(service, app)
    await verify((await mailbox.take(user.email)).token)
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { email: `moved-${user.email}` } })
    expect((await give(user.id, 'super_admin')).status).toBe(201)
  })
})

describe('create-admin --promote', () => {
  const promote = (email: string, extra: { claimsUnproven?: boolean; password?: string } = {}) =>
    createSystemAdmin(service.deps, { email, password: undefined, promote: true, unlessOneExists: false, ...extra }, systemActor)

  test('create-admin --promote refuses an unproven account', async () => {
    const { user } = await buildUser(service, app)
    await expect(promote(user.email)).rejects.toMatchObject({ code: 'account_unverified' })
    expect((await show(user.id)).roles).toEqual(['base_user'])
    await verify((await mailbox.take(user.email)).token)
    expect(await promote(user.email)).toBe('promoted')
  })

  test('create-admin --promote --claim-unverified takes over the account, with the given password or none', async () => {
    for (const password of [undefined, IMPORTED]) {
      const planted = await plant()
      const { user } = planted
      expect(await promote(user.email, { claimsUnproven: true, ...(password ? { password } : {}) })).toBe('claimed')
      expect(await show(user.id)).toMatchObject({
        made_by: 'bootstrap',
        email_verified: true,
        roles: ['base_user', 'system_admin'],
      })
      await expectStripped(planted)
      expect((await service.login(user.email, app.code, { password: IMPORTED })).status).toBe(password ? 200 : 401)
    }
  })
})

test('a login finds the proven one of two accounts with the same address, whichever pool comes first', async () => {
  const [first, second] = [`pool-${randomUUID()}`, `pool-${randomUUID()}`]
  const into = (namespace: string) => buildApp(service, { registration_namespace: namespace, auto_grant_on_signup: true })
  const [trap, home] = [await into(first), await into(second)]
  const email = someEmail()
  const owner = (await service.register(email, home.code, { password: IMPORTED })).body.user
  await verify((await mailbox.take(email)).token, { password: IMPORTED })
  await service.register(email, trap.code)
  await click(email)
  const both = await buildApp(service, { registration_namespace: first, read_namespaces: [second], auto_grant_on_signup: true })
  const login = await service.login(email, both.code, { password: IMPORTED })
  expect([login.status, login.body.user?.id]).toEqual([200, owner.id])
})

test('a stranger who registers an address cannot have its owner mailed again and again', async () => {
  const notices = (email: string) => mailbox.mailsTo(email).filter(({ subject }) => !/^Confirm/.test(subject))
  const email = someEmail()
  for (let i = 0; i < 6; i += 1) {
    const token = (await service.register(email, app.code)).body.access_token
    expect((await service.call('DELETE', '/auth/me', { token, body: { password: PASSWORD } })).status).toBe(204)
  }
  await allSent(service)
  expect(notices(email).map(({ subject }) => subject)).toEqual(
    Array(3).fill(expect.stringMatching(/^Your account for .* was deleted$/)),
  )

  // Nor by changes of one account, until the account is proven.
  const { user, access_token } = await buildUser(service, app)
  let [token, password] = [access_token, PASSWORD]
  const change = async () => {
    const body = { current_password: password, new_password: `${PASSWORD} ${randomUUID()}` }
    const reply = await service.call('POST', '/auth/password/change', { token, body })
    ;[token, password] = [reply.body.access_token, body.new_password]
  }
  for (let i = 0; i < 5; i += 1) await change()
  await enableTwoFactor(service, token)
  await allSent(service)
  expect(notices(user.email)).toHaveLength(3 + 1)
  await markVerified(service, user.id)
  for (let i = 0; i < 5; i += 1) await change()
  await allSent(service)
  expect(notices(user.email)).toHaveLength(3 + 1 + 5)
})

test('a founder can invite once their own address is proven, and not after a click alone', async () => {
  const { user, organization, access_token: token } = await buildUser(service, app, { organization_name: 'Trap' })
  const invite = () =>
    service.call('POST', `/organizations/${organization.id}/invitations`, { token, body: { role_codes: ['org_member'] } })
  await click(user.email)
  expectError(await invite(), 'email_unverified')
  expect((await consume((await ask(user.email)).token, { password: PASSWORD })).status).toBe(200)
  expect((await invite()).status).toBe(201)
})

test('what an admin gives to an unproven account comes with a warning, and to a proven one without', async () => {
  const [unproven, proven] = [await buildUser(service, app), await buildUser(service, app)]
  await click(unproven.user.email)
  await markVerified(service, proven.user.id)
  const other = await buildApp(service)
  const organization = await buildOrganization(service)
  const role = await buildRole(service, 'global')
  for (const [{ user }, warnings] of [
    [unproven, [{ code: 'account_unverified' }]],
    [proven, undefined],
  ] as const) {
    for (const [method, path, body] of [
      ['POST', `/admin/users/${user.id}/apps/${other.id}`, {}],
      ['POST', `/admin/users/${user.id}/roles`, { role_code: role }],
      ['PUT', `/admin/organizations/${organization.id}/members/${user.id}`, { role_codes: ['org_member'] }],
    ] as const) {
      for (const status of [201, 200]) {
        const reply = await service.admin(method, path, { body })
        expect([reply.status, reply.body.warnings], path).toEqual([status, warnings])
      }
    }
  }
})
