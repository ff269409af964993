// `POST /admin/users/import`.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { PasswordHasher } from '../../packages/server/src/adapters/password-hasher.ts'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { buildRole } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { anyLine, buildApp, buildUser, type Json, PASSWORD, type Reply, someEmail, somePool } from '../support/service.ts'

/** A hash of PASSWORD. */
let hash: string
const service = serviceFixture()
beforeAll(async () => {
  const hasher = new PasswordHasher({ cost: 5, threads: 1 })
  hash = await hasher.hash(PASSWORD, anyLine)
  await hasher.close()
})

const show = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body
const find = async (email: string): Promise<Json[]> =>
  (await service.admin('GET', `/admin/users?email=${encodeURIComponent(email)}`)).body.items

function send(body: string | Uint8Array, query = '', headers: Record<string, string> = {}): Promise<Reply> {
  return service.admin('POST', `/admin/users/import${query}`, {
    body,
    headers: { 'content-type': 'application/x-ndjson', ...headers },
  })
}
const linesOf = (lines: (Json | string)[]) =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
const load = (...lines: (Json | string)[]) => send(linesOf(lines))
const counts = ({ body: { errors: _, ...rest } }: Reply) => rest

describe('a new user', () => {
  test.each(['2a', '2b', '2y'])(
    'an imported user can sign in with the password of the $%s hash, and has all that the line gives',
    async (prefix) => {
      const app = await buildApp(service, { registration_namespace: 'imported' })
      const role = await buildRole(service, 'global')
      const email = someEmail()
      const reply = await load({
        email: ` ${email.toUpperCase()}`,
        password_hash: hash.replace(/^\$2[aby]/, `$${prefix}`),
        first_name: 'Ada',
        last_name: 'Lovelace',
        namespace: 'imported',
        tags: ['b', 'a', 'imported', 'a'],
        apps: [app.code, app.id],
        roles: [role],
        email_verified: true,
      })
      expect(reply.status).toBe(200)
      expectHeaders(reply)
      expect(reply.body).toEqual({ imported: 1, updated: 0, unchanged: 0, failed: 0, errors: [] })
      const login = await service.login(email, app.code)
      expect(login.status).toBe(200)
      expect(await show(login.body.user.id)).toMatchObject({
        email,
        email_verified: true,
        first_name: 'Ada',
        last_name: 'Lovelace',
        namespaces: ['imported', 'a', 'b'],
        status: 'active',
        apps: [{ app_id: app.id, status: 'active' }],
        roles: ['base_user', role],
      })
      expect((await auditEvents(service, { user_id: login.body.user.id }))[0]).toMatchObject({
        event: 'user.imported',
        actor_type: 'user',
        details: {
          before: null,
          after: { email, namespaces: ['imported', 'a', 'b'], apps: [app.code], roles: ['base_user', role] },
        },
      })
      expect(JSON.stringify(await service.deps.db('audit_events'))).not.toMatch(/\$2[aby]\$/)
      expect(await countRows(service, 'outbox')).toBe(0)
    },
  )

  // covers provision-migrated state-grant-auto
  test('an imported user without an app is provisioned at the first login, like any user', async () => {
    const { body: organization } = await service.admin('POST', '/admin/organizations', { body: { name: 'Movers' } })
    const linked = await buildApp(service)
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      linked_app_codes: [linked.code],
    })
    const email = someEmail()
    await load({ email, password_hash: hash })
    const [{ id }] = await find(email)
    expect(await show(id)).toMatchObject({ apps: [], organizations: [] })
    expect((await service.login(email, app.code)).status).toBe(200)
    const { apps, organizations } = await show(id)
    expect(apps.map(({ app_code, status }: Json) => [app_code, status]).sort()).toEqual(
      [app, linked].map(({ code }) => [code, 'active']).sort(),
    )
    expect(organizations).toMatchObject([{ id: organization.id, role_codes: ['org_member'] }])
  })

  test('an imported user needs only an e-mail address', async () => {
    const email = someEmail()
    expect(counts(await load({ email, password_hash: '', first_name: null }))).toMatchObject({ imported: 1, failed: 0 })
    expect((await find(email))[0]).toMatchObject({ email_verified: false, first_name: null, namespaces: ['default'] })
  })

  test('one e-mail address may be imported into each of two pools', async () => {
    const email = someEmail()
    expect(counts(await load({ email, namespace: somePool() }, { email, namespace: somePool() }))).toMatchObject({ imported: 2 })
  })
})

describe('an existing user', () => {
  test('an existing user gets more tags, apps and roles, and never another password, name, status or verification', async () => {
    const [first, second, third] = [await buildApp(service), await buildApp(service), await buildApp(service)]
    const { user } = await buildUser(service, first, { first_name: 'Ada' })
    await markVerified(service, user.id)
    await service.admin('POST', `/admin/users/${user.id}/apps/${first.id}`)
    await service.admin('POST', `/admin/users/${user.id}/apps/${third.id}`)
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${third.id}`)
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    const role = await buildRole(service, 'global')
    const line = {
      email: user.email,
      password_hash: hash,
      first_name: 'Eve',
      tags: ['x'],
      apps: [first.code, second.code, third.code],
      roles: [role],
    }
    const row = () => service.deps.db('users').where({ id: user.id }).first()
    const before = await row()
    expect(counts(await load(line))).toEqual({ imported: 0, updated: 1, unchanged: 0, failed: 0 })
    expect(await row()).toEqual(before)
    const shown = await show(user.id)
    expect(shown).toMatchObject({ first_name: 'Ada', status: 'suspended', email_verified: true, namespaces: ['default', 'x'] })
    expect(shown.roles).toEqual(['base_user', role].sort())
    // A revoked grant is not brought back.
    expect(Object.fromEntries(shown.apps.map((each: Json) => [each.app_id, each.status]))).toEqual({
      [first.id]: 'active',
      [second.id]: 'active',
      [third.id]: 'revoked',
    })
    expect(
      (await auditEvents(service, { user_id: user.id, event: 'user.imported' })).map(({ details }) => details),
    ).toMatchObject([
      {
        before: { namespaces: ['default'], roles: ['base_user'] },
        after: { namespaces: ['default', 'x'], roles: ['base_user', role].sort(), apps_added: [second.code] },
      },
    ])
    expect(counts(await load(line, line, { email: user.email }))).toEqual({ imported: 0, updated: 0, unchanged: 3, failed: 0 })
    expect(await auditEvents(service, { user_id: user.id, event: 'user.imported' })).toHaveLength(1)
  })

  test('an existing user may come from an earlier line', async () => {
    const email = someEmail()
    const reply = await load({ email, password_hash: hash }, { email, tags: ['y'] }, { email, tags: ['y'], password_hash: hash })
    expect(counts(reply)).toEqual({ imported: 1, updated: 1, unchanged: 1, failed: 0 })
    expect((await find(email))[0].namespaces).toEqual(['default', 'y'])
  })

  test('a line with the address of a deleted user makes another user', async () => {
    const { user } = await buildUser(service, await buildApp(service))
    await service.admin('DELETE', `/admin/users/${user.id}`)
    expect(counts(await load({ email: user.email }))).toMatchObject({ imported: 1 })
  })
})

describe('bad lines', () => {
  test('bad lines are reported by their number, stop nothing, and are not echoed', async () => {
    const secret = '$2b$12$this.is.a.canary'
    const [good, last] = [someEmail(), someEmail()]
    const org = await buildRole(service, 'org')
    const lines: [string, string | undefined][] = [
      [JSON.stringify({ email: good }), undefined],
      ['', undefined],
      ['{"email":', 'invalid_json'],
      ['[]', 'invalid_json'],
      ['"text"', 'invalid_json'],
      ['{"email":"a\\u0000@example.com"}', 'invalid_json'],
      [' \t\r', undefined],
      ['{}', 'validation_failed'],
      [JSON.stringify({ email: 'nobody' }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), nope: 1 }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), email_verified: 'yes' }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), password_hash: secret }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), password_hash: hash.replace('$05$', '$15$') }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), password_hash: hash.replace('$05$', '$03$') }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), password_hash: hash.replace('$2', '$1') }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), password: PASSWORD }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), apps: ['no-such-app'] }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), roles: ['no_such_role'] }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), roles: [org] }), 'validation_failed'],
      [JSON.stringify({ email: someEmail(), namespace: 'No Pool' }), 'validation_failed'],
      [JSON.stringify({ email: good, namespace: 'elsewhere', tags: ['default'] }), 'email_exists_in_pool'],
      [JSON.stringify({ email: someEmail(), first_name: 'x'.repeat(70_000) }), 'payload_too_large'],
      [`${JSON.stringify({ email: last })}\r`, undefined],
    ]
    const { status, body } = await send(`\ufeff${lines.map(([line]) => line).join('\n')}`)
    expect(status).toBe(200)
    const expected = lines.flatMap(([, code], index) => (code ? [{ line: index + 1, code, message: expect.any(String) }] : []))
    expect(body).toEqual({ imported: 2, updated: 0, unchanged: 0, failed: expected.length, errors: expected })
    expect(JSON.stringify(body)).not.toMatch(/canary|\$2[aby]\$\d\d\$|correct horse/)
    expect(body.errors.find((error: Json) => error.line === 17).message).toBe('apps.0: unknown app')
    for (const email of [good, last]) expect(await find(email)).toHaveLength(1)
  })

  test('only the lines that are not valid UTF-8 are bad', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${JSON.stringify({ email: someEmail() })}\n{"email":"`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from(`"}\n${JSON.stringify({ email: someEmail() })}\n`),
    ])
    expect((await send(bytes)).body).toMatchObject({ imported: 2, failed: 1, errors: [{ line: 2, code: 'invalid_json' }] })
  })

  test('bad lines are all counted, and listed up to ten thousand', async () => {
    const { body } = await send('{}\n'.repeat(10_500))
    expect([body.failed, body.errors.length, body.errors.at(-1).line]).toEqual([10_500, 10_000, 10_000])
  })
})

describe('the body', () => {
  test('the body must be newline-delimited JSON', async () => {
    for (const type of [
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/x-ndjson; charset=utf-16',
    ])
      expectError(await send('{}', '', { 'content-type': type }), 'unsupported_media_type', type)
    expectError(await send('{}', '', { 'content-encoding': 'gzip' }), 'unsupported_media_type')
    expect((await send('{}', '', { 'content-type': 'Application/X-NDJSON; charset=UTF-8' })).body.failed).toBe(1)
  })

  test('the body may be empty', async () => {
    for (const body of ['', '\n\n', ' '])
      expect((await send(body)).body).toEqual({ imported: 0, updated: 0, unchanged: 0, failed: 0, errors: [] })
    expect((await service.admin('POST', '/admin/users/import')).status).toBe(200)
  })

  test('the body may have 10 MiB and not one byte more, and a longer one writes nothing', async () => {
    const email = someEmail()
    const line = `${JSON.stringify({ email })}\n`
    const limit = 10 * 1024 * 1024
    expectError(await send(line + '\n'.repeat(limit + 1 - line.length)), 'payload_too_large')
    expect(await find(email)).toEqual([])
    expect((await send(line + '\n'.repeat(limit - line.length))).body).toMatchObject({ imported: 1, failed: 0 })
  })

  test('the body is not read before the caller is known to be a system_admin', async () => {
    const { access_token: token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
    const options = { body: linesOf([{ email: someEmail() }]), headers: { 'content-type': 'application/x-ndjson' } }
    expectError(await service.call('POST', '/admin/users/import', options), 'token_missing')
    expectError(await service.call('POST', '/admin/users/import', { ...options, token }), 'system_admin_required')
  })
})

/** Lines of every kind: new users, repeats over portions, additions, collisions, faults. */
function mixedLines(app: Json): (Json | string)[] {
  const pool = somePool()
  const emails = Array.from({ length: 700 }, (_, index) => `${index}-${randomUUID()}@example.com`)
  return [
    ...emails.map((email, index) => ({ email, namespace: pool, ...(index % 3 ? {} : { tags: [`${pool}-t`] }) })),
    ...emails.slice(0, 300).map((email) => ({ email, namespace: pool, tags: [`${pool}-t`], apps: [app.code] })),
    ...emails.slice(0, 100).map((email) => ({ email, namespace: pool, tags: [`${pool}-t`] })),
    ...emails.slice(0, 50).map((email) => ({ email, namespace: `${pool}-t` })),
    ...emails.slice(600).map((email) => ({ email, namespace: `${pool}-u` })),
    ...Array.from({ length: 5 }, () => '{'),
  ]
}

describe('a dry run', () => {
  test('a dry run writes nothing and counts the same, also over several portions', async () => {
    const app = await buildApp(service)
    const lines = linesOf(mixedLines(app))
    const tables = ['users', 'user_namespaces', 'user_roles', 'user_apps', 'audit_events']
    const stand = async () => Promise.all(tables.map((table) => countRows(service, table)))
    const before = await stand()
    const rehearsed = await send(lines, '?dry_run=true')
    expect(await stand()).toEqual(before)
    expect(counts(rehearsed)).toEqual({ imported: 800, updated: 300, unchanged: 100, failed: 55 })
    const real = await send(lines, '?dry_run=false')
    // Without the messages: they name the user that a line collides with, who does not exist yet in a rehearsal.
    const plain = ({ body }: Reply) => ({ ...body, errors: body.errors.map(({ line, code }: Json) => ({ line, code })) })
    expect(plain(real)).toEqual(plain(rehearsed))
    expect(counts(await send(lines, '?dry_run=true'))).toEqual(counts(await send(lines)))
    expect(counts(await send(lines))).toEqual({ imported: 0, updated: 0, unchanged: 1_200, failed: 55 })
  })
})

describe('concurrent imports', () => {
  test('five concurrent imports of the same lines, in different order, and registrations make each user once', async () => {
    const pool = somePool()
    const app = await buildApp(service, { registration_namespace: pool })
    const emails = Array.from({ length: 60 }, someEmail)
    const lines = emails.map((email) => ({ email, namespace: pool, apps: [app.code] }))
    const replies = await Promise.all([
      ...Array.from({ length: 5 }, (_, index) => load(...(index % 2 ? lines : [...lines].reverse()))),
      ...emails.slice(0, 20).map((email) => service.register(email, app.code)),
    ])
    const imports = replies.slice(0, 5)
    const registered = replies.slice(5).filter(({ status }) => status === 201).length
    // A registration that came first created an unproven account.
    const faults = imports.flatMap(({ body }) => body.errors.map(({ code }: Json) => code))
    expect(new Set(faults)).toEqual(new Set(registered > 0 ? ['account_unverified'] : []))
    for (const { status, body } of imports) expect([status, body.failed <= registered]).toEqual([200, true])
    expect(imports.reduce((sum, { body }) => sum + body.imported, registered)).toBe(60)
    expect(await countRows(service, 'users', { namespace: pool })).toBe(60)
    expect(await countRows(service, 'user_apps', { app_id: app.id })).toBe(60 - registered)
  })

  test('an import with concurrent moves and deletions leaves one user of an address in each pool', async () => {
    const pools = [somePool(), somePool()]
    const emails = Array.from({ length: 30 }, someEmail)
    await load(...emails.map((email) => ({ email, namespace: pools[0] })))
    const users = (await Promise.all(emails.map(find))).flat()
    await Promise.all([
      load(...emails.map((email) => ({ email, namespace: pools[1] }))),
      load(...emails.map((email) => ({ email, namespace: pools[0], tags: [pools[1]], roles: ['super_admin'] }))),
      ...users.map((user, index) =>
        index % 2
          ? service.admin('DELETE', `/admin/users/${user.id}`)
          : service.admin('PUT', `/admin/users/${user.id}/namespace`, { body: { namespace: pools[1] } }),
      ),
    ])
    for (const email of emails) {
      const named = (await find(email)).flatMap((user) => user.namespaces)
      expect(named.length).toBe(new Set(named).size)
    }
    const dead = await service.deps.db('users').whereIn('email', emails).where({ status: 'deleted' }).pluck('id')
    for (const table of ['user_roles', 'user_namespaces'])
      expect(await service.deps.db(table).whereIn('user_id', dead).pluck('user_id')).toEqual([])
  })
})
