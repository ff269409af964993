import { expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { addMember, buildInvitation, buildOrganization, buildRole } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { countRows, countWrites, isInvitationSpent, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, type Json, someEmail } from '../support/service.ts'

const service = serviceFixture()

// covers register-invitation
test.for(['invite_token', 'invite_code'])(
  'a registration with %s joins the inviting organization with the roles of the invitation',
  async (member) => {
    const app = await buildApp(service)
    const organization = await buildOrganization(service)
    const role = await buildRole(service, 'org')
    const token = await buildInvitation(service, { organizationId: organization.id, roles: ['org_member', role] })
    const { status, body } = await service.register(someEmail(), app.code, { [member]: token })
    expect(status).toBe(201)
    expect(body).toMatchObject({ access: 'pending', user: { email_verified: false } })
    expect(body.organization).toEqual({ ...organization, role_codes: ['org_member', role].sort() })
    expect(await isInvitationSpent(service, token)).toBe(true)
  },
)

test('a valid invitation opens an app with sign-up by invitation, and an invalid one does not', async () => {
  const app = await buildApp(service, { sign_up: 'invitation' })
  const { id: organizationId } = await buildOrganization(service)
  const token = await buildInvitation(service, { organizationId })
  const before = await countWrites(service)
  expect((await service.register(someEmail(), app.code, { invite_code: 'made up' })).body).toMatchObject({
    status: 400,
    code: 'invalid_invitation',
  })
  expect((await service.register(someEmail(), app.code, { invite_code: '' })).body).toMatchObject({
    status: 403,
    code: 'sign_up_closed',
  })
  expect(await countWrites(service)).toEqual(before)
  expect((await service.register(someEmail(), app.code, { invite_code: token })).status).toBe(201)
})

test("an org_admin's invitation opens such an app only while the inviter may enter it", async () => {
  const app = await buildApp(service, { sign_up: 'invitation' })
  const elsewhere = await buildApp(service, { auto_grant_on_signup: true })
  const founder = await buildUser(service, elsewhere)
  await markVerified(service, founder.user.id)
  const { id: organizationId } = await buildOrganization(service)
  await addMember(service, organizationId, founder.user.id, ['org_admin'])
  const invite = async () =>
    (
      await service.call('POST', `/organizations/${organizationId}/invitations`, {
        token: founder.access_token,
        body: { role_codes: ['org_member'], app_code: app.code },
      })
    ).body.token
  const grant = `/admin/users/${founder.user.id}/apps/${app.code}`
  const token = await invite()
  const before = await countWrites(service)
  expectError(await service.register(someEmail(), app.code, { invite_token: token }), 'sign_up_closed')
  // This is then a login, as without an invitation.
  const mode = { mode: 'register_or_login', invite_token: token }
  expectError(await service.register(someEmail(), app.code, mode), 'invalid_credentials')
  expect(await countWrites(service)).toEqual(before)
  // The invitation still makes a member of a user whom another app registers.
  expect((await service.register(someEmail(), elsewhere.code, { invite_token: await invite() })).status).toBe(201)

  await service.admin('POST', grant)
  expect((await service.register(someEmail(), app.code, { invite_token: await invite() })).status).toBe(201)
  await service.admin('DELETE', grant)
  expectError(await service.register(someEmail(), app.code, { invite_token: token }), 'sign_up_closed')
  await service.admin('POST', grant)
  await service.admin('PATCH', `/admin/users/${founder.user.id}`, { body: { status: 'suspended' } })
  expectError(await service.register(someEmail(), app.code, { invite_token: token }), 'sign_up_closed')
})

test('an invitation mailed to the registered address verifies it, in any spelling', async () => {
  const app = await buildApp(service)
  const { id: organizationId } = await buildOrganization(service)
  const email = someEmail()
  const token = await buildInvitation(service, { organizationId, email })
  const { body } = await service.register(` ${email.toUpperCase()} `, app.code, { invite_token: token })
  expect(body.user.email_verified).toBe(true)
  expect((await service.admin('GET', `/admin/users/${body.user.id}`)).body.email_verified).toBe(true)
})

test('an invalid invitation is refused with nothing written, and no other rule applies instead', async () => {
  const organization = await buildOrganization(service)
  const organizationId = organization.id
  const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organizationId })
  const used = await buildInvitation(service, { organizationId })
  expect((await service.register(someEmail(), app.code, { invite_token: used })).status).toBe(201)
  const bad = {
    unknown: 'unknown',
    used,
    expired: await buildInvitation(service, { organizationId, expiresInSeconds: 1 }),
    'for another address': await buildInvitation(service, { organizationId, email: someEmail() }),
    'too long': 'x'.repeat(2_000),
  }
  service.advance(1)
  for (const mode of ['register', 'register_or_login', 'register_or_return']) {
    for (const [fault, invite_token] of Object.entries(bad)) {
      const before = await countWrites(service)
      const email = someEmail()
      const body = { email, password: 'correct horse', app_code: app.code, mode, invite_token, organization_name: 'Own' }
      const reply = await service.admin('POST', '/auth/register', { body })
      expect(reply.body, fault).toMatchObject({ status: 400, code: 'invalid_invitation' })
      expect(await countWrites(service), fault).toEqual(before)
      expect(await countRows(service, 'users', { email })).toBe(0)
    }
  }
})

// covers register-first-match
test('an invitation precedes organization_name and the default organization, and access is still auto-granted', async () => {
  const inviting = await buildOrganization(service)
  const standing = await buildOrganization(service)
  const linked = await buildApp(service)
  const app = await buildApp(service, {
    auto_grant_on_signup: true,
    default_organization_id: standing.id,
    linked_app_codes: [linked.code],
  })
  const token = await buildInvitation(service, { organizationId: inviting.id, roles: ['org_admin'] })
  const { body } = await service.register(someEmail(), app.code, { invite_token: token, organization_name: 'Own' })
  expect(body).toMatchObject({ access: 'granted', organization: { ...inviting, role_codes: ['org_admin'] } })
  const { body: user } = await service.admin('GET', `/admin/users/${body.user.id}`)
  expect(user.organizations).toEqual([body.organization])
  expect(user.apps.map((each: Json) => each.app_code).sort()).toEqual([app.code, linked.code].sort())
})

test('an invitation grants its app only if a system_admin sent it', async () => {
  const { id: organizationId } = await buildOrganization(service)
  const app = await buildApp(service)
  const granting = await buildInvitation(service, { organizationId, appCode: app.code })
  const naming = await buildInvitation(service, { organizationId, appCode: app.code, by: 'org_admin' })
  const granted = await service.register(someEmail(), app.code, { invite_token: granting })
  expect(granted.body).toMatchObject({ access: 'granted', access_token: expect.any(String) })
  const { items } = (await service.admin('GET', `/admin/users/${granted.body.user.id}/apps`)).body
  expect(items).toMatchObject([{ app_code: app.code, status: 'active', granted_via: 'invitation' }])
  const pending = await service.register(someEmail(), app.code, { invite_token: naming })
  expect(pending.body.access).toBe('pending')
  expect(pending.body.access_token).toBeUndefined()
})

test('an invitation that grants the app itself does not prevent grants of its linked apps', async () => {
  const { id: organizationId } = await buildOrganization(service)
  const linked = await buildApp(service)
  const app = await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [linked.code] })
  const token = await buildInvitation(service, { organizationId, appCode: app.code })
  const { body } = await service.register(someEmail(), app.code, { invite_token: token })
  const { items } = (await service.admin('GET', `/admin/users/${body.user.id}/apps`)).body
  expect(items.map((each: Json) => each.app_code).sort()).toEqual([app.code, linked.code].sort())
})

// covers register-whole
test('one of thirty concurrent uses of an invitation wins, and the others leave no user', async () => {
  const { id: organizationId } = await buildOrganization(service)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const token = await buildInvitation(service, { organizationId })
  const emails = Array.from({ length: 30 }, someEmail)
  const replies = await Promise.all(emails.map((email) => service.register(email, app.code, { invite_token: token })))
  const winners = replies.filter((reply) => reply.status === 201)
  expect(winners).toHaveLength(1)
  for (const reply of replies)
    if (reply.status !== 201) expect(reply.body).toMatchObject({ status: 400, code: 'invalid_invitation' })
  const rows: Json[] = await service.deps.db('organization_memberships').where({ organization_id: organizationId })
  expect(rows.map((row) => row.user_id)).toEqual([winners[0]!.body.user.id])
  expect(await service.deps.db('users').whereIn('email', emails).pluck('email')).toEqual([winners[0]!.body.user.email])
})

test('register_or_login of an existing user accepts the invitation only with the right password', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const organization = await buildOrganization(service)
  const token = await buildInvitation(service, {
    organizationId: organization.id,
    roles: ['org_admin'],
    email: user.email,
  })
  const mode = 'register_or_login'
  const wrong = await service.register(user.email, app.code, { mode, invite_token: token, password: 'not this password' })
  expect(wrong.body).toMatchObject({ status: 401, code: 'invalid_credentials' })
  expect(await isInvitationSpent(service, token)).toBe(false)

  const { status, body } = await service.register(user.email, app.code, { mode, invite_token: token })
  expect(status).toBe(200)
  expect(body).toMatchObject({ created: false, access: 'granted', organization: { ...organization, role_codes: ['org_admin'] } })
  expect(body.user.email_verified).toBe(true)
  expect((await service.admin('GET', `/admin/users/${user.id}`)).body.organizations).toEqual([body.organization])
  const again = await service.register(user.email, app.code, { mode, invite_token: token })
  expect(again.body).toMatchObject({ status: 400, code: 'invalid_invitation' })
})

test('a refused register_or_login spends no invitation, and an invitation that grants the app admits the user', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const { id: organizationId } = await buildOrganization(service)
  const naming = await buildInvitation(service, { organizationId, appCode: app.code, by: 'org_admin' })
  const before = await countWrites(service)
  const refused = await service.register(user.email, app.code, { mode: 'register_or_login', invite_token: naming })
  expect(refused.body).toMatchObject({ status: 403, code: 'app_access_denied' })
  expect(await countWrites(service)).toEqual(before)
  const granting = await buildInvitation(service, { organizationId, appCode: app.code })
  const admitted = await service.register(user.email, app.code, { mode: 'register_or_login', invite_token: granting })
  expect(admitted.body).toMatchObject({ created: false, access: 'granted', access_token: expect.any(String) })
})

test('an existing user who joins by invitation does not join the default organization as well', async () => {
  const { user } = await buildUser(service, await buildApp(service))
  const standing = await buildOrganization(service)
  const inviting = await buildOrganization(service)
  const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: standing.id })
  const token = await buildInvitation(service, { organizationId: inviting.id })
  const { body } = await service.register(user.email, app.code, { mode: 'register_or_login', invite_token: token })
  expect(body.access).toBe('granted')
  const { body: detail } = await service.admin('GET', `/admin/users/${user.id}`)
  expect(detail.organizations.map((each: Json) => each.slug)).toEqual([inviting.slug])
})

test('an accepted invitation never changes an existing membership', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const { id: organizationId } = await buildOrganization(service)
  await addMember(service, organizationId, user.id, ['org_member'])
  const token = await buildInvitation(service, { organizationId, roles: ['org_admin'] })
  const { body } = await service.register(user.email, app.code, { mode: 'register_or_login', invite_token: token })
  expect(body.organization.role_codes).toEqual(['org_member'])
})
