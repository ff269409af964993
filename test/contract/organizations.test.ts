import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { addMember, buildOrganization, buildRole, closeAccount } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json } from '../support/service.ts'

const service = serviceFixture()
/** Grants access to every user. */
const app = appFixture(service)

const uniqueName = () => `Org ${randomUUID()}`
const create = (body: Json) => service.admin('POST', '/admin/organizations', { body })

/** The audit events about an organization and its members, oldest first. */
async function audited(organizationId: string): Promise<Json[]> {
  const events = await auditEvents(service, {})
  return events
    .filter((each) => JSON.stringify(each.details ?? null).includes(organizationId))
    .map(({ event, user_id, actor_id, details }) => ({ event, user_id, actor_id, details }))
}

const byId = (organization: Json, rest = '') => `/admin/organizations/${organization.id}${rest}`
const memberOf = (organization: Json, user: Json, base = '/admin') =>
  `${base}/organizations/${organization.id}/members/${user.id}`

const setRoles = (organization: Json, user: Json, ...role_codes: string[]) =>
  service.admin('PUT', memberOf(organization, user), { body: { role_codes } })

/** An org_admin of the organization, with a token of an app that is unrelated to it. */
async function buildOrgAdmin(organization: Json): Promise<{ user: Json; token: string }> {
  const { user, access_token } = await buildUser(service, app)
  await setRoles(organization, user, 'org_admin')
  return { user, token: access_token }
}

async function rolesOf(user: Json, organization: Json): Promise<string[] | undefined> {
  const { organizations } = (await service.admin('GET', `/admin/users/${user.id}`)).body
  return organizations.find((each: Json) => each.id === organization.id)?.role_codes
}

describe('organizations', () => {
  // covers organization-slug
  test('an organization is created with a slug from its name, shown, changed and deleted, and all is audited', async () => {
    const name = uniqueName()
    const { status, body } = await create({ name: `  Größe & ${name} ` })
    expect(status).toBe(201)
    const slug = `gro-e-${name.toLowerCase().replace(' ', '-')}`
    const created = {
      id: expect.any(String),
      slug,
      name: `Größe & ${name}`,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    }
    expect(body).toEqual(created)
    expect((await service.admin('GET', byId(body))).body).toEqual(body)

    const renamed = await service.admin('PATCH', byId(body), { body: { name: 'New name' } })
    expect(renamed.body).toMatchObject({ id: body.id, name: 'New name', slug })
    const moved = await service.admin('PATCH', byId(body), { body: { slug: `new-${slug}` } })
    expect(moved.status).toBe(200)
    expect(moved.body).toMatchObject({ name: 'New name', slug: `new-${slug}` })
    expect((await service.admin('GET', byId(body))).body).toEqual(moved.body)
    expect((await service.admin('PATCH', byId(body), { body: {} })).body).toEqual(moved.body)
    expect((await service.admin('PATCH', byId(body), { body: { slug: `new-${slug}` } })).body).toEqual(moved.body)

    expect((await service.admin('DELETE', byId(body))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) expectError(await service.admin(method, byId(body)), 'not_found')
    expectError(await service.admin('PATCH', byId(body), { body: { name: 'x' } }), 'not_found')
    expect(await audited(body.id)).toMatchObject([
      { event: 'organization.created', details: { after: body } },
      { event: 'organization.updated', details: { before: body, after: renamed.body } },
      { event: 'organization.updated', details: { before: renamed.body, after: moved.body } },
      { event: 'organization.deleted', details: { before: moved.body } },
    ])
  })

  test('an organization gets a suffix if the slug of its name is taken, and a taken slug is refused', async () => {
    const name = uniqueName()
    const first = (await create({ name, slug: '' })).body
    const second = (await create({ name, slug: null })).body
    expect(second.slug).toMatch(new RegExp(`^${first.slug}-[0-9a-f]{6}$`))
    expectError(await create({ name, slug: first.slug }), 'organization_slug_taken')
    expectError(await service.admin('PATCH', byId(second), { body: { slug: first.slug, name: 'x' } }), 'organization_slug_taken')
    expect((await service.admin('GET', byId(second))).body).toEqual(second)
    expect((await create({ name: '日本 – !!' })).body.slug).toMatch(/^organization(-[0-9a-f]{6})?$/)
    expect((await create({ name: 'x'.repeat(200) })).body.slug).toBe('x'.repeat(80))
  })

  test.each(['Acme', 'a_b', 'a b', '-a', 'a-', 'a--b', 'ä', randomUUID(), 'a'.repeat(101), 5])(
    'an organization refuses the slug %s, which is not kebab-case',
    async (slug) => {
      const organization = await buildOrganization(service)
      for (const reply of [
        await create({ name: 'x', slug }),
        await service.admin('PATCH', byId(organization), { body: { slug } }),
      ]) {
        expectError(reply, 'validation_failed')
        expect(new Set(reply.body.errors.map((error: Json) => error.path))).toEqual(new Set(['slug']))
      }
    },
  )

  test('an organization keeps its slug and name, which PATCH cannot clear', async () => {
    const organization = await buildOrganization(service)
    const refused = await service.admin('PATCH', byId(organization), { body: { slug: '', name: ' ' } })
    expect([...new Set(faultsOf(refused).map((fault) => fault.split(':')[0]))]).toEqual(['name', 'slug'])
    expectError(await service.admin('PATCH', byId(organization), { body: { slug: null } }), 'validation_failed')
    expect(faultsOf(await create({}))).toEqual(['name: required'])
  })

  test('one of twenty concurrent callers gets a slug, and twenty with one name each get their own slug', async () => {
    const slug = `slug-${randomUUID().slice(0, 13)}`
    const replies = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'Acme', slug })))
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 201) expectError(reply, 'organization_slug_taken')
    const name = uniqueName()
    const named = await Promise.all(Array.from({ length: 20 }, () => create({ name })))
    expect(new Set(named.map((reply) => reply.body.slug)).size).toBe(20)

    const organizations = await Promise.all(Array.from({ length: 10 }, () => buildOrganization(service)))
    const wanted = { slug: `moved-${slug}` }
    const moved = await Promise.all(organizations.map((each) => service.admin('PATCH', byId(each), { body: wanted })))
    expect(moved.filter((reply) => reply.status === 200)).toHaveLength(1)
    expect(await countRows(service, 'organizations', wanted)).toBe(1)
  })

  test('organizations are listed newest first, page by page, by a part of slug or name', async () => {
    const mark = randomUUID().slice(0, 13)
    const made = []
    for (const name of [`A ${mark} 100%`, `B ${mark.toUpperCase()}`, `C ${mark}`, 'other'])
      made.push((await create({ name, slug: `${name[0]!.toLowerCase()}-${randomUUID().slice(0, 13)}` })).body)
    const wanted = [made[2], made[1], made[0]]
    const search = (q: string) => service.admin('GET', `/admin/organizations?q=${encodeURIComponent(q)}`)
    expect((await search(mark)).body).toEqual({ items: wanted, next_cursor: null })
    expect((await search(`${mark} 100%`)).body.items).toEqual([made[0]])
    expect((await search(`${mark} 100_`)).body.items).toEqual([])
    expect((await search(made[3].slug.toUpperCase())).body.items).toEqual([made[3]])

    const seen: Json[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query = `limit=2&q=${mark}${cursor ? `&cursor=${cursor}` : ''}`
      const { body }: { body: Json } = await service.admin('GET', `/admin/organizations?${query}`)
      seen.push(...body.items)
      cursor = body.next_cursor
    }
    expect(seen).toEqual(wanted)
  })

  test('an organization cannot be deleted while an app names it or it has active members', async () => {
    const organization = await buildOrganization(service)
    const naming = await buildApp(service, { default_organization_id: organization.id })
    const { user } = await buildUser(service, app)
    await setRoles(organization, user, 'org_member')
    expectError(await service.admin('DELETE', byId(organization)), 'organization_in_use')
    await service.admin('PATCH', `/admin/apps/${naming.id}`, { body: { default_organization_id: null } })
    expectError(await service.admin('DELETE', byId(organization)), 'organization_in_use')
    const invitation = await service.admin('POST', byId(organization, '/invitations'), { body: { role_codes: ['org_member'] } })
    expect(invitation.status).toBe(201)
    await closeAccount(service, user.id, 'deleted')
    expect((await service.admin('DELETE', byId(organization))).status).toBe(204)
    expect(await countRows(service, 'invitations', { organization_id: organization.id })).toBe(0)
  })

  test('concurrent deletion and joining either deletes the organization or adds the member, never both', async () => {
    for (let round = 0; round < 10; round += 1) {
      const organization = await buildOrganization(service)
      const joining = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
      const { user } = await buildUser(service, app)
      const [, deleted, login] = await Promise.all([
        service.deps.db('apps').where({ id: joining.id }).update({ default_organization_id: null }),
        service.admin('DELETE', byId(organization)),
        service.login(user.email, joining.code),
      ])
      expect([204, 409]).toContain(deleted.status)
      expect(login.status).toBe(200)
      const roles = await rolesOf(user, organization)
      if (deleted.status === 204) expect(roles).toBeUndefined()
      if (roles !== undefined) expectError(deleted, 'organization_in_use')
    }
  })

  test("an organization founded at registration is audited with its founder's membership", async () => {
    const { user, organization } = await buildUser(service, app, { organization_name: uniqueName() })
    expect(await audited(organization.id)).toMatchObject([
      { event: 'organization.created', user_id: user.id, details: { after: { slug: organization.slug } } },
      {
        event: 'membership.created',
        user_id: user.id,
        details: { organization_id: organization.id, after: { role_codes: ['org_admin'] } },
      },
    ])
  })
})

describe('members of an organization', () => {
  test('members are added, listed, given other roles and removed, and all is audited', async () => {
    const organization = await buildOrganization(service)
    const { user: registered } = await buildUser(service, app, { first_name: 'Ada' })
    await markVerified(service, registered.id)
    const user = { ...registered, email_verified: true }
    const role = await buildRole(service, 'org')
    const put = await setRoles(organization, user, role, 'org_member', role)
    expect(put.status).toBe(201)
    const member = { ...user, role_codes: ['org_member', role].sort(), joined_at: expect.any(String) }
    expect(put.body).toEqual(member)
    const list = await service.admin('GET', byId(organization, '/members'))
    expect(list.body).toEqual({ items: [put.body], next_cursor: null })

    const replaced = await setRoles(organization, user, 'org_admin')
    expect(replaced.status).toBe(200)
    expect(replaced.body).toEqual({ ...put.body, role_codes: ['org_admin'] })
    expect((await setRoles(organization, user, 'org_admin')).status).toBe(200)
    expect(await rolesOf(user, organization)).toEqual(['org_admin'])

    expect((await service.admin('DELETE', memberOf(organization, user))).status).toBe(204)
    expectError(await service.admin('DELETE', memberOf(organization, user)), 'not_found')
    expect(await rolesOf(user, organization)).toBeUndefined()
    const about = { organization_id: organization.id }
    expect((await audited(organization.id)).slice(1)).toMatchObject([
      {
        event: 'membership.created',
        user_id: user.id,
        details: { ...about, before: null, after: { role_codes: member.role_codes } },
      },
      {
        event: 'membership.updated',
        details: { ...about, before: { role_codes: member.role_codes }, after: { role_codes: ['org_admin'] } },
      },
      { event: 'membership.deleted', details: { ...about, before: { role_codes: ['org_admin'] }, after: null } },
    ])
  })

  test('members are listed newest first, page by page, without deleted users', async () => {
    const organization = await buildOrganization(service)
    const users = []
    for (let n = 0; n < 5; n += 1) {
      const { user } = await buildUser(service, app)
      await setRoles(organization, user, 'org_member')
      users.unshift(user.id)
    }
    await closeAccount(service, users[1], 'deleted')
    await closeAccount(service, users[2], 'suspended')
    const wanted = users.filter((_, index) => index !== 1)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = `limit=2${cursor ? `&cursor=${cursor}` : ''}`
      const { body }: { body: Json } = await service.admin('GET', byId(organization, `/members?${query}`))
      seen.push(...body.items.map((each: Json) => each.id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(wanted)
  })

  // covers membership-role
  test('members take only org-scoped roles, and every other role in the list is named as a fault', async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildUser(service, app)
    const refused = await setRoles(
      organization,
      user,
      'org_member',
      'system_admin',
      'nope',
      'Not A Code',
      '__proto__',
      'base_user',
    )
    expectError(refused, 'validation_failed')
    expect(faultsOf(refused)).toEqual([1, 2, 3, 4, 5].map((index) => `role_codes.${index}: invalid_value`))
    expect(faultsOf(await setRoles(organization, user))).toEqual(['role_codes: too_short'])
    const path = memberOf(organization, user)
    for (const [body, fault] of [
      [{}, 'role_codes: required'],
      [{ role_codes: 'org_member' }, 'role_codes: invalid_type'],
      [{ role_codes: [5] }, 'role_codes.0: invalid_type'],
      [{ role_codes: Array(201).fill('org_member') }, 'role_codes: too_long'],
    ] as const)
      expect(faultsOf(await service.admin('PUT', path, { body }))).toEqual([fault])
    expect(await rolesOf(user, organization)).toBeUndefined()
  })

  test('a member of an unknown organization, an unknown user and a deleted user are 404', async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildUser(service, app)
    expectError(await setRoles({ id: randomUUID() }, user, 'org_member'), 'not_found')
    expectError(await setRoles(organization, { id: randomUUID() }, 'org_member'), 'not_found')
    await closeAccount(service, user.id, 'deleted')
    expectError(await setRoles(organization, user, 'org_member'), 'not_found')
    expectError(await service.admin('DELETE', memberOf(organization, user)), 'not_found')
    expectError(await service.admin('GET', `/admin/organizations/${randomUUID()}/members`), 'not_found')
  })

  test('a member whom twenty concurrent calls add has one row with the roles of one of them', async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildUser(service, app)
    const roles = await Promise.all(Array.from({ length: 6 }, () => buildRole(service, 'org')))
    const sets = Array.from({ length: 20 }, (_, n) => roles.filter((_, index) => ((n + 1) >> index) & 1).sort())
    const replies = await Promise.all(sets.map((set) => setRoles(organization, user, ...set)))
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1)
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(19)
    expect(await countRows(service, 'organization_memberships', { organization_id: organization.id })).toBe(1)
    expect(sets).toContainEqual(await rolesOf(user, organization))
  })

  test("a removed member loses the organization's token at once, and cannot refresh for it", async () => {
    const organization = await buildOrganization(service)
    const { user } = await buildUser(service, app)
    await setRoles(organization, user, 'org_member')
    const { body } = await service.login(user.email, app.code, { organization_id: organization.id })
    expect(claimsOf(body.access_token).org_id).toBe(organization.id)
    expect((await service.admin('DELETE', memberOf(organization, user))).status).toBe(204)

    expectError(await service.call('GET', '/auth/me', { token: body.access_token }), 'token_revoked')
    const refresh = (extra = {}) =>
      service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token, ...extra } })
    expectError(await refresh(), 'organization_membership_required')
    expectError(await refresh({ organization_id: organization.id }), 'organization_membership_required')
    expectError(
      await service.login(user.email, app.code, { organization_id: organization.id }),
      'organization_membership_required',
    )
    // The failed attempts did not use up the refresh token: a user who is added back can go on.
    await setRoles(organization, user, 'org_admin')
    expect(claimsOf((await refresh()).body.access_token)).toMatchObject({ org_id: organization.id, roles: ['org_admin'] })
  })
})

describe('a member of an organization', () => {
  test('a member with any role can leave, and then has no rights there', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const role = await buildRole(service, 'org')
    const { user, access_token: token } = await buildUser(service, app)
    await setRoles(organization, user, role)
    const path = memberOf(organization, user, '')
    expectError(await service.call('PUT', path, { token, body: { role_codes: ['org_admin'] } }), 'organization_admin_required')
    expectError(await service.call('DELETE', memberOf(organization, admin.user, ''), { token }), 'organization_admin_required')
    expect((await service.call('DELETE', path, { token })).status).toBe(204)
    expect(await rolesOf(user, organization)).toBeUndefined()
    expectError(await service.call('DELETE', path, { token }), 'organization_admin_required')
    expectError(await service.call('DELETE', memberOf({ id: randomUUID() }, user, ''), { token }), 'organization_admin_required')
    expect((await audited(organization.id)).at(-1)).toMatchObject({
      event: 'membership.deleted',
      user_id: user.id,
      actor_id: user.id,
      details: { before: { role_codes: [role] }, after: null },
    })
  })
})

describe('an org_admin', () => {
  test('an org_admin lists, changes and removes members of the organization with a token of any app', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const { user } = await buildUser(service, app, { first_name: 'Ada' })
    await setRoles(organization, user, 'org_member')
    const path = memberOf(organization, user, '')
    const put = await service.call('PUT', path, { token: admin.token, body: { role_codes: ['org_admin'] } })
    expect(put.status).toBe(200)
    const fellow = { id: user.id, email: user.email, first_name: 'Ada', last_name: null }
    expect(put.body).toEqual({ ...fellow, role_codes: ['org_admin'] })
    expect(await rolesOf(user, organization)).toEqual(['org_admin'])
    const list = await service.call('GET', `/organizations/${organization.id}/members`, { token: admin.token })
    expect(list.body.items).toEqual([
      put.body,
      { ...fellow, id: admin.user.id, email: admin.user.email, first_name: null, role_codes: ['org_admin'] },
    ])
    expect((await service.call('DELETE', path, { token: admin.token })).status).toBe(204)
    expectError(await service.call('DELETE', path, { token: admin.token }), 'not_found')
    expect((await audited(organization.id)).at(-1)).toMatchObject({ event: 'membership.deleted', actor_id: admin.user.id })
  })

  test('an org_admin gives and takes only roles that org_admins may assign, also for their own account', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const { user } = await buildUser(service, app)
    const kept = await buildRole(service, 'org')
    const free = await buildRole(service, 'org')
    const setAssignable = (code: string, assignable_by: string) =>
      service.admin('PATCH', `/admin/roles/${code}`, { body: { assignable_by } })
    expect((await setAssignable(free, 'org_admin')).body).toMatchObject({ code: free, assignable_by: 'org_admin' })
    await setRoles(organization, user, kept, 'org_member')
    const put = (whom: Json, ...role_codes: string[]) =>
      service.call('PUT', memberOf(organization, whom, ''), { token: admin.token, body: { role_codes } })

    for (const [whom, ...codes] of [
      [admin.user, 'org_admin', kept],
      [admin.user, kept],
    ] as [Json, ...string[]][])
      expect(faultsOf(await put(whom, ...codes))).toEqual([`role_codes.${codes.indexOf(kept)}: invalid_value`])
    expect(faultsOf(await put(user, 'org_member'))).toEqual(['role_codes: invalid_value'])
    expectError(await service.call('DELETE', memberOf(organization, user, ''), { token: admin.token }), 'system_admin_required')
    expect(await rolesOf(admin.user, organization)).toEqual(['org_admin'])
    expect(await rolesOf(user, organization)).toEqual(['org_member', kept].sort())

    expect((await put(user, kept, free)).body.role_codes).toEqual([free, kept].sort())
    expect((await put(user, kept)).body.role_codes).toEqual([kept])
    await setAssignable(kept, 'org_admin')
    expect((await put(user, 'org_member')).body.role_codes).toEqual(['org_member'])
  })

  test('an org_admin who founded the organization at registration cannot take a further role either', async () => {
    const role = await buildRole(service, 'org')
    const { user, organization, access_token: token } = await buildUser(service, app, { organization_name: uniqueName() })
    const body = { role_codes: ['org_admin', role] }
    expect(faultsOf(await service.call('PUT', memberOf(organization, user, ''), { token, body }))).toEqual([
      'role_codes.1: invalid_value',
    ])
    await markVerified(service, user.id)
    expect(faultsOf(await service.call('POST', `/organizations/${organization.id}/invitations`, { token, body }))).toEqual([
      'role_codes.1: invalid_value',
    ])
    expect(await rolesOf(user, organization)).toEqual(['org_admin'])
  })

  test('an org_admin learns nothing about users who are not members, and cannot add them', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const stranger = (await buildUser(service, app)).user
    const gone = (await buildUser(service, app)).user
    await setRoles(organization, gone, 'org_member')
    await closeAccount(service, gone.id, 'deleted')
    const statements: string[][] = []
    const replies = []
    for (const method of ['PUT', 'DELETE']) {
      for (const { id } of [stranger, gone, { id: randomUUID() }]) {
        const run: string[] = []
        const note = ({ sql }: { sql: string }) => run.push(sql)
        service.deps.db.on('query', note)
        const body = method === 'PUT' ? { role_codes: ['org_member'] } : undefined
        replies.push(await service.call(method, memberOf(organization, { id }, ''), { token: admin.token, body }))
        service.deps.db.removeListener('query', note)
        statements.push([method, ...run])
      }
    }
    for (const reply of replies) {
      expectError(reply, 'not_found')
      expect({ ...reply.body, request_id: '' }).toEqual({ ...replies[0]!.body, request_id: '' })
    }
    // All cases run the same statements.
    for (const method of ['PUT', 'DELETE'])
      expect(new Set(statements.filter(([of]) => of === method).map((run) => run.join(';'))).size).toBe(1)
    expect(await rolesOf(stranger, organization)).toBeUndefined()
  })

  test('an org_admin may change members 60 times a minute, counted by caller', async () => {
    const service = freezeClock(await buildService())
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const [first, second] = [await buildUser(service, app), await buildUser(service, app)]
    const organization = await buildOrganization(service)
    for (const { user } of [first, second]) await addMember(service, organization.id, user.id, ['org_admin'])
    const write = (method: string, by: Json, whom: string) =>
      service.call(method, memberOf(organization, { id: whom }, ''), {
        token: by.access_token,
        body: method === 'PUT' ? { role_codes: ['org_member'] } : undefined,
      })
    for (let count = 0; count < 30; count += 1)
      for (const method of ['PUT', 'DELETE']) expectError(await write(method, first, randomUUID()), 'not_found')
    for (const method of ['PUT', 'DELETE']) {
      const refused = await write(method, first, second.user.id)
      expectError(refused, 'rate_limited')
      expect(refused.headers.get('retry-after')).toBe('60')
    }
    // Other callers are not limited, nor are reads.
    expect((await write('PUT', second, second.user.id)).status).toBe(200)
    const list = () => service.call('GET', `/organizations/${organization.id}/members`, { token: first.access_token })
    expect((await list()).status).toBe(200)
    service.advance(60)
    expect((await write('DELETE', first, second.user.id)).status).toBe(204)
    expect((await list()).body.items.map(({ id }: Json) => id)).toEqual([first.user.id])
  })

  test('an org_admin cannot give a global role, however its name is spelled', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    for (const role of ['system_admin', 'super_admin', 'base_user', 'SYSTEM_ADMIN', ' system_admin']) {
      const reply = await service.call('PUT', memberOf(organization, admin.user, ''), {
        token: admin.token,
        body: { role_codes: ['org_admin', role] },
      })
      expect(faultsOf(reply)).toEqual(['role_codes.1: invalid_value'])
    }
    expect((await service.admin('GET', `/admin/users/${admin.user.id}`)).body.roles).toEqual(['base_user'])
  })

  test('an org_admin gets the same 403 for other organizations, whether or not they exist', async () => {
    const [own, other] = [await buildOrganization(service), await buildOrganization(service)]
    const admin = await buildOrgAdmin(own)
    const member = await buildUser(service, app)
    await setRoles(other, member.user, 'org_member', await buildRole(service, 'org'))
    const { user: fellow } = await buildUser(service, app)
    await setRoles(other, fellow, 'org_member')
    const cases = [
      [other.id, admin.token],
      [other.id, member.access_token],
      [randomUUID(), admin.token],
      [other.id, await administratorsToken()],
    ] as const
    const body = { role_codes: ['org_admin'] }
    for (const [id, token] of cases) {
      const base = `/organizations/${id}`
      const replies = [
        await service.call('GET', `${base}/members`, { token }),
        await service.call('PUT', `${base}/members/${admin.user.id}`, { token, body }),
        await service.call('PUT', `${base}/members/${randomUUID()}`, { token, body: { role_codes: ['nope'] } }),
        await service.call('DELETE', `${base}/members/${fellow.id}`, { token }),
        await service.call('GET', `${base}/invitations`, { token }),
        await service.call('POST', `${base}/invitations`, { token, body: { ...body, app_code: 'nope' } }),
        await service.call('DELETE', `${base}/invitations/${randomUUID()}`, { token }),
      ]
      for (const reply of replies) {
        expectError(reply, 'organization_admin_required')
        expect({ ...reply.body, request_id: '' }).toEqual({ ...replies[0]!.body, request_id: '' })
      }
    }
    expect(await rolesOf(member.user, other)).toHaveLength(2)
    expect(await rolesOf(fellow, other)).toHaveLength(1)
  })

  /** The token of a system_admin, who uses the admin API to govern. */
  async function administratorsToken(): Promise<string> {
    return (await service.login('admin@example.com', 'authctl')).body.access_token
  }

  test('the roles in a token do not make an org_admin, since the right is read at each call', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const login = await service.login(admin.user.email, app.code, { organization_id: organization.id })
    const claims = claimsOf(login.body.access_token)
    expect(claims.roles).toEqual(['org_admin'])
    const list = (token: string) => service.call('GET', `/organizations/${organization.id}/members`, { token })
    expect((await list(login.body.access_token)).status).toBe(200)
    await setRoles(organization, admin.user, 'org_member')
    expectError(await list(login.body.access_token), 'token_revoked')
    // A forged token that still claims the role, signed with the secret that every consumer holds.
    const forged = forgeToken({ ...claims, tv: claims.tv + 1 })
    expectError(await list(forged), 'organization_admin_required')
    await setRoles(organization, admin.user, 'org_admin', 'org_member')
    expect((await list(forged)).status).toBe(200)
  })

  test('the last active org_admin cannot step down or leave, but a system_admin may remove the last one', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const self = memberOf(organization, admin.user, '')
    const demote = { token: admin.token, body: { role_codes: ['org_member'] } }
    expectError(await service.call('PUT', self, demote), 'last_organization_admin')
    const { user: other } = await buildUser(service, app)
    await setRoles(organization, other, 'org_member')
    expectError(await service.call('PUT', self, demote), 'last_organization_admin')
    expectError(await service.call('DELETE', self, { token: admin.token }), 'last_organization_admin')
    const more = { token: admin.token, body: { role_codes: ['org_admin', 'org_member'] } }
    expect((await service.call('PUT', self, more)).status).toBe(200)

    // A suspended org_admin could not take over.
    const second = await buildOrgAdmin(organization)
    await closeAccount(service, second.user.id, 'suspended')
    expectError(await service.call('DELETE', self, { token: admin.token }), 'last_organization_admin')
    const third = await buildOrgAdmin(organization)
    expect((await service.call('PUT', self, demote)).status).toBe(200)
    expect((await service.admin('DELETE', memberOf(organization, third.user))).status).toBe(204)
    expect((await setRoles(organization, second.user, 'org_member')).status).toBe(200)
  })

  test('an org_admin who is the only member may leave', async () => {
    const organization = await buildOrganization(service)
    const admin = await buildOrgAdmin(organization)
    const { user: gone } = await buildUser(service, app)
    await setRoles(organization, gone, 'org_member')
    await closeAccount(service, gone.id, 'deleted')
    const leave = () => service.call('DELETE', memberOf(organization, admin.user, ''), { token: admin.token })
    expect((await leave()).status).toBe(204)
    expectError(await leave(), 'organization_admin_required')
    expect((await service.admin('GET', byId(organization, '/members'))).body.items).toEqual([])
  })

  test('one of several org_admins who leave or remove each other at once remains while there are members', async () => {
    for (const whom of ['self', 'next'] as const) {
      const organization = await buildOrganization(service)
      const admins = await Promise.all(Array.from({ length: 8 }, () => buildOrgAdmin(organization)))
      await setRoles(organization, (await buildUser(service, app)).user, 'org_member')
      const replies = await Promise.all(
        admins.map(({ token, user }, index) => {
          const target = whom === 'self' ? user : admins[(index + 1) % admins.length]!.user
          return service.call('DELETE', memberOf(organization, target, ''), { token })
        }),
      )
      for (const reply of replies) expect([204, 403, 404, 409]).toContain(reply.status)
      const { items } = (await service.admin('GET', byId(organization, '/members'))).body
      const left = items.filter(({ role_codes }: Json) => role_codes.includes('org_admin'))
      expect(left.length).toBeGreaterThanOrEqual(1)
      if (whom === 'self') expect(left).toHaveLength(1)
    }
  })

  test('the members of an organization can be read by browsers of any origin', async () => {
    const { id } = await buildOrganization(service)
    const reply = await service.call('GET', `/organizations/${id}/members`, { headers: { origin: 'https://app.example.com' } })
    expectError(reply, 'token_missing')
    expect(reply.headers.get('access-control-allow-origin')).toBe('*')
  })
})
