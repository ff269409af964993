import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createLogger } from '../../packages/server/src/adapters/logger.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { withPatientConnection } from '../../packages/server/src/deps.ts'
import { chunksOf } from '../../packages/server/src/lib/collections.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { removeExpired, startCleanup } from '../../packages/server/src/workers/cleanup.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { allSent, buildMailingService, until } from '../support/mailbox.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import {
  buildApp,
  buildService,
  buildUser,
  claimsOf,
  type Json,
  someEmail,
  type TestService,
  testDatabase,
} from '../support/service.ts'

const DAY_SECONDS = 86_400
const NEVER = Number.MAX_SAFE_INTEGER

test('expired rows are removed after AUTH_RETENTION_DAYS and not before, and audit events are kept for ever', async () => {
  const service = await buildService({
    AUTH_RETENTION_DAYS: '10',
    AUTH_RATE_LIMIT_IP: '1000/60',
    JWT_SESSION_MAX_SECONDS: String(2 * DAY_SECONDS),
  })
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, refresh_token } = await buildUser(service, app)
  expect((await service.login(user.email, app.code, { password: 'a wrong password' })).status).toBe(401)
  await service.call('POST', '/auth/refresh', { body: { refresh_token } })
  await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
  const audited = await countRows(service, 'audit_events')

  await removeExpired(service.deps)
  for (const table of ['rate_limits', 'lockouts', 'sessions', 'refresh_tokens', 'revocations']) {
    expect([table, await countRows(service, table)]).not.toEqual([table, 0])
  }
  service.advance(9 * DAY_SECONDS)
  await removeExpired(service.deps)
  expect(await countRows(service, 'rate_limits')).toBe(0)
  expect(await countRows(service, 'lockouts')).toBe(0)
  expect(await countRows(service, 'revocations')).toBe(0)
  expect(await countRows(service, 'sessions')).toBeGreaterThan(0)

  service.advance(40 * DAY_SECONDS)
  await removeExpired(service.deps)
  expect(await countRows(service, 'sessions')).toBe(0)
  expect(await countRows(service, 'refresh_tokens')).toBe(0)
  expect(await countRows(service, 'audit_events')).toBe(audited)
})

test('a mail that was sent or found no user leaves no address in the outbox, and a failed one keeps its own', async () => {
  const { service, mailbox } = await buildMailingService()
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const [stranger, guest] = [someEmail(), someEmail()]
  const forgot = { body: { email: stranger, app_code: app.code } }
  expect((await service.call('POST', '/auth/password/forgot', forgot)).status).toBe(202)
  const { id: organizationId } = await buildOrganization(service)
  await buildInvitation(service, { organizationId, email: guest })
  await allSent(service)
  mailbox.refuse = { recipient: '550 no such mailbox' }
  const refused = (await buildUser(service, app)).user
  await allSent(service)
  const rows: Json[] = await service.deps.db('outbox').where({ kind: 'mail' })
  const states = ['delivered', 'delivered', 'failed', 'failed']
  expect(rows.map(({ status }) => status).sort()).toEqual(states)
  const [givenUp, ...others] = rows.filter(({ destination }) => destination !== '')
  expect([others, givenUp!.destination, givenUp!.user_id]).toEqual([[], refused.email, refused.id])
  for (const { destination, payload } of rows) if (destination === '') expect(payload).toBe('{}')
  for (const address of [user.email, stranger, guest]) expect(JSON.stringify(rows)).not.toContain(address)
  // What an operator looks for when a user did not get a mail.
  const [event] = await auditEvents(service, { event: 'mail.failed', user_id: refused.id })
  expect(event.details).toMatchObject({ purpose: 'verify_email', email: refused.email })
  service.advance(91 * DAY_SECONDS)
  await removeExpired(service.deps)
  expect(await countRows(service, 'outbox')).toBe(0)
})

describe('the rules of the cleanup', () => {
  const service = serviceFixture(
    { AUTH_RETENTION_DAYS: '10', AUTH_AUDIT_RETENTION_DAYS: '30', AUTH_LOCKOUT_SECONDS: '900' },
    { frozen: true },
  )
  const app = appFixture(service)
  const user = fixture(async () => (await buildUser(service, app)).user)
  const provider = fixture(async () => {
    const id = randomUUID()
    const times = { created_at: 1, updated_at: 1 }
    const unused = { client_id: 'x', client_secret_box: 'x', scopes: '', enabled: 0 }
    await service.deps.db('sso_providers').insert({ id, code: 'unused', issuer: 'https://id.example.com', ...unused, ...times })
    return { id }
  })
  const browserSession = (times: Record<string, unknown>) => ({
    ...{ id: randomUUID(), hash: randomUUID(), user_id: user.id, version: 0, first_factor: 'password', first_proven_at: 1 },
    ...{ is_kept: 0, started_at: 1, last_seen_at: 1, expires_at: NEVER, ...times },
  })
  const kept = fixture(async () => {
    const row = browserSession({})
    await service.deps.db('browser_sessions').insert(row)
    return { id: row.id }
  })
  const session = (times: Record<string, unknown>) => ({
    ...{ id: randomUUID(), user_id: user.id, auth_method: 'password', token_version: 0 },
    ...{ created_at: 1, last_used_at: 1, expires_at: NEVER, ...times },
  })

  const days = DAY_SECONDS
  const rules: [rule: string, keptSeconds: number, row: (over: number) => Record<string, unknown>, table?: string][] = [
    ['rate_limits', 0, (over) => ({ key: 'ip:test', count: 1, resets_at: over })],
    ['lockouts', 900, (over) => ({ key: 'test', failures: 1, last_failed_at: over })],
    ['revocations', 3_660, (over) => ({ user_id: user.id, at: over })],
    ['user_changes', 30 * days + 3_600, (over) => ({ type: 'names_changed', user_id: user.id, app_id: app.id, at: over })],
    ['spent_fields', days, (over) => ({ hash: randomUUID(), expires_at: over })],
    ['browser_sessions', 10 * days, (over) => browserSession({ expires_at: over })],
    [
      'trusted_browsers',
      0,
      (over) => ({
        ...{ id: randomUUID(), hash: randomUUID(), user_id: user.id, version: 0, factor_activated_at: 1 },
        ...{ proven_at: 1, expires_at: over },
      }),
    ],
    [
      'servers',
      60,
      (over) => ({
        ...{ id: randomUUID(), version: '1', started_at: 1, seen_at: over },
        ...{ clock_offset_ms: 0, kids: '', encryption_keys: '' },
      }),
    ],
    [
      'authorization_codes',
      days,
      (over) => ({
        ...{ hash: randomUUID(), app_id: app.id, user_id: user.id, browser_session_id: kept.id, redirect_uri: 'x', scope: '' },
        ...{ version: 0, first_factor: 'password', first_proven_at: 1, created_at: 1, expires_at: over },
      }),
    ],
    [
      'device_codes',
      days,
      (over) => ({
        ...{ hash: randomUUID(), user_code_hash: randomUUID(), app_id: app.id, scope: '', state: 'pending' },
        ...{ created_at: 1, expires_at: over },
      }),
    ],
    [
      'signing_keys',
      90 * days,
      (over) => ({ id: randomUUID(), stage: 'retired', public_jwk: '{}', created_at: 1, stage_since: over }),
    ],
    ['consumer_secrets', 10 * days, (over) => ({ app_id: app.id, kids: 'test', last_seen_at: over })],
    ['deleted_apps', 3_660, (over) => ({ code: 'gone', app_id: randomUUID(), deleted_at: over })],
    [
      'outbox',
      10 * days,
      (over) => ({
        ...{ id: randomUUID(), kind: 'webhook', name: 'crm', destination: 'x', payload: '{}', status: 'failed' },
        ...{ next_attempt_at: 1, created_at: 1, finished_at: over },
      }),
    ],
    [
      'mail_tokens',
      10 * days,
      (over) => ({
        ...{ token_hash: 'test', user_id: user.id, purpose: 'magic_link', email: 'a@example.com' },
        ...{ created_at: 1, expires_at: over },
      }),
    ],
    [
      'sso_logins',
      0,
      (over) => ({
        ...{ state_hash: 'test', provider_id: provider.id, app_id: app.id, issuer: 'https://id.example.com' },
        ...{ redirect_url: 'x', client_state: 'x', code_challenge: 'x', created_at: 1, expires_at: over },
      }),
    ],
    [
      'access_requests',
      10 * days,
      (over) => ({
        ...{ id: randomUUID(), user_id: user.id, app_id: app.id, status: 'denied' },
        created_at: 1,
        decided_at: over,
      }),
    ],
    ['expired_sessions', 10 * days, (over) => session({ expires_at: over }), 'sessions'],
    ['ended_sessions', 10 * days, (over) => session({ ended_at: over }), 'sessions'],
    [
      'audit_events',
      30 * days,
      (over) => {
        const facts = {
          ...{ id: randomUUID(), event: 'login.failed', reason: 'test', actor_type: 'anonymous' as const, actor_id: null },
          ...{ user_id: null, app_id: null, request_id: null, count: 1, counted_by: null, at: over },
          ...{ audit_reason: null, ip: null, user_agent: null, details: null, email: null },
        }
        // Postgres gives it a position.
        const position = testDatabase() === 'sqlite' ? { xid: 1_000_000 } : {}
        return { ...facts, ...service.deps.auditProofs.prove(facts), ...position }
      },
    ],
  ]

  test.each(rules)(
    '%s: a row is removed %i s after its end, not a second before, and is counted',
    async (rule, kept, row, table = rule) => {
      const made = row(service.deps.clock())
      const removed = async () =>
        (await service.deps.metrics.cleanupRemoved.get()).values.find(({ labels }) => labels.rule === rule)?.value ?? 0
      await removeExpired(service.deps)
      const before = await removed()
      await service.deps.db(table).insert(made)
      // Retention deletes events that are sealed.
      if (rule === 'audit_events') await sealEvents(service.deps)
      if (kept > 0) {
        service.advance(kept - 1)
        await removeExpired(service.deps)
        expect(await countRows(service, table, made)).toBe(1)
      }
      service.advance(1)
      const others = await removed()
      await removeExpired(service.deps)
      expect(await countRows(service, table, made)).toBe(0)
      expect(await removed()).toBeGreaterThan(others)
      expect(others).toBeGreaterThanOrEqual(before)
      const { values } = await service.deps.metrics.cleanupSucceeded.get()
      expect(values.find(({ labels }) => labels.rule === rule)?.value).toBe(Math.floor(service.deps.clock() / 1_000))
    },
  )

  test('every rule of the cleanup is tested', async () => {
    await removeExpired(service.deps)
    const { values } = await service.deps.metrics.cleanupSucceeded.get()
    // The tests above and below cover the tokens of sessions, user-changes.test.ts what becomes of expired grants, and
    // pools-admin.test.ts the sizes of pools, audit-months.test.ts the months of the audit.
    expect(values.map(({ labels }) => labels.rule).sort()).toEqual(
      [...rules.map(([rule]) => rule), 'refresh_tokens', 'expired_grants', 'pool_changes', 'audit_months'].sort(),
    )
  })
})

test('a backlog of more than one batch is removed completely', async () => {
  const service = await buildService()
  const rows = Array.from({ length: 2_345 }, (_, index) => ({ key: `ip:${index}`, count: 1, resets_at: 1 }))
  for (let start = 0; start < rows.length; start += 200)
    await service.deps.db('rate_limits').insert(rows.slice(start, start + 200))
  await removeExpired(service.deps)
  expect(await countRows(service, 'rate_limits')).toBe(0)
})

const BATCH = 1_000
/** The tokens of a session that was refreshed every quarter of an hour for a month. */
const TOKENS = 2_880
const LONG_AGO = 1

async function countSessions(service: TestService): Promise<{ sessions: number; tokens: number }> {
  return { sessions: await countRows(service, 'sessions'), tokens: await countRows(service, 'refresh_tokens') }
}

/** Adds sessions of one user, each with `tokens` refresh tokens. Returns the counts from before. */
async function insertSessions(
  service: TestService,
  { count, tokens = TOKENS, ...times }: { count: number; tokens?: number; ended_at?: number | null; expires_at?: number },
) {
  const { access_token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  const others = await countSessions(service)
  const { db } = service.deps
  // Leaves only the sessions to clean up.
  await db('pool_changes').delete()
  const session = await db('sessions')
    .where({ id: claimsOf(access_token).sid })
    .first()
  const ids = Array.from({ length: count }, () => randomUUID())
  await db('sessions').insert(ids.map((id) => ({ ...session, ended_at: LONG_AGO, expires_at: NEVER, ...times, id })))
  const numbers = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${tokens})`
  await db.raw(
    `insert into refresh_tokens (token_hash, session_id, created_at, expires_at)
     ${numbers} select cast(s.id as text) || ':' || n, s.id, 1, ? from numbers cross join sessions s
     where s.id in (${ids.map(() => '?').join(', ')})`,
    [NEVER, ...ids],
  )
  return others
}

/** The number of rows that each DELETE removed directly, without those that a foreign key removed with them. */
function noteDeletes(service: TestService): number[] {
  const counts: number[] = []
  service.deps.db.on('query-response', (response: number, { method }: { method?: string }) => {
    if (method === 'del') counts.push(response)
  })
  return counts
}

const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)

test.each([
  ['ended', {}],
  ['expired', { ended_at: null, expires_at: LONG_AGO }],
])('no statement deletes more than a batch, however many tokens an %s session has', async (_, times) => {
  const service = await buildService()
  const others = await insertSessions(service, { count: 3, ...times })
  const deletes = noteDeletes(service)
  await removeExpired(service.deps)
  expect(await countSessions(service)).toEqual(others)
  expect(Math.max(...deletes)).toBeLessThanOrEqual(BATCH)
  // All rows were deleted by statements, none by the foreign key.
  expect(sum(deletes)).toBe(3 + 3 * TOKENS)
})

test('consumers seen in the same millisecond are also removed in batches', async () => {
  const service = await buildService()
  const app = await buildApp(service)
  const rows = Array.from({ length: 2_345 }, (_, index) => ({ app_id: app.id, kids: `kid-${index}`, last_seen_at: 1 }))
  for (const chunk of chunksOf(rows)) await service.deps.db('consumer_secrets').insert(chunk)
  const deletes = noteDeletes(service)
  await removeExpired(service.deps)
  expect(await countRows(service, 'consumer_secrets')).toBe(0)
  expect(Math.max(...deletes)).toBe(BATCH)
})

test('servers that clean up at the same time leave nothing, and all succeed', async () => {
  const service = await buildService()
  const others = await insertSessions(service, { count: 90, tokens: 60 })
  const lines: string[] = []
  const deps = { ...service.deps, logger: createLogger('warn', { write: (line) => lines.push(line) }) }
  await Promise.all([removeExpired(deps), removeExpired(deps), removeExpired(deps)])
  expect(lines).toEqual([])
  expect(await countSessions(service)).toEqual(others)
})

test('a stopped run ends after its batch, and the next one continues', async () => {
  const service = await buildService()
  const others = await insertSessions(service, { count: 1 })
  const deletes = noteDeletes(service)
  await removeExpired(service.deps, () => sum(deletes) > 0)
  expect(await countSessions(service)).toEqual({
    sessions: others.sessions + 1,
    tokens: others.tokens + TOKENS - BATCH,
  })
  await removeExpired(service.deps)
  expect(await countSessions(service)).toEqual(others)
})

/** Makes the database refuse every DELETE of a table. */
async function refuseDeletes({ deps: { db } }: TestService, table: string): Promise<void> {
  if (testDatabase() === 'sqlite') {
    await db.raw(`create trigger refused before delete on ${table} begin select raise(abort, 'refused'); end`)
    return
  }
  await db.raw(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`)
  await db.raw(`create trigger refused before delete on ${table} for each row execute function refuse()`)
}

test('a failing rule is logged by name, stops no other rule, and is retried by the next run', async () => {
  const service = await buildService()
  const others = await insertSessions(service, { count: 1 })
  await service.deps.db('rate_limits').insert({ key: 'ip:1', count: 1, resets_at: 1 })
  await refuseDeletes(service, 'rate_limits')
  const lines: string[] = []
  const deps = { ...service.deps, logger: createLogger('warn', { write: (line) => lines.push(line) }) }
  await removeExpired(deps)
  expect(await countRows(service, 'rate_limits', { key: 'ip:1' })).toBe(1)
  expect(await countSessions(service)).toEqual(others)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', rule: 'rate_limits', msg: 'cleanup failed; the next run tries again' },
  ])
  const { values } = await deps.metrics.cleanupSucceeded.get()
  expect(values.map(({ labels }) => labels.rule)).toContain('lockouts')
  expect(values.map(({ labels }) => labels.rule)).not.toContain('rate_limits')
  await service.deps.db.raw(`drop trigger refused${testDatabase() === 'sqlite' ? '' : ' on rate_limits'}`)
  await removeExpired(deps)
  expect(await countRows(service, 'rate_limits', { key: 'ip:1' })).toBe(0)
})

test.runIf(testDatabase() === 'postgres')(
  'a run takes no connection from requests, and its batches may take longer than their statements',
  async () => {
    const service = await buildService({ DB_STATEMENT_TIMEOUT_MS: '400' })
    const { db } = service.deps
    await db('rate_limits').insert({ key: 'ip:1', count: 1, resets_at: 1 })
    await db.raw(`create function delay() returns trigger language plpgsql as $$ begin perform pg_sleep(1); return old; end $$`)
    await db.raw('create trigger delayed before delete on rate_limits for each row execute function delay()')
    await db.destroy()
    const patient = withPatientConnection(service.deps)
    const cleanup = startCleanup(patient.deps, 10)
    const watching = createKnex({ ...service.deps.config, dbPoolMax: 1 })
    try {
      await until(async () => (await watching('rate_limits').where({ key: 'ip:1' })).length === 0)
    } finally {
      await cleanup.stop()
      await patient.close()
      await watching.destroy()
    }
  },
)
