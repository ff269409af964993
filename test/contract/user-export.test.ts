// What a user is given of their data: every column of every table that has rows of users, but for those that are left out with a
// reason.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { exportedTables, tablesLeftOut } from '../../packages/server/src/models/user-export.ts'
import { addMember, buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD } from '../support/service.ts'
import { askFor, signInOnPage, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({}, { frozen: true })
const shop = appFixture(service, {
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example/callback'],
  trust_device_days: 7,
})
const exportOf = async (token: string): Promise<Json> => (await service.call('GET', '/auth/me/export', { token })).body

/** Tables without a row that belongs to a user. */
const notOfUsers = [
  ...['apps', 'app_keys', 'app_logos', 'client_secrets', 'consumer_secrets', 'deleted_apps', 'organizations'],
  ...['roles', 'role_permissions', 'permissions', 'permission_services'],
  ...['service_accounts', 'service_account_apps', 'service_account_permissions', 'sso_providers'],
  ...['service', 'schema_migrations', 'feeds', 'generations', 'audit_chain', 'audit_checkpoints', 'audit_batches'],
  ...['servers', 'signing_keys', 'daily_tasks'],
  // Counters and lists of pools, which name no user.
  ...['pool_changes', 'pool_sizes', 'shared_emails'],
  // Named by digests, and gone after minutes.
  ...['rate_limits', 'spent_fields', 'sso_logins'],
]

/** The columns of each table. */
async function schema(): Promise<Map<string, string[]>> {
  const { db } = service.deps
  const isPostgres = db.client.config.client === 'pg' || db.client.dialect === 'postgresql'
  const rows: { table: string; column: string }[] = isPostgres
    ? (
        await db.raw(
          `select table_name as "table", column_name as "column" from information_schema.columns
           where table_schema = 'public' and table_name not like 'audit_events\\_%'`,
        )
      ).rows
    : await db.raw(
        `select m.name as "table", c.name as "column" from sqlite_master m, pragma_table_info(m.name) c
         where m.type = 'table' and m.name not like 'sqlite_%'`,
      )
  const tables = new Map<string, string[]>()
  for (const { table, column } of rows) tables.set(table, [...(tables.get(table) ?? []), column])
  return tables
}

test('every table is exported, left out with a reason, or not about users', async () => {
  const named = [...Object.keys(exportedTables), ...Object.keys(tablesLeftOut), ...notOfUsers]
  expect([...(await schema()).keys()].sort()).toEqual(named.sort())
})

test.each(Object.entries(exportedTables))('every column of %s is exported or left out with a reason', async (table, declared) => {
  const { of, columns, leftOut } = declared
  const stored = (await schema()).get(table)
  const named = new Set([of, ...Object.keys(columns), ...Object.keys(leftOut)])
  expect([...named].sort()).toEqual([...stored!].sort())
  for (const reason of Object.values(leftOut)) expect(reason).toMatch(/\w+ \w+/)
  expect(Object.keys(columns).filter((column) => column in leftOut)).toEqual([])
})

/** Somebody of whom there is a row in every table. */
async function buildKnown() {
  const { user, access_token } = await buildUser(service, shop)
  await markVerified(service, user.id)
  const authenticator = await enableTwoFactor(service, access_token)
  const visitor = visit(service)
  const code = await signInOnPage(visitor, askFor(shop), user.email)
  await visitor.send(code, 'Continue', { two_factor_code: authenticator.code(), trust: 'yes' })
  const organization = await buildOrganization(service)
  await addMember(service, organization.id, user.id, ['org_member'])
  await buildInvitation(service, { organizationId: organization.id, email: user.email })
  const { db, clock } = service.deps
  const now = clock()
  await db('invitations').where({ email: user.email }).update({ accepted_at: now, accepted_by: user.id })
  await db('user_namespaces').insert({ user_id: user.id, namespace: 'partners', created_at: now })
  const { id: provider_id } = await buildSsoProvider(service, `p-${Date.now()}`, { issuer: 'https://id.example.com' })
  await db('user_identities').insert({ id: randomUUID(), user_id: user.id, provider_id, subject: 'ada', created_at: now })
  await db('access_requests').insert({
    ...{
      id: randomUUID(),
      user_id: user.id,
      app_id: shop.id,
      status: 'denied',
      message: 'please',
      reason: 'no',
      created_at: now,
    },
  })
  await db('mail_tokens').insert({
    ...{ token_hash: randomUUID(), user_id: user.id, purpose: 'magic_link', email: user.email, app_id: shop.id },
    ...{ created_at: now, expires_at: now },
  })
  await db('passkeys').insert({
    ...{ id: randomUUID(), user_id: user.id, credential_id: randomUUID(), public_key: 'key-of-the-passkey', sign_count: 0 },
    ...{ transports: '["usb"]', name: 'Laptop', created_at: now, rp_id: 'localhost', user_handle: 'handle', backed_up: 1 },
    backup_eligible: 1,
  })
  await service.login(user.email, shop.code, { password: 'wrong' })
  await db('users').where({ id: user.id }).update({ new_sign_in_mailed_at: now, locale: 'de' })
  await db('lockouts').insert({ key: randomUUID(), user_id: user.id, failures: 1, last_failed_at: now, locks: 0 })
  return { user, access_token, organization }
}

test('the export has everything about a user, by its columns, and an admin gets the same', async () => {
  const { user, access_token, organization } = await buildKnown()
  const given = await exportOf(access_token)
  expect(given).toMatchObject({ format: 'gatehouse-user-export', version: 1, user_id: user.id, complete: true })
  for (const [table, { columns }] of Object.entries(exportedTables)) {
    const rows: Json[] = given.tables[table]
    expect([table, rows.length > 0]).toEqual([table, true])
    for (const row of rows) expect([table, Object.keys(row)]).toEqual([table, Object.keys(columns)])
  }
  const { tables, names } = given
  expect(tables.users).toMatchObject([{ email: user.email, locale: 'de', new_sign_in_mailed_at: expect.stringMatching(/Z$/) }])
  expect(tables.trusted_browsers).toHaveLength(1)
  expect(tables.passkeys).toMatchObject([{ name: 'Laptop', transports: ['usb'], backed_up: true }])
  expect(tables.user_identities).toMatchObject([{ subject: 'ada' }])
  expect([names.apps[shop.id], names.organizations[organization.id]]).toEqual([shop.code, organization.slug])
  const { body } = await service.admin('GET', `/admin/users/${user.id}/export`)
  const newest = (document: Json) => ({
    ...document,
    exported_at: '',
    tables: {
      ...document.tables,
      audit_events: document.tables.audit_events.filter(({ event }: Json) => event !== 'user.exported'),
    },
  })
  expect(newest(body)).toEqual(newest(given))
  const events = await auditEvents(service, { user_id: user.id, event: 'user.exported' })
  expect(events.map(({ actor_id }) => actor_id === user.id).sort()).toEqual([false, true])
})

test('the export holds no secret, and neither the audit reason nor the browser of an admin', async () => {
  const { user, access_token } = await buildKnown()
  await service.admin('PATCH', `/admin/users/${user.id}`, {
    body: { first_name: 'Ada' },
    headers: { 'x-audit-reason': 'a-note-of-an-admin', 'user-agent': 'the-browser-of-an-admin' },
  })
  const text = JSON.stringify(await exportOf(access_token))
  const { db } = service.deps
  const [{ password_hash }, { totp_box }] = await Promise.all([
    db('users').where({ id: user.id }).first(),
    db('second_factors').where({ user_id: user.id }).first(),
  ])
  const hashes = await Promise.all(
    (
      [
        ['browser_sessions', 'hash'],
        ['trusted_browsers', 'hash'],
        ['recovery_codes', 'code_hash'],
        ['mail_tokens', 'token_hash'],
        ['passkeys', 'public_key'],
        ['passkeys', 'credential_id'],
      ] as const
    ).map(([table, column]) => db(table).where({ user_id: user.id }).pluck(column)),
  )
  for (const stored of [password_hash, totp_box, ...hashes.flat(), PASSWORD, 'a-note-of-an-admin', 'the-browser-of-an-admin'])
    expect(text).not.toContain(stored)
  expect(text).toContain('user.updated')
})

test('the export holds nothing of another user, and a user cannot get that of another one', async () => {
  const [known, other] = [await buildKnown(), await buildUser(service, shop)]
  const text = JSON.stringify(await exportOf(other.access_token))
  expect(text).not.toContain(known.user.id)
  expect(text).not.toContain(known.user.email)
  expect((await service.call('GET', `/admin/users/${known.user.id}/export`, { token: other.access_token })).status).toBe(403)
  expect((await service.call('GET', '/auth/me/export')).status).toBe(401)
  expect((await service.admin('GET', `/admin/users/${randomUUID()}/export`)).status).toBe(404)
})

test('a user who merely registered an address finds no invitation to it in the export', async () => {
  const { user, access_token } = await buildUser(service, shop)
  const organization = await buildOrganization(service)
  await buildInvitation(service, { organizationId: organization.id, email: user.email })
  expect((await exportOf(access_token)).tables.invitations).toEqual([])
})

test('exports of one user are limited, since they read much', async () => {
  const own = await buildService({ AUTH_RATE_LIMIT_USER: '2/60' })
  const { access_token: token } = await buildUser(own, await buildApp(own, { auto_grant_on_signup: true }))
  const statuses: number[] = []
  for (let count = 0; count < 3; count += 1) statuses.push((await own.call('GET', '/auth/me/export', { token })).status)
  expect(statuses).toEqual([200, 200, 429])
})

test('the export of an erased user has only ids and times', async () => {
  const { user } = await buildKnown()
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  const { body } = await service.admin('GET', `/admin/users/${user.id}/export`)
  const text = JSON.stringify(body)
  expect(text).not.toContain(user.email)
  expect(body.tables.passkeys).toEqual([])
})

test('the account page gives the export to the person who has just signed in, and to nobody else', async () => {
  const { user } = await buildUser(service, shop)
  const visitor = visit(service)
  expect((await visitor.get('/account/data.json')).title).toBe('Open this page from one of your apps')
  await signInOnPage(visitor, askFor(shop), user.email)
  const page = await visitor.get(`/account/data?app=${shop.code}`)
  expect(page.html).toContain('href="/account/data.json"')
  const file = await visitor.get('/account/data.json')
  expect([file.status, file.headers.get('content-type'), file.headers.get('cache-control')]).toEqual([
    200,
    'application/json; charset=utf-8',
    'no-store',
  ])
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="account.json"')
  expect(JSON.parse(file.html).user_id).toBe(user.id)
  service.advance(10 * 60)
  expect((await visitor.get('/account/data.json')).title).toBe('Download your data')
  const stale = await visitor.get(`/account/data?app=${shop.code}`)
  expect(stale.html).not.toContain('data.json')
  const fresh = await visitor.send(stale, 'Confirm', { password: PASSWORD })
  expect(fresh.html).toContain('data.json')
  expect(await countRows(service, 'audit_events', { user_id: user.id, event: 'user.exported' })).toBe(1)
})

test('/.well-known/change-password leads to the account section for the password', async () => {
  const reply = await fetch(`${service.url}/.well-known/change-password`, { redirect: 'manual' })
  expect([reply.status, reply.headers.get('location')]).toEqual([302, '/account/password'])
})
