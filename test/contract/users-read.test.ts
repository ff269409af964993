import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { addMember, buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { ADMIN_EMAIL, buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service, { auto_grant_on_signup: true, read_namespaces: ['partners', 'alumni'] })

async function find(query: string): Promise<string[]> {
  const { status, body } = await service.admin('GET', `/admin/users?limit=200&${query}`)
  expect(status).toBe(200)
  return body.items.map((user: Json) => user.email)
}

describe('GET /admin/users/:id', () => {
  test('a user is shown with pools, apps, roles and organizations, and nothing secret', async () => {
    const { user } = await buildUser(service, app, { first_name: 'Ada', last_name: 'Lovelace' })
    const organization = await buildOrganization(service, 'acme')
    await addMember(service, organization.id, user.id, ['org_admin'])
    const reply = await service.admin('GET', `/admin/users/${user.id}`)
    expect(reply.status).toBe(200)
    expectHeaders(reply)
    expect(reply.body).toMatchObject({
      id: user.id,
      email: user.email,
      email_verified: false,
      first_name: 'Ada',
      last_name: 'Lovelace',
      namespace: 'default',
      namespaces: ['default', 'alumni', 'partners'],
      status: 'active',
      created_at: user.created_at,
      apps: [{ app_id: app.id, app_code: app.code, status: 'active', effective: 'active', expires_at: null }],
      roles: ['base_user'],
      organizations: [{ id: organization.id, slug: 'acme', name: 'acme', role_codes: ['org_admin'] }],
    })
    expect(JSON.stringify(reply.body)).not.toMatch(/password|hash|\$2[aby]\$|token_version|secret/i)
  })

  test('a user is named by the UUID in upper or lower case, and anything else is 404', async () => {
    const { user } = await buildUser(service, app)
    expect((await service.admin('GET', `/admin/users/${user.id.toUpperCase()}`)).body.id).toBe(user.id)
    for (const id of [randomUUID(), 'me', user.email, `${user.id}x`, '0', '%00'])
      expectError(await service.admin('GET', `/admin/users/${id}`), 'not_found', id)
  })

  test('a suspended user is shown as suspended', async () => {
    const { user } = await buildUser(service, app)
    await service.deps.db('users').where({ id: user.id }).update({ status: 'suspended' })
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.status).toBe('suspended')
  })
})

describe('GET /admin/users', () => {
  let people: Record<'ada' | 'bob' | 'eve' | 'gone', Json>
  let vault: Json

  beforeAll(async () => {
    vault = await buildApp(service, { registration_namespace: 'vault' })
    const make = async (name: string, target: Json, names: Record<string, string>) =>
      (await service.register(`${name}@list.example`, target.code, names)).body.user
    people = {
      ada: await make('ada_1', app, { first_name: 'Ada', last_name: "100% O'Neil" }),
      bob: await make('bob', vault, { first_name: 'BOB', last_name: 'Ünal' }),
      eve: await make('eve', app, {}),
      gone: await make('gone', app, { first_name: 'Gone' }),
    }
    await service.deps.db('users').where({ id: people.eve.id }).update({ status: 'suspended' })
    await service.deps.db('users').where({ id: people.gone.id }).update({ status: 'deleted' })
  })

  test('the list shows users as every answer does, newest first, without the deleted ones', async () => {
    const { body } = await service.admin('GET', '/admin/users?q=list.example')
    expect(body.next_cursor).toBeNull()
    expect(body.items.map((user: Json) => user.email)).toEqual(['eve@list.example', 'bob@list.example', 'ada_1@list.example'])
    expect(body.items[2]).toEqual(people.ada)
    expect(JSON.stringify(body)).not.toMatch(/password|hash|\$2[aby]\$|token_version/i)
  })

  test('the list filters by e-mail address, in the form in which addresses are compared', async () => {
    for (const email of ['bob@list.example', 'BOB@List.Example', '%20bob%40list.example%20', 'ｂｏｂ@list.example'])
      expect(await find(`email=${email}`)).toEqual(['bob@list.example'])
    expect(await find('email=bo@list.example')).toEqual([])
    const reply = await service.admin('GET', '/admin/users?email=bob')
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['email: invalid_value'])
  })

  test('the list filters by pool, home or tag', async () => {
    expect(await find('namespace=vault')).toEqual(['bob@list.example'])
    expect(await find('namespace=alumni&q=list.example')).toEqual(['eve@list.example', 'ada_1@list.example'])
    expect(await find('namespace=default&q=list.example')).toEqual(['eve@list.example', 'ada_1@list.example'])
    expect(await find('namespace=nobody')).toEqual([])
    expectError(await service.admin('GET', '/admin/users?namespace=No%20Pool'), 'validation_failed')
  })

  test('the list filters by the UUID or code of an app, and counts only active grants', async () => {
    for (const ref of [app.id, app.code])
      expect(await find(`app=${ref}&q=list.example`)).toEqual(['eve@list.example', 'ada_1@list.example'])
    expect(await find(`app=${vault.code}`)).toEqual([])
    for (const ref of [`${app.code}x`, randomUUID()])
      expectError(await service.admin('GET', `/admin/users?app=${ref}`), 'not_found')
    expect((await service.admin('GET', `/admin/users?app=${app.code}x`)).body.detail).toBe(
      `No app has the code or id ${app.code}x; the nearest is ${app.code}`,
    )
    await service.admin('DELETE', `/admin/users/${people.eve.id}/apps/${app.id}`)
    expect(await find(`app=${app.id}&q=list.example`)).toEqual(['ada_1@list.example'])
  })

  test('the list filters by role', async () => {
    expect(await find('role=system_admin')).toEqual([ADMIN_EMAIL])
    expect(await find('role=base_user&q=list.example')).toHaveLength(3)
    expect(await find('role=org_member')).toEqual([])
    const unknown = await service.admin('GET', '/admin/users?role=sytem_admin')
    expectError(unknown, 'not_found')
    expect(unknown.body.detail).toBe('No role has the code sytem_admin; the nearest is system_admin')
  })

  test('the list filters by status', async () => {
    expect(await find('status=suspended&q=list.example')).toEqual(['eve@list.example'])
    expect(await find('status=deleted&q=list.example')).toEqual(['gone@list.example'])
    expect(await find('status=active&q=list.example')).toEqual(['bob@list.example', 'ada_1@list.example'])
    expectError(await service.admin('GET', '/admin/users?status=any'), 'validation_failed')
  })

  test.each([
    ['ADA_', ['ada_1']],
    ["o'neil", ['ada_1']],
    ['100%', ['ada_1']],
    ['%25', []],
    ['%', []],
    ['10', ['ada_1']],
    ['00', []],
    ['a_1', ['ada_1']],
    ['d_1', []],
    ['bob', ['bob']],
    ['Ünal', ['bob']],
    ['ünal', []],
    ['LIST.EXAMPLE', ['eve', 'bob', 'ada_1']],
    ['\\', []],
  ])('the list filters by text: %j is literal, in addresses and names', async (q, names) => {
    expect(await find(`q=${encodeURIComponent(q)}`)).toEqual(names.map((name) => `${name}@list.example`))
  })

  test('the list applies all filters together, in pages', async () => {
    expect(await find(`q=ada&status=active&namespace=partners&role=base_user&app=${app.code}&email=ada_1@list.example`)).toEqual([
      'ada_1@list.example',
    ])
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const { body }: Json = await service.admin(
        'GET',
        `/admin/users?q=list.example&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`,
      )
      seen.push(...body.items.map((user: Json) => user.email))
      cursor = body.next_cursor
    } while (cursor !== null)
    expect(seen).toEqual(['eve@list.example', 'bob@list.example', 'ada_1@list.example'])
  })
})
