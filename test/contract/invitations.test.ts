import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { addMember, buildOrganization, buildRole } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents, countRows, countWrites, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, someEmail, type TestService } from '../support/service.ts'

const daySeconds = 24 * 60 * 60

const service = serviceFixture()
/** Grants access to every user. */
const app = appFixture(service)

const invitationsOf = (organization: Json, rest = '') => `/admin/organizations/${organization.id}/invitations${rest}`
const invite = (organization: Json, body: Json = {}) =>
  service.admin('POST', invitationsOf(organization), { body: { role_codes: ['org_member'], ...body } })
const accept = (token: string, bearer: string) =>
  service.call('POST', '/auth/invitations/accept', { body: { token }, token: bearer })

/** A user with access to the app. An org_admin also gets a verified address, and so may invite. */
async function buildMember(organization?: Json, ...role_codes: string[]): Promise<{ user: Json; token: string }> {
  const { user, access_token } = await buildUser(service, app)
  if (organization)
    await service.admin('PUT', `/admin/organizations/${organization.id}/members/${user.id}`, { body: { role_codes } })
  if (role_codes.includes('org_admin')) await markVerified(service, user.id)
  return { user, token: access_token }
}

async function describeUser(user: Json): Promise<Json> {
  return (await service.admin('GET', `/admin/users/${user.id}`)).body
}

async function listed(organization: Json, id: string): Promise<Json> {
  const { items } = (await service.admin('GET', invitationsOf(organization))).body
  return items.find((each: Json) => each.id === id)
}

/** Every row of every table that could hold a token, as text. */
async function stored(): Promise<string> {
  const tables = ['invitations', 'audit_events', 'outbox']
  return JSON.stringify(await Promise.all(tables.map((table) => service.deps.db(table))))
}

describe('an invitation', () => {
  test('an invitation is created with a token shown once, listed without it and accepted, and every step is audited', async () => {
    const organization = await buildOrganization(service)
    const invited = await buildMember()
    const role = await buildRole(service, 'org')
    const email = invited.user.email
    const before = service.deps.clock()
    const { status, body, headers } = await invite(organization, {
      email: ` ${email.toUpperCase()} `,
      role_codes: [role, 'org_member', role],
      app_code: app.code,
    })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    const { token, code, ...record } = body
    expect(token).toMatch(/^gin_[A-Za-z0-9_-]{43}$/)
    expect(code).toBe(token)
    expect(record).toEqual({
      id: expect.any(String),
      organization_id: organization.id,
      email,
      role_codes: ['org_member', role].sort(),
      app_code: app.code,
      grants_app: true,
      status: 'pending',
      invited_by: expect.any(String),
      created_at: expect.any(String),
      expires_at: expect.any(String),
      accepted_at: null,
      accepted_by: null,
    })
    expect(Date.parse(record.expires_at) - Date.parse(record.created_at)).toBe(7 * daySeconds * 1000)
    expect(Date.parse(record.created_at)).toBeGreaterThanOrEqual(before)
    const list = await service.admin('GET', invitationsOf(organization))
    expect(list.body).toEqual({ items: [record], next_cursor: null })

    const accepted = await accept(token, invited.token)
    expect(accepted.status).toBe(200)
    const { id, slug, name } = organization
    expect(accepted.body).toEqual({ organization: { id, slug, name, role_codes: record.role_codes } })
    expect((await describeUser(invited.user)).organizations).toEqual([accepted.body.organization])
    expect(await listed(organization, record.id)).toEqual({
      ...record,
      status: 'accepted',
      accepted_at: expect.any(String),
      accepted_by: invited.user.id,
    })
    expect((await service.admin('DELETE', invitationsOf(organization, `/${record.id}`))).status).toBe(204)
    expect((await describeUser(invited.user)).organizations).toHaveLength(1)

    const events = (await auditEvents(service, {})).filter((each) => JSON.stringify(each.details ?? null).includes(record.id))
    expect(events).toMatchObject([
      { event: 'invitation.created', actor_id: record.invited_by, details: { after: record } },
      { event: 'invitation.accepted', actor_id: invited.user.id, user_id: invited.user.id },
      { event: 'invitation.deleted', actor_id: record.invited_by, details: { before: { status: 'accepted' } } },
    ])
    expect(await stored()).not.toContain(token.slice(4))
  })

  test('an invitation expires at the requested time, and its status says so', async () => {
    const organization = await buildOrganization(service)
    const invited = await buildMember()
    const { body } = await invite(organization, { expires_in_seconds: 60 })
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(60_000)
    service.advance(60)
    expect(await listed(organization, body.id)).toMatchObject({ status: 'expired', accepted_at: null })
    expectError(await accept(body.token, invited.token), 'invalid_invitation')
    expect((await describeUser(invited.user)).organizations).toEqual([])
  })

  test('a withdrawn invitation is not accepted', async () => {
    const [organization, other] = [await buildOrganization(service), await buildOrganization(service)]
    const invited = await buildMember()
    const { body } = await invite(organization)
    expectError(await service.admin('DELETE', invitationsOf(other, `/${body.id}`)), 'not_found')
    expect((await service.admin('DELETE', invitationsOf(organization, `/${body.id}`))).status).toBe(204)
    expectError(await service.admin('DELETE', invitationsOf(organization, `/${body.id}`)), 'not_found')
    expectError(await accept(body.token, invited.token), 'invalid_invitation')
    expect(await listed(organization, body.id)).toBeUndefined()
  })

  test('the invitations of one organization are listed newest first, page by page', async () => {
    const [organization, other] = [await buildOrganization(service), await buildOrganization(service)]
    const made: string[] = []
    for (let n = 0; n < 5; n += 1) made.unshift((await invite(organization)).body.id)
    await invite(other)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = `?limit=2${cursor ? `&cursor=${cursor}` : ''}`
      const { body }: { body: Json } = await service.admin('GET', invitationsOf(organization, query))
      seen.push(...body.items.map((each: Json) => each.id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(made)
  })

  test.for<[Json, string[]]>([
    [{ role_codes: [] }, ['role_codes: too_short']],
    [{ role_codes: undefined }, ['role_codes: required']],
    [{ role_codes: ['nope', 'org_member', 'system_admin'] }, ['role_codes.0: invalid_value', 'role_codes.2: invalid_value']],
    [{ app_code: 'no-such-app' }, ['app_code: invalid_value']],
    [{ email: 'no address' }, ['email: invalid_value']],
    [{ expires_in_seconds: 0 }, ['expires_in_seconds: too_short']],
    [{ expires_in_seconds: 90 * daySeconds + 1 }, ['expires_in_seconds: too_long']],
    [{ expires_in_seconds: 1.5 }, ['expires_in_seconds: invalid_type']],
    [{ expires_in_seconds: '60' }, ['expires_in_seconds: invalid_type']],
    [{ token: 'chosen' }, ['token: unknown_field']],
  ])('an invitation with %j is refused', async ([body, faults]) => {
    const organization = await buildOrganization(service)
    const reply = await invite(organization, body)
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(faults)
    expect(await countRows(service, 'invitations', { organization_id: organization.id })).toBe(0)
  })

  test('an invitation treats null and blank as left out, and accepts the shortest and longest lifetime', async () => {
    const organization = await buildOrganization(service)
    const { body } = await invite(organization, { email: '', app_code: null, expires_in_seconds: null })
    expect(body).toMatchObject({ email: null, app_code: null, grants_app: false })
    for (const expires_in_seconds of [1, 90 * daySeconds])
      expect((await invite(organization, { expires_in_seconds })).status).toBe(201)
    expectError(await invite({ id: randomUUID() }), 'not_found')
  })
})

describe('accepting an invitation', () => {
  test('an invitation that is unknown, used, or for another address is 400 and writes nothing', async () => {
    const organization = await buildOrganization(service)
    const [first, second] = [await buildMember(), await buildMember()]
    const used = (await invite(organization)).body.token
    expect((await accept(used, first.token)).status).toBe(200)
    const foreign = (await invite(organization, { email: someEmail() })).body.token
    for (const token of ['unknown', used, foreign, ` ${foreign}`, 'x'.repeat(2_000)]) {
      const before = await countWrites(service)
      expectError(await accept(token, second.token), 'invalid_invitation')
      expect(await countWrites(service)).toEqual(before)
    }
    for (const body of [{}, { token: 5 }, { token: '' }, { token: 'x'.repeat(2_001) }]) {
      expectError(await service.call('POST', '/auth/invitations/accept', { body, token: first.token }), 'validation_failed')
    }
  })

  test('accepting an invitation of a system_admin grants the app and verifies the invited address', async () => {
    const organization = await buildOrganization(service)
    const closed = await buildApp(service)
    const { user, token } = await buildMember()
    expectError(await service.login(user.email, closed.code), 'app_access_denied')
    const invitation = await invite(organization, { email: user.email, app_code: closed.code })
    expect((await accept(invitation.body.token, token)).status).toBe(200)
    const detail = await describeUser(user)
    expect(detail.email_verified).toBe(true)
    expect(detail.apps).toContainEqual(expect.objectContaining({ app_code: closed.code, status: 'active' }))
    const login = await service.login(user.email, closed.code, { organization_id: organization.id })
    expect(login.body).toMatchObject({ organization: { id: organization.id, role_codes: ['org_member'] } })
  })

  test('an org_admin’s invitation grants no app and proves no other address', async () => {
    const organization = await buildOrganization(service)
    const closed = await buildApp(service)
    const admin = await buildMember(organization, 'org_admin')
    const inviteAsOrgAdmin = (body: Json) =>
      service.call('POST', `/organizations/${organization.id}/invitations`, {
        token: admin.token,
        body: { role_codes: ['org_member'], ...body },
      })
    const invited = await buildMember()
    const invitation = await inviteAsOrgAdmin({ email: invited.user.email, app_code: closed.code })
    expect(invitation.body).toMatchObject({ app_code: closed.code, grants_app: false, invited_by: admin.user.id })
    expect((await accept(invitation.body.token, invited.token)).status).toBe(200)
    const detail = await describeUser(invited.user)
    expect(detail).toMatchObject({ email_verified: false, organizations: [{ id: organization.id }] })
    expect(detail.apps.map((each: Json) => each.app_code)).toEqual([app.code])
    // The inviter sees the token, and could register with it under any address.
    const email = someEmail()
    const { token } = (await inviteAsOrgAdmin({ email })).body
    expect((await service.register(email, app.code, { invite_token: token })).body.user.email_verified).toBe(false)

    // A system_admin who is also an org_admin is treated like any other org_admin here.
    const { body: login } = await service.login('admin@example.com', 'authctl')
    await service.admin('PUT', `/admin/organizations/${organization.id}/members/${login.user.id}`, {
      body: { role_codes: ['org_admin'] },
    })
    const reply = await service.call('POST', `/organizations/${organization.id}/invitations`, {
      token: login.access_token,
      body: { role_codes: ['org_member'], app_code: closed.code },
    })
    expect(reply.body.grants_app).toBe(false)

    const anyone = await buildMember()
    const open = (await invite(organization)).body.token
    expect((await accept(open, anyone.token)).status).toBe(200)
    expect((await describeUser(anyone.user)).email_verified).toBe(false)
  })

  test('accepting never reopens an app whose grant was revoked', async () => {
    const organization = await buildOrganization(service)
    const { user, token } = await buildMember()
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.code}`)
    const other = await buildApp(service)
    await service.admin('POST', `/admin/users/${user.id}/apps/${other.code}`)
    expectError(await accept('unknown', token), 'token_revoked')
    const login = (await service.login(user.email, other.code)).body
    const invitation = await invite(organization, { app_code: app.code })
    expect((await accept(invitation.body.token, login.access_token)).status).toBe(200)
    expectError(await service.login(user.email, app.code), 'app_access_denied')
  })

  test('a member who accepts is 409: roles, address and invitation stay as they are', async () => {
    const organization = await buildOrganization(service)
    const member = await buildMember(organization, 'org_member')
    const closed = await buildApp(service)
    const { body } = await invite(organization, { role_codes: ['org_admin'], app_code: closed.code })
    const before = await countWrites(service)
    expectError(await accept(body.token, member.token), 'already_member')
    expect(await countWrites(service)).toEqual(before)
    expect(await listed(organization, body.id)).toMatchObject({ status: 'pending' })
    expect((await describeUser(member.user)).organizations).toMatchObject([{ role_codes: ['org_member'] }])
    // The invitation is still there for the person it was meant for.
    expect((await accept(body.token, (await buildMember()).token)).status).toBe(200)
    expectError(await accept(body.token, member.token), 'invalid_invitation')
  })

  test('register_or_login of a member signs in and leaves the invitation unused', async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildMember(organization, 'org_member')
    const { body: invitation } = await invite(organization, { role_codes: ['org_admin'] })
    const mode = 'register_or_login'
    const { status, body } = await service.register(user.email, app.code, { mode, invite_token: invitation.token })
    expect(status).toBe(200)
    expect(body.organization).toMatchObject({ id: organization.id, role_codes: ['org_member'] })
    expect(await listed(organization, invitation.id)).toMatchObject({ status: 'pending' })
  })

  test('register_or_login with an invalid invitation is 400 without a session, and does not skip the password', async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildMember()
    const good = (await invite(organization)).body
    const foreign = (await invite(organization, { email: someEmail() })).body.token
    const mode = 'register_or_login'
    const before = await countWrites(service)
    for (const invite_token of ['unknown', foreign])
      expectError(await service.register(user.email, app.code, { mode, invite_token }), 'invalid_invitation')
    const wrong = { mode, invite_token: good.token, password: 'not the right one' }
    expectError(await service.register(user.email, app.code, wrong), 'invalid_credentials')
    // The token of an invitation proves nothing about the account, so a wrong password is reported first.
    expectError(await service.register(user.email, app.code, { ...wrong, invite_token: 'unknown' }), 'invalid_credentials')
    expect(await countWrites(service)).toEqual(before)
    expect(await listed(organization, good.id)).toMatchObject({ status: 'pending' })
  })

  test('an org_admin’s invitation does not give a role that org_admins may no longer give', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildMember(organization, 'org_admin')
    const role = await buildRole(service, 'org')
    const setAssignable = (assignable_by: string) => service.admin('PATCH', `/admin/roles/${role}`, { body: { assignable_by } })
    await setAssignable('org_admin')
    const path = `/organizations/${organization.id}/invitations`
    const body = { role_codes: [role, 'org_admin'] }
    const invitations = []
    for (let i = 0; i < 2; i += 1) invitations.push((await service.call('POST', path, { token: admin.token, body })).body.token)
    const byAdmin = (await invite(organization, body)).body.token
    const rolesOn = async (token: string) => (await accept(token, (await buildMember()).token)).body.organization.role_codes
    expect(await rolesOn(invitations[0])).toEqual(['org_admin', role].sort())
    await setAssignable('system_admin')
    expect(await rolesOn(invitations[1])).toEqual(['org_admin'])
    expect(await rolesOn(byAdmin)).toEqual(['org_admin', role].sort())
  })

  test('an invitation gives those of its roles that still exist, and at least org_member', async () => {
    const organization = await buildOrganization(service)
    const role = await buildRole(service, 'org')
    const [first, second] = [await buildMember(), await buildMember()]
    const both = (await invite(organization, { role_codes: [role, 'org_admin'] })).body.token
    const one = (await invite(organization, { role_codes: [role] })).body.token
    await service.deps.db('roles').where({ code: role }).delete()
    expect((await accept(both, first.token)).body.organization.role_codes).toEqual(['org_admin'])
    expect((await accept(one, second.token)).body.organization.role_codes).toEqual(['org_member'])
  })
})

describe('an org_admin', () => {
  test('an org_admin invites, lists and withdraws in their own organization', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildMember(organization, 'org_admin')
    const path = `/organizations/${organization.id}/invitations`
    const made = await service.call('POST', path, { token: admin.token, body: { role_codes: ['org_admin'] } })
    expect(made.status).toBe(201)
    const { token, code, ...record } = made.body
    expect(record).toMatchObject({ role_codes: ['org_admin'], invited_by: admin.user.id, status: 'pending' })
    const list = () => service.call('GET', path, { token: admin.token })
    expect((await list()).body).toEqual({ items: [record], next_cursor: null })
    expect((await service.call('DELETE', `${path}/${record.id}`, { token: admin.token })).status).toBe(204)
    expectError(await service.call('DELETE', `${path}/${record.id}`, { token: admin.token }), 'not_found')
    expect((await list()).body.items).toEqual([])
    expectError(await accept(code, (await buildMember()).token), 'invalid_invitation')
    const refused = await service.call('POST', path, { token: admin.token, body: { role_codes: ['system_admin'] } })
    expect(faultsOf(refused)).toEqual(['role_codes.0: invalid_value'])
    expectError(
      await service.call('DELETE', `/organizations/${(await buildOrganization(service)).id}/invitations/${record.id}`, {
        token: admin.token,
      }),
      'organization_admin_required',
    )
  })

  test('an org_admin invites once their own address is verified, even in an organization that another user founded', async () => {
    const { user, organization, access_token: token } = await buildUser(service, app, { organization_name: 'Win a prize' })
    const send = () =>
      service.call('POST', `/organizations/${organization.id}/invitations`, { token, body: { role_codes: ['org_member'] } })
    const before = [await countRows(service, 'invitations'), await countRows(service, 'outbox')]
    expectError(await send(), 'email_unverified')
    expect([await countRows(service, 'invitations'), await countRows(service, 'outbox')]).toEqual(before)
    await markVerified(service, user.id)
    expect((await send()).status).toBe(201)
  })
})

describe('AUTH_INVITATION_LIMIT', () => {
  /** Creates `count` org_admins. Returns their tokens. */
  async function buildAdmins(on: TestService, through: Json, organization: Json, count: number): Promise<string[]> {
    const tokens = []
    for (let i = 0; i < count; i += 1) {
      const { user, access_token: token } = await buildUser(on, through)
      await addMember(on, organization.id, user.id, ['org_admin'])
      await markVerified(on, user.id)
      tokens.push(token)
    }
    return tokens
  }
  const send = (on: TestService, organization: Json, token: string, body: Json = {}) =>
    on.call('POST', `/organizations/${organization.id}/invitations`, { token, body: { role_codes: ['org_member'], ...body } })

  test('the limit holds for each org_admin, and four times the limit for each organization, also for calls at once', async () => {
    const on = freezeClock(await buildService({ AUTH_INVITATION_LIMIT: '3/60' }))
    const through = await buildApp(on, { auto_grant_on_signup: true })
    const [first, second] = [await buildOrganization(on), await buildOrganization(on)]
    const [one, ...others] = (await buildAdmins(on, through, first, 6)) as [string, ...string[]]
    const replies = await Promise.all(Array.from({ length: 10 }, () => send(on, first, one)))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3)
    for (const reply of replies) if (reply.status !== 201) expectError(reply, 'rate_limited')
    await Promise.all(others.flatMap((token) => Array.from({ length: 3 }, () => send(on, first, token))))
    expect(await countRows(on, 'invitations', { organization_id: first.id })).toBe(12)

    const admin = await on.admin('POST', `/admin/organizations/${first.id}/invitations`, { body: { role_codes: ['org_member'] } })
    expect(admin.status).toBe(201)
    const [elsewhere] = (await buildAdmins(on, through, second, 1)) as [string]
    expect((await send(on, second, elsewhere)).status).toBe(201)
    on.advance(60)
    expect((await send(on, first, one)).status).toBe(201)
  })

  test('the limit counts only invitations that were created', async () => {
    const on = freezeClock(await buildService({ AUTH_INVITATION_LIMIT: '1/60' }))
    const organization = await buildOrganization(on)
    const through = await buildApp(on, { auto_grant_on_signup: true })
    const [token] = (await buildAdmins(on, through, organization, 1)) as [string]
    for (let i = 0; i < 5; i += 1) expectError(await send(on, organization, token, { role_codes: ['nope'] }), 'validation_failed')
    expect((await send(on, organization, token)).status).toBe(201)
    expectError(await send(on, organization, token), 'rate_limited')
  })

  test('an invitation that sends a mail counts towards AUTH_RATE_LIMIT_USER too', async () => {
    const on = freezeClock(await buildService({ AUTH_RATE_LIMIT_USER: '2/60' }))
    const organization = await buildOrganization(on)
    const through = await buildApp(on, { auto_grant_on_signup: true })
    const [token] = (await buildAdmins(on, through, organization, 1)) as [string]
    for (let i = 0; i < 2; i += 1) expect((await send(on, organization, token, { email: someEmail() })).status).toBe(201)
    expectError(await send(on, organization, token, { email: someEmail() }), 'rate_limited')
    expect((await send(on, organization, token)).status).toBe(201)
  })
})
