// A server that freezes in the middle of a transaction does not block others for ever: Postgres ends the abandoned transaction.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { createDatabase } from '../support/database.ts'
import { measured } from '../support/fault.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD, type Reply } from '../support/service.ts'

/** The default of DB_STATEMENT_TIMEOUT_MS. */
const limitMs = 3_000
const waitsForTable = { wait_event_type: 'Lock', wait_event: 'relation' }
/** Extra time after the limit, for a busy machine. */
const graceMs = 8_000
/** Long enough for the first run on a machine, which fetches PgBouncer. */
const startTimeoutMs = 120_000

describe.each(['Postgres', 'PgBouncer'])('servers connected to %s', (connectedTo) => {
  let pgbouncer: PgBouncer | undefined
  let obstacle: string | undefined

  beforeAll(async () => {
    if (connectedTo === 'Postgres') return
    pgbouncer = await startPgBouncer(inject('templates').postgres!.adminUrl, { connections: 10 }).catch((error: Error) => {
      obstacle = error.message
      process.stderr.write(`[gatehouse] tests behind PgBouncer are skipped: ${obstacle}\n`)
      return undefined
    })
    if (pgbouncer) onFileEnd(() => pgbouncer!.stop())
  }, startTimeoutMs)
  beforeEach(({ skip }) => {
    if (obstacle !== undefined) skip(obstacle)
  })

  /** Starts two servers with an app and its user, and a direct connection to Postgres for the operator. */
  async function start() {
    const database = await createDatabase('postgres')
    onTestFinished(() => database.drop())
    const settings = {
      DATABASE_URL: pgbouncer ? pgbouncer.urlOf(database.url) : database.url,
      ...bootstrapAdmin,
    }
    const freezing = await startServer(settings)
    const other = await startServer(settings)
    const { access_token: token } = (await other.login(ADMIN_EMAIL, 'authctl')).body
    const app = (
      await other.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })
    ).body
    const email = `${randomUUID()}@example.com`
    const { user } = (await other.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'shop' } })).body
    const operator = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
    onTestFinished(() => void operator.destroy())
    const revoke = (server: ServerProcess): Promise<Reply> =>
      server.call('DELETE', `/admin/users/${user.id}/apps/${app.id}`, { token })
    return { freezing, other, operator, email, token, revoke }
  }

  /** Counts the servers' sessions in Postgres that meet this condition. */
  async function count(operator: ReturnType<typeof createKnex>, condition: object): Promise<number> {
    const [row] = await operator('pg_stat_activity')
      .where({ datname: operator.raw('current_database()'), ...condition })
      .whereNot({ pid: operator.raw('pg_backend_pid()') })
      .count({ count: '*' })
    return Number(row?.count)
  }

  /** Freezes a server in the middle of a revoke, while its statement waits for a table that the operator has locked. */
  async function freezeInRevoke({ freezing, operator, revoke }: Awaited<ReturnType<typeof start>>) {
    const held = await operator.transaction()
    await held.raw('lock table revocations in share row exclusive mode')
    const unanswered = revoke(freezing)
    unanswered.catch(() => {})
    await expect.poll(() => count(operator, waitsForTable), { interval: 20 }).toBe(1)
    freezing.signal('SIGSTOP')
    onTestFinished(() => freezing.signal('SIGCONT'))
    return { held, unanswered }
  }

  test('a revoke waits for the locks of a frozen server and ends within the limit, and the frozen server answers 503', {
    timeout: 120_000,
  }, async (context) => {
    const subject = await start()
    const { freezing, other, operator, email, token, revoke } = subject
    const { held, unanswered } = await freezeInRevoke(subject)
    await held.commit()
    const clock = startPatientClock()
    // The statement has finished, but the frozen server does not know. It holds the rows of the user and the grant.
    const idle = { state: 'idle in transaction' }
    await expect.poll(() => count(operator, idle), { interval: 20 }).toBe(1)
    const { pid } = await operator('pg_stat_activity')
      .where({ datname: operator.raw('current_database()'), ...idle })
      .first('pid')
    // Postgres refuses a statement that waits for a lock longer than nine tenths of the limit.
    expect((await revoke(other)).status).toBe(200)
    const ms = clock()
    expect((await other.login(email, 'shop')).status).toBeLessThan(500)
    // The other server may have a transaction of its own under way.
    expect(await count(operator, { pid, ...idle })).toBe(0)
    freezing.signal('SIGCONT')
    expect((await unanswered).body.code).toBe('unavailable')
    expect((await freezing.call('GET', '/auth/me', { token })).status).toBe(200)
    measured(
      context,
      `the first revoke of another server is 200, ${Math.round(ms)} ms after the freeze, at a limit of ${limitMs} ms`,
    )
  })

  test('a statement of a frozen server does not wait for a lock forever', { timeout: 120_000 }, async () => {
    const subject = await start()
    const { held, unanswered } = await freezeInRevoke(subject)
    const clock = startPatientClock()
    await expect.poll(() => count(subject.operator, waitsForTable)).toBe(0)
    expect(clock()).toBeLessThan(limitMs + graceMs)
    await held.rollback()
    subject.freezing.signal('SIGCONT')
    expect((await unanswered).body.code).toBe('unavailable')
  })
})
