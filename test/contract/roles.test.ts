import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import {
  addMember,
  buildInvitation,
  buildOrganization,
  buildRole,
  closeAccount,
  registerPermissions,
} from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, someEmail, unique } from '../support/service.ts'

const service = serviceFixture()
/** Grants access to every user. */
const app = appFixture(service)
beforeAll(async () => {
  await registerPermissions(service, 'shop', ['orders:read', 'orders:write', 'orders:cancel'])
})

const builtIn = ['auditor', 'base_user', 'help_desk', 'org_admin', 'org_member', 'super_admin', 'system_admin']
const create = (body: Json) => service.admin('POST', '/admin/roles', { body })
const byCode = (code: string, rest = '') => `/admin/roles/${code}${rest}`
const change = (code: string, body: Json) => service.admin('PATCH', byCode(code), { body })

async function newUser(): Promise<Json> {
  const { user } = await buildUser(service, app)
  await markVerified(service, user.id)
  return user
}

const rolesOf = (user: Json, role = '') => `/admin/users/${user.id}/roles${role && `/${role}`}`
const assign = (user: Json, role_code: string) => service.admin('POST', rolesOf(user), { body: { role_code } })
const unassign = (user: Json, role: string) => service.admin('DELETE', rolesOf(user, role))

async function held(user: Json): Promise<string[]> {
  return (await service.admin('GET', rolesOf(user))).body.items.map((item: Json) => item.code)
}

async function permissionsOf(role: string): Promise<string[]> {
  return (await service.admin('GET', byCode(role, '/permissions'))).body.items.map((item: Json) => item.code)
}

/** The audit events whose details contain this text, oldest first. */
async function audited(text: string): Promise<Json[]> {
  const events = await auditEvents(service, {})
  return events
    .filter((each) => JSON.stringify(each.details ?? null).includes(text))
    .map(({ event, user_id, details }) => ({ event, user_id, details }))
}

describe('roles', () => {
  test('a role is created, shown, changed and deleted, and all of it is audited', async () => {
    const code = unique('editor')
    const { status, body } = await create({ code, name: ' Editor ', scope: 'org', description: '' })
    expect(status).toBe(201)
    expect(body).toEqual({
      code,
      name: 'Editor',
      scope: 'org',
      description: null,
      built_in: false,
      assignable_by: 'system_admin',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await service.admin('GET', byCode(code))).body).toEqual(body)
    const changed = await change(code, { name: 'Chief editor', description: 'Edits', scope: 'org' })
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ code, name: 'Chief editor', description: 'Edits', scope: 'org' })
    for (const nothing of [{}, { name: 'Chief editor' }]) expect((await change(code, nothing)).body).toEqual(changed.body)
    const cleared = await change(code, { description: null })
    expect(cleared.body).toMatchObject({ name: 'Chief editor', description: null })
    expect((await service.admin('DELETE', byCode(code))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) expectError(await service.admin(method, byCode(code)), 'not_found')
    expectError(await change(code, { name: 'x' }), 'not_found')
    expect(await audited(code)).toEqual([
      { event: 'role.created', user_id: null, details: { after: body } },
      { event: 'role.updated', user_id: null, details: { before: body, after: changed.body } },
      { event: 'role.updated', user_id: null, details: { before: changed.body, after: cleared.body } },
      { event: 'role.deleted', user_id: null, details: { before: cleared.body } },
    ])
  })

  test('a role has a code that no other role has, whether global or org-scoped', async () => {
    const code = await buildRole(service, 'global')
    for (const scope of ['global', 'org']) expectError(await create({ code, name: 'x', scope }), 'role_code_taken')
    expectError(await create({ code: 'base_user', name: 'x', scope: 'org' }), 'role_code_taken')
    const wanted = unique('raced')
    const replies = await Promise.all(Array.from({ length: 20 }, () => create({ code: wanted, name: 'x', scope: 'org' })))
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 201) expectError(reply, 'role_code_taken')
  })

  test('a role has a code of a-z, 0-9, _ and -, a name and one of two scopes', async () => {
    for (const code of ['', 'Editor', 'a b', 'ä', 'a:b', 'x'.repeat(101), 5, null]) {
      const faults = faultsOf(await create({ code, name: 'x', scope: 'org' }))
      expect(new Set(faults.map((fault) => fault.split(':')[0])), `${code}`).toEqual(new Set(['code']))
    }
    expect(faultsOf(await create({ code: unique('x') }))).toEqual(['name: required', 'scope: required'])
    expect(faultsOf(await create({ code: unique('x'), name: ' ', scope: 'app', description: 'x'.repeat(2001) }))).toEqual([
      'description: too_long',
      'name: too_short',
      'scope: invalid_value',
    ])
  })

  test('a role never changes its code or scope', async () => {
    const code = await buildRole(service, 'global')
    expectError(await change(code, { code: unique('x') }), 'code_immutable')
    expect(faultsOf(await change(code, { scope: 'org', name: 'x' }))).toEqual(['scope: invalid_value'])
    expectError(await change('system_admin', { scope: 'org' }), 'built_in')
    expectError(await change('system_admin', { code: 'x' }), 'code_immutable')
    expect((await service.admin('GET', byCode(code))).body).toMatchObject({ code, scope: 'global', name: code })
  })

  test.each(['name', 'scope'])('a role keeps its %s, and PATCH with null or "" is 400 and changes nothing', async (field) => {
    const code = await buildRole(service, 'global')
    const before = (await service.admin('GET', byCode(code))).body
    for (const blank of [null, ''])
      expect(
        new Set(faultsOf(await change(code, { description: 'Text', [field]: blank })).map((fault) => fault.split(':')[0])),
      ).toEqual(new Set([field]))
    expect((await service.admin('GET', byCode(code))).body).toEqual(before)
  })

  // covers role-built-in
  test('a built-in role can be renamed, but not deleted', async () => {
    for (const code of builtIn) {
      const before = (await service.admin('GET', byCode(code))).body
      const standing = code.startsWith('org_')
        ? { scope: 'org', assignable_by: 'org_admin' }
        : { scope: 'global', assignable_by: 'system_admin' }
      expect(before).toMatchObject({ code, built_in: true, ...standing })
      expectError(await service.admin('DELETE', byCode(code)), 'built_in')
      expect((await change(code, { name: 'Another' })).body).toMatchObject({ code, name: 'Another', built_in: true })
      await change(code, { name: before.name })
    }
  })

  test('roles are listed by code, page by page', async () => {
    const mark = `m${randomBytes(4).toString('hex')}`
    const codes = ['z', '-a', '_a', 'a', '9', 'a-b', 'a_b', 'ab'].map((end) => `${mark}${end}`)
    for (const code of codes) await create({ code, name: code, scope: 'org' })
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body }: { body: Json } = await service.admin('GET', `/admin/roles?limit=3${cursor ? `&cursor=${cursor}` : ''}`)
      expect(body.items.length).toBeLessThanOrEqual(3)
      seen.push(...body.items.map((item: Json) => item.code))
      cursor = body.next_cursor
    }
    // Sorted by character code, on both databases.
    expect(seen).toEqual([...seen].sort())
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining([...codes, ...builtIn]))
  })
})

describe('the deletion of a role', () => {
  test('a role cannot be deleted while an app names it, as default or among those a client may choose', async () => {
    const organization = await buildOrganization(service)
    const code = await buildRole(service, 'org')
    const naming = await buildApp(service, { default_organization_id: organization.id, default_role_code: code })
    expectError(await service.admin('DELETE', byCode(code)), 'role_in_use')
    await service.admin('PATCH', `/admin/apps/${naming.id}`, {
      body: { default_role_code: null, override_role_codes: ['org_member', code] },
    })
    expectError(await service.admin('DELETE', byCode(code)), 'role_in_use')
    // A code that is a prefix of another, or matches it as a LIKE pattern, does not count as that other.
    for (const other of [code.slice(0, -1), code.replace('-', '_')]) {
      await create({ code: other, name: 'x', scope: 'org' })
      expect((await service.admin('DELETE', byCode(other))).status).toBe(204)
    }
    await service.admin('PATCH', `/admin/apps/${naming.id}`, { body: { override_role_codes: [] } })
    expect((await service.admin('DELETE', byCode(code))).status).toBe(204)
  })

  test('a role cannot be deleted while a user or member holds it, but deleted users and invitations do not count', async () => {
    const user = await newUser()
    const organization = await buildOrganization(service)
    const [globalRole, orgRole] = [await buildRole(service, 'global', ['orders:read']), await buildRole(service, 'org')]
    await assign(user, globalRole)
    await addMember(service, organization.id, user.id, [orgRole])
    for (const role of [globalRole, orgRole]) expectError(await service.admin('DELETE', byCode(role)), 'role_in_use')
    const token = await buildInvitation(service, { organizationId: organization.id, roles: [orgRole] })
    await closeAccount(service, user.id, 'deleted')
    for (const role of [globalRole, orgRole]) expect((await service.admin('DELETE', byCode(role))).status).toBe(204)
    for (const table of ['user_roles', 'membership_roles', 'role_permissions']) {
      expect(await countRows(service, table, { role_code: table === 'membership_roles' ? orgRole : globalRole })).toBe(0)
    }
    const { body } = await service.register(someEmail(), app.code, { invite_token: token })
    expect(body.organization.role_codes).toEqual(['org_member'])
  })

  test('concurrent deletion and use of a role never both succeed', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = await newUser()
      const organization = await buildOrganization(service)
      const [globalRole, orgRole] = [await buildRole(service, 'global'), await buildRole(service, 'org')]
      const chosen = await buildRole(service, 'org')
      const [assigned, first, member, second, named, third] = await Promise.all([
        assign(user, globalRole),
        service.admin('DELETE', byCode(globalRole)),
        service.admin('PUT', `/admin/organizations/${organization.id}/members/${user.id}`, { body: { role_codes: [orgRole] } }),
        service.admin('DELETE', byCode(orgRole)),
        service.admin('PATCH', `/admin/apps/${app.id}`, { body: { override_role_codes: [chosen] } }),
        service.admin('DELETE', byCode(chosen)),
      ])
      for (const [used, deleted] of [
        [assigned, first],
        [member, second],
        [named, third],
      ] as const) {
        if (deleted.status === 204) expectError(used, 'validation_failed')
        else {
          expectError(deleted, 'role_in_use')
          expect([200, 201]).toContain(used.status)
        }
      }
    }
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { override_role_codes: [] } })
  })
})

describe('the permissions of a role', () => {
  const put = (role: string, permissions: Json) => service.admin('PUT', byCode(role, '/permissions'), { body: { permissions } })
  const add = (role: string, permissions: Json) => service.admin('POST', byCode(role, '/permissions'), { body: { permissions } })

  // covers permissions-roles
  test('permissions are replaced, added and taken, and each change is audited with the values before and after', async () => {
    const role = await buildRole(service, 'global')
    const items = (...codes: string[]) => ({ items: codes.map((code) => ({ code, service: 'shop' })) })
    const replaced = await put(role, ['orders:write', 'orders:read', 'orders:write'])
    expect(replaced.status).toBe(200)
    expect(replaced.body).toEqual(items('orders:read', 'orders:write'))
    expect((await add(role, ['orders:read'])).body).toEqual(items('orders:read', 'orders:write'))
    expect((await add(role, ['users:read_self', 'orders:cancel'])).body.items).toEqual([
      ...items('orders:cancel', 'orders:read', 'orders:write').items,
      { code: 'users:read_self', service: 'core' },
    ])
    expect((await service.admin('DELETE', byCode(role, '/permissions/orders:read'))).status).toBe(204)
    expectError(await service.admin('DELETE', byCode(role, '/permissions/orders:read')), 'not_found')
    expectError(await service.admin('DELETE', byCode(role, '/permissions/no:such')), 'not_found')
    expect((await put(role, ['orders:cancel'])).body).toEqual(items('orders:cancel'))
    expect((await put(role, ['orders:cancel'])).body).toEqual(items('orders:cancel'))
    expect((await service.admin('GET', byCode(role, '/permissions'))).body).toEqual(items('orders:cancel'))
    expect((await put(role, [])).body).toEqual(items())
    const steps = [
      [],
      ['orders:read', 'orders:write'],
      ['orders:cancel', 'orders:read', 'orders:write', 'users:read_self'],
      ['orders:cancel', 'orders:write', 'users:read_self'],
      ['orders:cancel'],
      [],
    ]
    const changes = (await audited(role)).filter(({ event }) => event === 'role_permissions.changed')
    expect(changes.map(({ details }) => details)).toEqual(
      steps.slice(1).map((after, index) => ({
        role_code: role,
        before: { permissions: steps[index] },
        after: { permissions: after },
      })),
    )
  })

  test('unknown permissions are refused, each named by its place, and nothing is written', async () => {
    const role = await buildRole(service, 'org', ['orders:read'])
    for (const write of [put, add]) {
      const refused = await write(role, ['no:such', 'orders:write', '', 'orders:*'])
      expect(faultsOf(refused)).toEqual(
        ['permissions.0', 'permissions.2', 'permissions.3'].map((path) => `${path}: invalid_value`),
      )
      expect(faultsOf(await write(role, 'orders:read'))).toEqual(['permissions: invalid_type'])
      expect(faultsOf(await write(role, [5]))).toEqual(['permissions.0: invalid_type'])
      expect(faultsOf(await write(role, Array(5_001).fill('orders:read')))).toEqual(['permissions: too_long'])
      expectError(await write(unique('none'), ['orders:read']), 'not_found')
    }
    expect(await permissionsOf(role)).toEqual(['orders:read'])
  })

  test('super_admin has all permissions, and they cannot be changed', async () => {
    const all = (await service.admin('GET', '/admin/permissions?limit=200')).body.items.map((item: Json) => item.code)
    expect(await permissionsOf('super_admin')).toEqual(all.sort())
    expectError(await put('super_admin', []), 'built_in')
    expectError(await add('super_admin', ['orders:read']), 'built_in')
    expectError(await service.admin('DELETE', byCode('super_admin', '/permissions/orders:read')), 'built_in')
  })

  // covers permissions-tokens
  test('the permissions of a role are in the tokens of its holders, global or in an organization', async () => {
    const user = await newUser()
    const organization = await buildOrganization(service)
    const [globalRole, orgRole] = [
      await buildRole(service, 'global', ['orders:read']),
      await buildRole(service, 'org', ['orders:write']),
    ]
    await assign(user, globalRole)
    await addMember(service, organization.id, user.id, [orgRole])
    const claims = async (extra: Json = {}) => claimsOf((await service.login(user.email, app.code, extra)).body.access_token)
    expect(await claims()).toMatchObject({
      roles: ['base_user', globalRole].sort(),
      permissions: ['orders:read', 'users:read_self', 'users:update_self'],
    })
    expect(await claims({ organization_id: organization.id })).toMatchObject({
      roles: [orgRole],
      permissions: ['orders:write', 'users:read_self', 'users:update_self'],
    })
    await service.admin('DELETE', byCode(globalRole, '/permissions/orders:read'))
    expect((await claims()).permissions).toEqual(['users:read_self', 'users:update_self'])
  })

  test('pruned permissions of a role are hidden, but removed when the list is replaced', async () => {
    const name = unique('svc')
    const permission = (action: string) => ({ code: `${name}:${action}`, name: action, resource: name, action })
    const register = (...actions: string[]) =>
      service.admin('POST', '/admin/permissions/register', { body: { service: name, permissions: actions.map(permission) } })
    const codes = ['a', 'b', 'c'].map((action) => `${name}:${action}`)
    await register('a', 'b', 'c')
    const [kept, replaced] = [await buildRole(service, 'global', codes), await buildRole(service, 'global', codes)]
    await register('a')
    expect(await permissionsOf(replaced)).toEqual([codes[0]])
    expect((await put(replaced, [codes[0]])).status).toBe(200)
    // An admin makes sure that the pruned permission does not come back.
    expect((await service.admin('DELETE', byCode(kept, `/permissions/${codes[1]}`))).status).toBe(204)
    await register('a', 'b', 'c')
    expect(await permissionsOf(replaced)).toEqual([codes[0]])
    expect(await permissionsOf(kept)).toEqual([codes[0], codes[2]])
  })

  test('concurrent additions are all kept, and one of several concurrent lists is kept as a whole', async () => {
    const role = await buildRole(service, 'global')
    const codes = ['orders:cancel', 'orders:read', 'orders:write']
    await Promise.all(Array.from({ length: 30 }, (_, index) => add(role, [codes[index % 3]])))
    expect(await permissionsOf(role)).toEqual(codes)
    expect((await audited(role)).filter(({ event }) => event === 'role_permissions.changed')).toHaveLength(3)
    const lists = [['orders:cancel', 'orders:read'], ['orders:write'], ['users:read_self', 'users:update_self']]
    for (let round = 0; round < 5; round += 1) {
      const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => put(role, lists[index % 3])))
      for (const [index, { body }] of replies.entries())
        expect(body.items.map((item: Json) => item.code)).toEqual(lists[index % 3])
      expect(lists).toContainEqual(await permissionsOf(role))
    }
  })
})

describe('the roles of a user', () => {
  test('a role is given once, listed, taken and audited', async () => {
    const user = await newUser()
    const role = await buildRole(service, 'global')
    const first = await assign(user, role)
    expect(first.status).toBe(201)
    expect(first.body).toEqual({
      code: role,
      name: role,
      scope: 'global',
      description: null,
      built_in: false,
      assignable_by: 'system_admin',
      assigned_at: expect.any(String),
    })
    service.advance(5)
    const again = await assign(user, role)
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    const { items } = (await service.admin('GET', rolesOf(user))).body
    expect(items).toContainEqual(first.body)
    expect(items.map((item: Json) => item.code)).toEqual(['base_user', role])
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.roles).toEqual(['base_user', role])
    expect((await unassign(user, role)).status).toBe(204)
    expectError(await unassign(user, role), 'not_found')
    expect(await held(user)).toEqual(['base_user'])
    expect(await audited(role)).toEqual([
      expect.objectContaining({ event: 'role.created' }),
      { event: 'role.assigned', user_id: user.id, details: { role_code: role } },
      { event: 'role.unassigned', user_id: user.id, details: { role_code: role } },
    ])
  })

  test('a user takes only existing global roles, and base_user can be taken and given as well', async () => {
    const user = await newUser()
    for (const role of ['org_member', await buildRole(service, 'org'), unique('none'), '', 'Base_User']) {
      expect(faultsOf(await assign(user, role)), role).toEqual(['role_code: invalid_value'])
    }
    expect(faultsOf(await service.admin('POST', rolesOf(user), { body: {} }))).toEqual(['role_code: required'])
    expect((await unassign(user, 'base_user')).status).toBe(204)
    expect(await held(user)).toEqual([])
    expect((await assign(user, 'base_user')).status).toBe(201)
  })

  test('the roles of an unknown or deleted user are 404', async () => {
    const user = await newUser()
    await closeAccount(service, user.id, 'deleted')
    for (const each of [user, { id: randomUUID() }]) {
      expectError(await assign(each, 'base_user'), 'not_found')
      expectError(await unassign(each, 'base_user'), 'not_found')
    }
    expectError(await service.admin('GET', rolesOf({ id: randomUUID() })), 'not_found')
  })

  test('concurrent calls give a role once', async () => {
    const user = await newUser()
    const role = await buildRole(service, 'global')
    const replies = await Promise.all(Array.from({ length: 20 }, () => assign(user, role)))
    expect(replies.map((reply) => reply.status).sort()).toEqual([...Array(19).fill(200), 201])
    const taken = await Promise.all(Array.from({ length: 20 }, () => unassign(user, role)))
    expect(taken.map((reply) => reply.status).sort()).toEqual([204, ...Array(19).fill(404)])
    expect((await audited(role)).map(({ event }) => event)).toEqual(['role.created', 'role.assigned', 'role.unassigned'])
  })
})

describe('the role system_admin', () => {
  test('system_admin opens the admin API at once when given, and closes it at once when taken', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const ask = () => service.call('GET', '/admin/roles', { token })
    expectError(await ask(), 'system_admin_required')
    await markVerified(service, user.id)
    await assign(user, 'system_admin')
    expect((await ask()).status).toBe(200)
    const fresh = (await service.login(user.email, app.code)).body.access_token
    expect(claimsOf(fresh).roles).toContain('system_admin')
    expect((await unassign(user, 'system_admin')).status).toBe(204)
    expectError(await ask(), 'token_revoked')
    expectError(await service.call('GET', '/admin/roles', { token: fresh }), 'token_revoked')
    // The service does not believe a forged token that still claims the role, signed with the secret that every consumer holds.
    const forged = forgeToken({ ...claimsOf(fresh), tv: claimsOf(fresh).tv + 1 })
    expectError(await service.call('GET', '/admin/roles', { token: forged }), 'system_admin_required')
    const body = { service: unique('x'), permissions: [] }
    expectError(await service.call('POST', '/admin/permissions/register', { token: forged, body }), 'service_caller_required')
  })

  test('the last active system_admin keeps the role', async () => {
    const own = await buildService()
    const naming = await buildApp(own, { auto_grant_on_signup: true })
    const { user: admin } = (await own.login('admin@example.com', naming.code)).body
    const take = (user: Json) => own.admin('DELETE', `/admin/users/${user.id}/roles/system_admin`)
    expectError(await take(admin), 'last_system_admin')
    const { user: other } = await buildUser(own, naming)
    expectError(await own.admin('DELETE', `/admin/users/${other.id}/roles/system_admin`), 'not_found')
    await markVerified(own, other.id)
    await own.admin('POST', `/admin/users/${other.id}/roles`, { body: { role_code: 'system_admin' } })
    // A suspended system_admin does not count.
    await closeAccount(own, other.id, 'suspended')
    expectError(await take(admin), 'last_system_admin')
    expect((await take(other)).status).toBe(204)
    expect((await own.admin('DELETE', `/admin/users/${admin.id}/roles/base_user`)).status).toBe(204)
    expect((await own.admin('GET', `/admin/users/${admin.id}/roles`)).body.items.map((item: Json) => item.code)).toEqual([
      'system_admin',
    ])
  })

  test('one of ten system admins who remove each other at once keeps the role', async () => {
    const own = await buildService()
    const naming = await buildApp(own, { auto_grant_on_signup: true })
    const { user: first } = (await own.login('admin@example.com', naming.code)).body
    const admins = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { user, access_token: token } = await buildUser(own, naming)
        await markVerified(own, user.id)
        await own.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: 'system_admin' } })
        return { user, token }
      }),
    )
    expect((await own.admin('DELETE', `/admin/users/${first.id}/roles/system_admin`)).status).toBe(204)
    const replies = await Promise.all(
      admins.map(({ token }, index) =>
        own.call('DELETE', `/admin/users/${admins[(index + 1) % 10]!.user.id}/roles/system_admin`, { token }),
      ),
    )
    // A caller who was demoted before is refused. The last admin is never demoted.
    for (const { status, body } of replies)
      if (status !== 204) expect(['last_system_admin', 'system_admin_required', 'token_revoked']).toContain(body.code)
    expect(await countRows(own, 'user_roles', { role_code: 'system_admin' })).toBeGreaterThanOrEqual(1)
    expect((await own.login(first.email, naming.code, { password: PASSWORD })).status).toBe(200)
  })
})
