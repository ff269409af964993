// Measures an upgrade of the first release with five million audit events on Postgres, beside events that are written every few
// milliseconds: how long the migrations take, the seals of old events, their comparison, and the division by month, and how long an event waited at most.
// AUDIT_EVENTS takes another number.
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { loadConfig } from '../../packages/server/src/config.ts'
import type { Pool } from '../../packages/server/src/db/handle.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrateDatabase } from '../../packages/server/src/db/migrate.ts'
import { closeDeps, createDeps, type Deps } from '../../packages/server/src/deps.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { hasKeyOfAudit, headFacts } from '../../packages/server/src/resources/audit/chain.ts'
import { recordEvent, systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { ownSecrets, testEnvironment } from '../support/client.ts'
import { createDatabase, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'

const events = Number(process.env.AUDIT_EVENTS ?? 5_000_000)
const pauseMs = 5
/** All of them have no deadline, so a part of them is sealed. */
const sealingMs = 30_000
const released = gunzipSync(readFileSync(new URL('../fixtures/released-0001.sql.gz', import.meta.url))).toString()

const { templates, stop } = await prepareTemplates(['postgres'])
try {
  const database = await createDatabase('postgres', templates)
  await fill(database.url)
  await measure(database.url)
  await database.drop()
} finally {
  await stop()
}

/** A database of the first release, with events of eight months. */
async function fill(databaseUrl: string): Promise<void> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  await db.raw('drop schema public cascade')
  await db.raw('create schema public')
  await db.raw(released.replaceAll('?', '\\?'))
  const { rows } = await db.raw(
    `select indexname as name, indexdef as made from pg_indexes where schemaname = 'public' and tablename = 'audit_events'
     and indexname <> 'audit_events_pkey'`,
  )
  for (const { name } of rows) await db.raw(`drop index public.${name}`)
  const stepMs = (240 * 86_400_000) / events
  await db.raw(`
    insert into public.audit_events (id, event, actor_type, actor_id, user_id, app_id, ip, user_agent, request_id, at)
    select (substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-' ||
        substr(md5(n::text), 7, 12))::uuid, 'login.success', 'user', user_id, user_id, gen_random_uuid(), '203.0.113.' || n % 250,
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36', gen_random_uuid()::text, ms
    from (select n, ms, lpad(to_hex(ms), 12, '0') as hex, md5((n % 500000)::text)::uuid as user_id
      from generate_series(1, ${events}) as n, lateral (select ${Date.now()} - (${events} - n)::float8 * ${stepMs}) as t(at),
        lateral (select at::bigint as ms) as s) as made`)
  for (const { made } of rows) await db.raw(made)
  await db.raw('vacuum analyze public.audit_events')
  await db.destroy()
}

async function measure(databaseUrl: string): Promise<void> {
  // A server of the first release writes this statement.
  const older = createKnex({ databaseUrl, dbPoolMax: 1 })
  const config = loadConfig({ ...testEnvironment, DATABASE_URL: databaseUrl, AUTH_MAIL_DIR: tmpdir() }, ownSecrets)
  // Once the hour is over in which servers of the first release may write, the audit is divided.
  let offsetMs = 0
  const deps = createDeps(config, { clock: () => Date.now() + offsetMs })
  const columns = '(id, event, actor_type, at, user_id)'
  const byOlder = () =>
    older.raw(`insert into audit_events ${columns} values ('${newId()}', 'login.success', 'user', ${Date.now()}, '${newId()}')`)
  const byNewer = () => recordEvent(deps, { event: 'user.updated', actor: systemActor, userId: newId() })
  await phase('migrations', byOlder, () => migrateDatabase(deps))
  await phase('the first server takes over the chain', byOlder, () => hasKeyOfAudit(deps))
  const started = performance.now()
  const { sealed } = await phase(`seals of old events for ${sealingMs / 1_000} s`, byNewer, () =>
    sealEvents(deps, () => performance.now() - started > sealingMs),
  )
  record({
    what: 'old events sealed',
    ours: sealed / ((performance.now() - started) / 1_000),
    unit: 'events/s',
    better: 'higher',
  })
  const compared = await compareAgain(deps, byNewer)
  record({ what: 'old events compared', ours: compared, unit: 'events/s', better: 'higher' })
  offsetMs = 3_700_000
  await phase('division by month', byNewer, () => deps.lifecycle.divideAudit())
  await closeDeps(deps)
  await older.destroy()
}

/** Compares the events that were sealed, as if another version had left them. Returns how many in a second. */
async function compareAgain(deps: Deps<Pool>, write: () => PromiseLike<unknown>): Promise<number> {
  const chain = { ...(await deps.db('audit_chain').first()), former_checked: 0 }
  await deps.db('audit_chain').update({ former_checked: 0, signature: deps.auditProofs.sign(headFacts(chain)) })
  const started = performance.now()
  await phase('comparing the sealed ones', write, async () => {
    let isOver = false
    while (!isOver) {
      const { former } = await sealEvents(deps, () => true)
      if (!former || former.faults.count > 0) throw new Error(`not whole: ${JSON.stringify(former)}`)
      isOver = former.checked === former.position
    }
  })
  return chain.position / ((performance.now() - started) / 1_000)
}

async function phase<T>(name: string, write: () => PromiseLike<unknown>, run: () => Promise<T>): Promise<T> {
  let isOver = false
  const waits: number[] = []
  const writing = (async () => {
    while (!isOver) {
      const began = performance.now()
      await write()
      waits.push(performance.now() - began)
      await sleep(pauseMs)
    }
  })()
  const started = performance.now()
  const result = await run()
  const seconds = (performance.now() - started) / 1_000
  isOver = true
  await writing
  const what = `upgrade with ${events.toLocaleString('en')} audit events, ${name}`
  record({ what, ours: seconds, unit: 's', better: 'lower' })
  record({ what: `${what}: longest wait of an event`, ours: Math.max(...waits), unit: 'ms', better: 'lower' })
  return result
}
