import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { addMember, assignRole, buildOrganization, buildRole, closeAccount, declared } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json, unique } from '../support/service.ts'

const service = serviceFixture()

const core = ['users:read_self', 'users:update_self']

function register(name: string, permissions: Json[], extra: Json = {}, query = '') {
  return service.admin('POST', `/admin/permissions/register${query}`, { body: { service: name, permissions, ...extra } })
}

const counts = ({ body: { created, updated, pruned, unchanged } }: Json) => ({ created, updated, pruned, unchanged })

/** The codes of a service, as the admin API lists them. */
async function codesOf(name: string): Promise<string[]> {
  const { body } = await service.admin('GET', `/admin/permissions?service=${name}&limit=200`)
  return body.items.map((item: Json) => item.code).sort()
}

async function heldBy(role: string): Promise<string[]> {
  const { body } = await service.admin('GET', `/admin/roles/${role}/permissions`)
  return body.items.map((item: Json) => item.code)
}

async function tokenPermissions(user: Json, app: Json, extra: Json = {}): Promise<string[]> {
  return claimsOf((await service.login(user.email, app.code, extra)).body.access_token).permissions
}

async function buildServiceAccount(settings: Json): Promise<Json> {
  return (await service.admin('POST', '/admin/service-accounts', { body: { name: randomUUID(), ...settings } })).body
}

describe('the registration of permissions', () => {
  // covers permissions-reconciled
  test('a declared list replaces the permissions of the service by inserting, renaming and pruning', async () => {
    const name = unique('notes')
    const first = await register(name, declared('notes:write', ['notes:read', 'Read notes']))
    expect(first.status).toBe(200)
    expect(first.body).toEqual({
      service: name,
      created: 2,
      updated: 0,
      pruned: 0,
      unchanged: 0,
      permissions: [...declared(['notes:read', 'Read notes']), ...declared('notes:write')],
    })
    const { body } = await register(name, declared(['notes:read', 'Read every note'], 'notes:share'))
    expect(body).toEqual({
      service: name,
      created: 1,
      updated: 1,
      pruned: 1,
      unchanged: 0,
      permissions: declared(['notes:read', 'Read every note'], 'notes:share'),
    })
    const again = await register(name, declared('notes:share', ['notes:read', 'Read every note']))
    expect(counts(again)).toEqual({ created: 0, updated: 0, pruned: 0, unchanged: 2 })
    expect(again.body.permissions).toEqual(body.permissions)
    const { items } = (await service.admin('GET', `/admin/permissions?service=${name}`)).body
    expect(items).toHaveLength(2)
    expect(items).toEqual(expect.arrayContaining(body.permissions.map((each: Json) => ({ service: name, ...each }))))
  })

  test('an empty list prunes all permissions of that service, and of no other', async () => {
    const [name, other] = [unique('a'), unique('b')]
    await register(name, declared(`${name}:x`, `${name}:y`))
    await register(other, declared(`${other}:x`))
    expect(counts(await register(name, []))).toEqual({ created: 0, updated: 0, pruned: 2, unchanged: 0 })
    expect(await codesOf(name)).toEqual([])
    expect(await codesOf(other)).toEqual([`${other}:x`])
    expect(counts(await register(name, []))).toEqual({ created: 0, updated: 0, pruned: 0, unchanged: 0 })
  })

  test('a registration is audited with counts if something changed, and not otherwise', async () => {
    const name = unique('audited')
    for (const codes of [
      ['a:x', 'a:y'],
      ['a:x', 'a:y'],
      ['a:y', 'a:z'],
    ]) {
      expect((await register(name, declared(...codes.map((code) => `${name}-${code}`)))).status).toBe(200)
    }
    const events = (await auditEvents(service, { event: 'permissions.registered' })).filter(
      (event) => event.details.service === name,
    )
    expect(events.map((event) => event.details)).toEqual([
      {
        service: name,
        revision: null,
        created: 2,
        updated: 0,
        pruned: 0,
        unchanged: 0,
        codes: { created: [`${name}-a:x`, `${name}-a:y`], updated: [], pruned: [] },
      },
      {
        service: name,
        revision: null,
        created: 1,
        updated: 0,
        pruned: 1,
        unchanged: 1,
        codes: { created: [`${name}-a:z`], updated: [], pruned: [`${name}-a:x`] },
      },
    ])
    expect(events[0].actor_type).toBe('user')
  })

  test('5,000 permissions are registered as a whole and quickly, and one more is refused', async () => {
    const name = unique('large')
    const many = declared(...Array.from({ length: 5_001 }, (_, index): [string, string] => [`r${index}:act`, 'n'.repeat(100)]))
    expect(faultsOf(await register(name, many))).toEqual(['permissions: too_long'])
    const list = many.slice(1)
    const statements: Record<string, number> = {}
    const counted = async (what: string, permissions: Json[]) => {
      statements[what] = 0
      const count = () => {
        statements[what]! += 1
      }
      service.deps.db.on('query', count)
      const reply = await register(name, permissions)
      service.deps.db.off('query', count)
      return counts(reply)
    }
    expect(await counted('create', list)).toMatchObject({ created: 5_000 })
    expect(await counted('repeat', list)).toMatchObject({ unchanged: 5_000 })
    const renamed = list.map((each) => ({ ...each, name: 'another name' }))
    expect(await counted('rename', renamed)).toMatchObject({ updated: 5_000 })
    const role = await buildRole(
      service,
      'global',
      list.map((each) => each.code),
    )
    expect(await heldBy(role)).toHaveLength(5_000)
    expect(await counted('prune', [])).toMatchObject({ pruned: 5_000 })
    expect(await heldBy(role)).toEqual([])
    expect(await counted('revive', list)).toMatchObject({ created: 5_000 })
    expect(await heldBy(role)).toHaveLength(5_000)
    expect(counts(await register(name, [], {}, '?dry_run=true'))).toMatchObject({ pruned: 5_000 })
    // One by one, it would take 5,000 statements.
    for (const [what, count] of Object.entries(statements)) {
      expect(count, what).toBeGreaterThan(0)
      expect(count, what).toBeLessThan(100)
    }
    await register(name, [])
  })
})

describe('the body of a registration', () => {
  // covers permission-code
  test('a code must equal resource and action, compared exactly', async () => {
    const name = unique('forms')
    const [good] = declared('a_1-b:c_2-d')
    const forms = [
      { ...good, code: 'A.b/c:Read:all/*', resource: 'A.b/c', action: 'Read:all/*' },
      { ...good, code: 'a.b/c:Read:all/*', resource: 'a.b/c', action: 'Read:all/*' },
      { ...good, code: '*:*', resource: '*', action: '*' },
      { ...good, code: `${'r'.repeat(199)}:a`, resource: 'r'.repeat(199), action: 'a' },
    ]
    expect((await register(name, [good, ...forms])).body).toMatchObject({ created: 5 })
    expect((await register(name, [good])).body).toMatchObject({ pruned: 4 })
    const broken: [Json, string[]][] = [
      [{ ...good, code: 'a:b' }, ['permissions.0.code: invalid_value']],
      [{ ...good, code: 'a_1-b:c_2-d ' }, Array(2).fill('permissions.0.code: invalid_value')],
      [
        { ...good, code: 'ä:b', resource: 'ä', action: 'b' },
        ['permissions.0.code: invalid_value', 'permissions.0.resource: invalid_value'],
      ],
      [
        { ...good, code: 'a:b c', resource: 'a', action: 'b c' },
        ['permissions.0.action: invalid_value', 'permissions.0.code: invalid_value'],
      ],
      [{ ...good, code: `${'r'.repeat(200)}:a`, resource: 'r'.repeat(200), action: 'a' }, ['permissions.0.code: too_long']],
      [{ ...good, code: 'a:b:c', resource: 'a:b', action: 'c' }, ['permissions.0.resource: invalid_value']],
      [
        { ...good, code: ':b', resource: '', action: 'b' },
        ['permissions.0.code: invalid_value', 'permissions.0.resource: invalid_value', 'permissions.0.resource: too_short'],
      ],
      [{ code: 'a:b', name: 'x' }, ['permissions.0.action: required', 'permissions.0.resource: required']],
      [{ ...good, name: ' ' }, ['permissions.0.name: too_short']],
      [{ ...good, name: 'x'.repeat(201) }, ['permissions.0.name: too_long']],
      [{ ...good, description: 'x' }, ['permissions.0.description: unknown_field']],
      ['a:b', ['permissions.0: invalid_type']],
    ]
    for (const [permission, faults] of broken)
      expect(faultsOf(await register(name, [permission])), JSON.stringify(permission)).toEqual(faults)
    expect(await codesOf(name)).toEqual(['a_1-b:c_2-d'])
  })

  test('each code occurs once, revision and max_prune are integers, and the service has a name', async () => {
    const name = unique('twice')
    expect(faultsOf(await register(name, declared('a:x', 'a:y', ['a:x', 'again'])))).toEqual([
      'permissions.2.code: invalid_value',
    ])
    expect(faultsOf(await register('blank at its end ', declared('a:x')))).toEqual(['service: invalid_value'])
    for (const field of ['revision', 'max_prune']) {
      for (const value of [-1, 1.5, '1', null, 2 ** 60]) {
        expect(faultsOf(await register(name, [], { [field]: value }))[0], `${value}`).toMatch(`${field}: `)
      }
    }
    expect(faultsOf(await register(name, [], {}, '?dry_run=1'))).toEqual(['dry_run: invalid_value'])
    expect(await codesOf(name)).toEqual([])
  })
})

describe('the caller of a registration', () => {
  // covers permissions-callers auth-admin
  test('a service account with the scope registers only its own service', async () => {
    const [mine, other] = [unique('mine'), unique('other')]
    const { token, id } = await buildServiceAccount({ service: mine })
    const as = (bearer: string, name: string) =>
      service.call('POST', '/admin/permissions/register', {
        token: bearer,
        body: { service: name, permissions: declared(`${mine}:x`) },
      })
    expect(counts(await as(token, mine))).toMatchObject({ created: 1 })
    expectError(await as(token, other), 'service_mismatch')
    expectError(await as(token, mine.toUpperCase()), 'service_mismatch')
    const scopeless = await buildServiceAccount({ service: mine, scopes: ['users:register_or_return'], app_codes: ['authctl'] })
    expectError(await as(scopeless.token, mine), 'scope_required')
    expectError(await as(scopeless.token, other), 'scope_required')
    expect(await codesOf(other)).toEqual([])
    const [event] = await auditEvents(service, { event: 'permissions.registered', actor_id: id })
    expect(event).toMatchObject({ actor_type: 'service_account', details: { service: mine, created: 1 } })
  })

  // covers permission-core permission-core-codes
  test('nobody can register core, which is built in', async () => {
    expectError(await register('core', []), 'service_reserved')
    const { token } = await buildServiceAccount({ service: 'core' })
    const body = { service: 'core', permissions: declared('core:x') }
    expectError(await service.call('POST', '/admin/permissions/register', { token, body }), 'service_reserved')
    expect(await codesOf('core')).toEqual(core)
  })
})

describe('the owner of a code', () => {
  // covers permission-service
  test('a code belongs to one service, and any other service gets 409 with nothing written', async () => {
    const [owner, other] = [unique('owner'), unique('other')]
    const code = `${owner}:x`
    await register(owner, declared(code))
    const refused = await register(other, declared(`${other}:x`, code))
    expectError(refused, 'permission_owned_by_other_service')
    expect(refused.body.detail).toContain(`${code} (${owner})`)
    expectError(await register(other, declared(code), {}, '?dry_run=true'), 'permission_owned_by_other_service')
    expect(await codesOf(other)).toEqual([])
    expectError(await register(unique('third'), declared(core[0]!)), 'permission_owned_by_other_service')
  })

  test('a pruned code is free, and its roles get it back only from its former service', async () => {
    const [first, second] = [unique('first'), unique('second')]
    const code = `${first}:x`
    await register(first, declared(code))
    const role = await buildRole(service, 'global', [code])
    await register(first, [])
    expect(counts(await register(second, declared(code)))).toMatchObject({ created: 1 })
    expect(await heldBy(role)).toEqual([])
    expectError(await register(first, declared(code)), 'permission_owned_by_other_service')
    await register(second, [])
    expect(counts(await register(first, declared(code)))).toMatchObject({ created: 1 })
    expect(await heldBy(role)).toEqual([code])
  })
})

describe('pruned permissions', () => {
  test('a pruned permission leaves tokens and lists at once, and returns to its roles when declared again', async () => {
    const name = unique('shop')
    const [read, write] = [`${name}:read`, `${name}:write`]
    await register(name, declared(read, write))
    const listing = await buildApp(service, { auto_grant_on_signup: true, service_codes: [name] })
    const elsewhere = await buildApp(service, { auto_grant_on_signup: true, service_codes: [] })
    const role = await buildRole(service, 'global', [read, write])
    const { user } = await buildUser(service, listing)
    await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: role } })
    await service.login(user.email, elsewhere.code)
    const seen = async () => ({
      listing: await tokenPermissions(user, listing),
      elsewhere: await tokenPermissions(user, elsewhere),
      role: await heldBy(role),
      catalog: await codesOf(name),
    })
    const whole = {
      listing: [read, write, ...core].sort(),
      elsewhere: [read, write, ...core].sort(),
      role: [read, write],
      catalog: [read, write],
    }
    expect(await seen()).toEqual(whole)
    await register(name, declared(read))
    const less = { listing: [read, ...core].sort(), elsewhere: [read, ...core].sort(), role: [read], catalog: [read] }
    expect(await seen()).toEqual(less)
    const all = (await service.admin('GET', '/admin/permissions?limit=200')).body.items.map((item: Json) => item.code)
    expect(all).toContain(read)
    expect(all).not.toContain(write)
    // A pruned permission cannot be assigned.
    const refused = await service.admin('POST', `/admin/roles/${role}/permissions`, { body: { permissions: [write] } })
    expect(faultsOf(refused)).toEqual(['permissions.0: invalid_value'])
    await register(name, declared(write, read))
    expect(await seen()).toEqual(whole)
  })

  test('a rolling deploy that alternates between two lists loses no role assignment', async () => {
    const name = unique('flap')
    const [both, old, next] = [`${name}:both`, `${name}:old`, `${name}:new`]
    const [a, b] = [declared(both, old), declared(both, next)]
    await register(name, a)
    const oldRole = await buildRole(service, 'global', [both, old])
    await register(name, b)
    const newRole = await buildRole(service, 'org', [next, both])
    for (const list of [a, b, a, b]) await register(name, list)
    expect(await heldBy(oldRole)).toEqual([both])
    expect(await heldBy(newRole)).toEqual([both, next])
    await register(name, a)
    expect(await heldBy(oldRole)).toEqual([both, old])
    expect(await heldBy(newRole)).toEqual([both])
    expect(await countRows(service, 'permissions', { service: name })).toBe(3)
  })
})

describe('the revision of a list', () => {
  test('a list older than the newest one adds and renames, but prunes nothing', async () => {
    const name = unique('revised')
    const [a, b, c] = [`${name}:a`, `${name}:b`, `${name}:c`]
    await register(name, declared(a, b), { revision: 5 })
    const outdated = await register(name, declared([a, 'Another name'], c), { revision: 4, max_prune: 0 })
    expect(counts(outdated)).toEqual({ created: 1, updated: 1, pruned: 0, unchanged: 0 })
    expect(outdated.body.permissions).toEqual(declared([a, 'Another name'], b, c))
    expect(await codesOf(name)).toEqual([a, b, c])
    expect(counts(await register(name, [], { revision: 0 }))).toMatchObject({ pruned: 0 })
    // The newest revision sent again, a newer one, and a call without a revision all prune.
    expect(counts(await register(name, declared(a, b), { revision: 5 }))).toMatchObject({ pruned: 1, updated: 1 })
    expect(counts(await register(name, declared(a), { revision: 6 }))).toMatchObject({ pruned: 1 })
    expect(counts(await register(name, [], { revision: 5 }))).toMatchObject({ pruned: 0 })
    expect(counts(await register(name, []))).toMatchObject({ pruned: 1 })
  })

  test('a revision counts even if the list changes nothing, but not in a dry run', async () => {
    const name = unique('seen')
    const list = declared(`${name}:a`)
    await register(name, list, { revision: 1 })
    await register(name, list, { revision: 9 }, '?dry_run=true')
    expect(counts(await register(name, [], { revision: 8 }, '?dry_run=true'))).toMatchObject({ pruned: 1 })
    await register(name, list, { revision: 9 })
    expect(counts(await register(name, [], { revision: 8 }))).toMatchObject({ pruned: 0 })
  })
})

test('max_prune refuses a call that would prune more, and nothing is written', async () => {
  const name = unique('limited')
  const codes = ['a', 'b', 'c'].map((action) => `${name}:${action}`)
  await register(name, declared(...codes))
  const refused = await register(name, declared(`${name}:new`), { max_prune: 2, revision: 7 })
  expectError(refused, 'prune_limit')
  expect(refused.body.detail).toContain(codes[0]!)
  expectError(await register(name, [], { max_prune: 0 }, '?dry_run=true'), 'prune_limit')
  expect(await codesOf(name)).toEqual(codes)
  expect(counts(await register(name, [], { max_prune: 3, revision: 6 }))).toMatchObject({ pruned: 3 })
})

describe('a dry run of a registration', () => {
  test('a dry run reports the changes and the roles that would lose codes, and writes nothing', async () => {
    const name = unique('dry')
    const [a, b, c] = [`${name}:a`, `${name}:b`, `${name}:c`]
    await register(name, declared(a, b, c))
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const roles = [
      await buildRole(service, 'global', [a, b]),
      await buildRole(service, 'org', [c]),
      await buildRole(service, 'global', [a]),
    ].sort()
    const unused = await buildRole(service, 'global', [b])
    const users = await Promise.all(Array.from({ length: 4 }, async () => (await buildUser(service, app)).user))
    const organizations = [await buildOrganization(service), await buildOrganization(service)]
    const [globalRole, orgRole] = await rolesBy(a, c)
    await assignRole(service, users[0].id, globalRole!)
    await assignRole(service, users[3].id, globalRole!)
    for (const { id } of organizations) await addMember(service, id, users[0].id, [orgRole!])
    await addMember(service, organizations[0]!.id, users[1].id, [orgRole!])
    await closeAccount(service, users[3].id, 'deleted')
    const before = await service.deps.db('permissions').where({ service: name }).orderBy('id')

    const { status, body } = await register(name, declared(b, [`${name}:d`, 'D']), {}, '?dry_run=true')
    expect(status).toBe(200)
    expect(body).toEqual({
      service: name,
      created: 1,
      updated: 0,
      pruned: 2,
      unchanged: 1,
      permissions: declared(b, [`${name}:d`, 'D']),
      roles: roles.map((code) => ({
        code,
        permissions: code === orgRole ? [c] : [a],
        user_count: code === orgRole ? 2 : code === globalRole ? 1 : 0,
      })),
      user_count: 2,
    })
    expect(JSON.stringify(body)).not.toContain(unused)
    expect(await service.deps.db('permissions').where({ service: name }).orderBy('id')).toEqual(before)
    const fresh = unique('fresh')
    expect((await register(fresh, declared(`${fresh}:a`), {}, '?dry_run=true')).body).toMatchObject({
      created: 1,
      roles: [],
      user_count: 0,
    })
    expect(await countRows(service, 'permission_services', { service: fresh })).toBe(0)
    expect(await auditEvents(service, { event: 'permissions.registered' })).not.toContainEqual(
      expect.objectContaining({ details: expect.objectContaining({ service: fresh }) }),
    )
    // dry_run=false is a call like any other.
    expect((await register(name, declared(b), {}, '?dry_run=false')).body).not.toHaveProperty('roles')
    expect(await codesOf(name)).toEqual([b])

    async function rolesBy(...codes: string[]): Promise<string[]> {
      const held = await Promise.all(roles.map(async (role) => ({ role, codes: await heldBy(role) })))
      return codes.map((code) => held.find((each) => each.codes.includes(code))!.role)
    }
  })
})

test('permissions are listed newest first, page by page, of one service or all', async () => {
  const name = unique('paged')
  const codes = Array.from({ length: 5 }, (_, index) => `${name}:${index}`)
  for (const index of codes.keys()) await register(name, declared(...codes.slice(0, index + 1)))
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body }: { body: Json } = await service.admin(
      'GET',
      `/admin/permissions?service=${name}&limit=2${cursor ? `&cursor=${cursor}` : ''}`,
    )
    seen.push(...body.items.map((item: Json) => item.code))
    cursor = body.next_cursor
  }
  expect(seen).toEqual([...codes].reverse())
  const all = (await service.admin('GET', '/admin/permissions?limit=5')).body.items.map((item: Json) => item.code)
  expect(all).toEqual(seen)
  expect((await service.admin('GET', `/admin/permissions?service=${unique('none')}`)).body).toEqual({
    items: [],
    next_cursor: null,
  })
})
