// `gatehouse check --deep`: each fault that the docs list is planted by SQL and reported. A
// database that only the service wrote is sound.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { asTx, type Tx } from '../../packages/server/src/db/handle.ts'
import { listViolations } from '../../packages/server/src/models/invariants.ts'
import { checkInvariants } from '../../packages/server/src/resources/system/system.ts'
import { dropAuditEvents } from '../support/drop-audit-events.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { runGatehouse } from '../support/server-process.ts'
import { buildApp, buildService, buildUser, type Json, type TestService, testDatabase } from '../support/service.ts'

const onPostgres = testDatabase() === 'postgres'
let service: TestService
let app: Json
let user: Json
let session: Json

beforeAll(async () => {
  service = await buildService({}, onFileEnd)
  const organization = (await service.admin('POST', '/admin/organizations', { body: { name: 'Acme', slug: 'acme' } })).body
  app = await buildApp(service, {
    auto_grant_on_signup: true,
    default_organization_id: organization.id,
    read_namespaces: ['other'],
  })
  ;({ user } = await buildUser(service, app))
  const login = (await service.login(user.email, app.code)).body
  await service.call('POST', '/auth/refresh', { body: { refresh_token: login.refresh_token } })
  session = await service.deps.db('sessions').where({ user_id: user.id, app_id: app.id }).whereNull('ended_at').first()
  // Deleted and revoked things are part of a sound database.
  const left = await buildApp(service, { auto_grant_on_signup: true })
  const { user: gone } = await buildUser(service, left)
  await service.admin('DELETE', `/admin/users/${gone.id}`)
  await service.admin('DELETE', `/admin/apps/${left.id}?force=true`)
  const { user: revoked } = await buildUser(service, app)
  await service.admin('DELETE', `/admin/users/${revoked.id}/apps/${app.id}`)
})

const namesOf = async (db: Tx) => (await listViolations(db, service.deps.clock())).map(({ name }) => name)

const userRow = (id: string, changes: object) => ({
  ...{ id, email: `${id}@example.com`, namespace: 'default', created_at: 1, updated_at: 1 },
  ...changes,
})

/** Keeps the sizes of the pools true to a row that a plant adds. */
async function resize(db: Tx, ...changes: { namespace: string; homes?: number; tagged?: number }[]): Promise<void> {
  await db('pool_changes').insert(changes.map((change) => ({ homes: 0, tagged: 0, ...change })))
}

/** For each rule, a fault that breaks it. */
const plants: Record<string, (db: Tx) => Promise<unknown>> = {
  async 'email-shared'(db) {
    const id = randomUUID()
    await db('users').insert(userRow(id, { email: user.email, namespace: 'other' }))
    await db('user_roles').insert({ user_id: id, role_code: 'base_user', created_at: 1 })
    await db('user_namespaces').insert({ user_id: id, namespace: 'default', created_at: 1 })
    await db('shared_emails').insert({ email: user.email })
    await resize(db, { namespace: 'other', homes: 1 }, { namespace: 'default', tagged: 1 })
  },
  'pool-size-wrong': (db) => resize(db, { namespace: 'default', homes: 1 }),
  'shared-email-wrong': (db) => db('shared_emails').insert({ email: 'nobody@example.com' }),
  'user-below-floor': (db) => db('users').where({ id: user.id }).update({ min_access_version: 9 }),
  'proof-unverified': (db) => db('users').where({ id: user.id }).update({ email_verified_at: null, mailbox_proven_at: 1 }),
  'grant-below-floor': (db) => db('user_apps').where({ user_id: user.id }).update({ min_token_version: 9 }),
  'session-above-version': (db) => db('sessions').where({ id: session.id }).update({ token_version: 9 }),
  'session-forked': (db) =>
    db('refresh_tokens').insert({ token_hash: 'another', session_id: session.id, created_at: 1, expires_at: 1 }),
  async 'deleted-user-holds'(db) {
    await db('users').where({ id: user.id }).update({ status: 'deleted', deleted_at: 1 })
    await resize(db, { namespace: 'default', homes: -1 })
  },
  'user-without-base-role': (db) => db('user_roles').where({ user_id: user.id }).delete(),
  'role-out-of-scope': (db) => db('user_roles').insert({ user_id: user.id, role_code: 'org_admin', created_at: 1 }),
  'default-role-alone': (db) =>
    db('apps').where({ id: app.id }).update({ default_role_code: 'org_member', default_organization_id: null }),
  'membership-without-role': (db) => db('membership_roles').delete(),
  'recovery-codes-alone': (db) => db('recovery_codes').insert({ user_id: user.id, code_hash: 'a' }),
  'deleted-app-lives': (db) => db('deleted_apps').insert({ code: app.code, app_id: randomUUID(), deleted_at: 1 }),
  'outbox-undecided': (db) => db('outbox').update({ finished_at: 1 }),
  'built-in-missing': (db) => db('roles').where({ code: 'org_admin' }).update({ built_in: 0 }),
  'floor-ahead': (db) => db('service').update({ min_iat: 99_999_999_999 }),
  async 'cursor-behind'(db) {
    const ahead = onPostgres ? { xid: 1_000_000_000_000 } : { cursor: 1_000_000 }
    await db('revocations').insert({ ...ahead, user_id: user.id, min_tv: 0, at: 1 })
    if (!onPostgres) await db('sqlite_sequence').where({ name: 'revocations' }).update({ seq: 1 })
  },
  'list-broken': (db) => db('apps').where({ id: app.id }).update({ service_codes: '{}' }),
  async 'row-orphaned'(db) {
    await db.raw(onPostgres ? 'set local session_replication_role = replica' : 'pragma defer_foreign_keys = on')
    const grant = {
      id: randomUUID(),
      user_id: randomUUID(),
      app_id: app.id,
      status: 'active',
      granted_via: 'test',
      granted_at: 1,
    }
    await db('user_apps').insert(grant)
  },
  'trigger-foreign': (db) => dropAuditEvents(db),
  ...(onPostgres
    ? {
        'index-invalid': (db) =>
          db.raw("update pg_index set indisvalid = false where indexrelid = 'sessions_user_id_id_index'::regclass"),
      }
    : {
        async 'page-damaged'(db) {
          await db.raw('pragma ignore_check_constraints = on')
          await db('users').where({ id: user.id }).update({ made_by: 'nobody' })
          await db.raw('pragma ignore_check_constraints = off')
        },
      }),
}

describe('a planted fault', () => {
  test.each(Object.keys(plants))('the check reports %s and nothing else', async (name) => {
    const db = asTx(await service.deps.db.transaction())
    try {
      expect(await namesOf(db)).toEqual([])
      await plants[name]!(db)
      expect(await namesOf(db)).toEqual([name])
    } finally {
      await db.rollback()
    }
  })
})

/** What also changes or hides what the service writes. */
const foreign: Record<string, string[]> = {
  'a view in place of an audit table': [
    'alter table audit_checkpoints rename to hidden',
    "create view audit_checkpoints as select * from hidden where seal <> 'x'",
  ],
  ...(onPostgres && {
    'a rule': ['create rule keep_out as on insert to audit_events do instead nothing'],
    'a policy': ['create policy keep_out on audit_events using (false)'],
    'a rule of another table': ['create rule keep_out as on update to users do instead nothing'],
  }),
}

test.each(Object.entries(foreign))('the check reports %s as trigger-foreign', async (_, statements) => {
  const db = asTx(await service.deps.db.transaction())
  try {
    for (const statement of statements) await db.raw(statement)
    expect(await namesOf(db)).toEqual(['trigger-foreign'])
  } finally {
    await db.rollback()
  }
})

test('the docs list every fault', () => {
  const text = readFileSync(new URL('../../docs/operate/deep-check.md', import.meta.url), 'utf8')
  const listed = Array.from(text.matchAll(/^\| `([\w-]+)`/gm), ([, name = '']) => name)
  expect(listed.sort()).toEqual([...new Set([...Object.keys(plants), 'index-invalid', 'page-damaged'])].sort())
})

test('the command exits with 0 for a sound database, and with 3 and a line with a cure for each fault', async () => {
  const settings = { DATABASE_URL: service.deps.config.databaseUrl }
  const sound = await runGatehouse(['check', '--deep'], settings)
  expect(sound).toMatchObject({ code: 0, stdout: 'settings: ok\ndatabase: ok\nencryption key: ok\nrows: ok\naudit: ok\n' })
  await service.deps.db('users').where({ id: user.id }).update({ min_token_version: 9 })
  const lines = await checkInvariants(service.deps)
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^user-below-floor: 1, such as ${user.id}: .*\\. Cure: update users`))])
  const broken = await runGatehouse(['check', '--deep'], settings)
  const before = 'settings: ok\ndatabase: ok\nencryption key: ok\n'
  expect(broken).toMatchObject({ code: 3, stdout: `${before}${lines[0]}\naudit: ok\n` })
  await service.deps.db('users').where({ id: user.id }).update({ min_token_version: 0 })
  const { id } = await service.deps.db('audit_events').first('id')
  await service.deps.db('audit_events').where({ id }).update({ reason: 'forged' })
  expect(await runGatehouse(['check', '--deep'], settings)).toMatchObject({
    code: 3,
    stdout: expect.stringContaining(`rows: ok\naudit: not intact: changed: event ${id}. See docs/operate/sealed-audit.md`),
  })
})
