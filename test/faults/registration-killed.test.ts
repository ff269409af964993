// A registration is one transaction. Whenever the server dies, its user exists completely or not at all.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD, type Reply } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const rounds = sized(1, 25)
const clients = 12

/** Every table that a registration writes a row to for its user. */
const tablesOfUser = ['user_roles', 'user_apps', 'organization_memberships', 'sessions', 'outbox']

const register = (server: ServerProcess, email: string) =>
  server.call('POST', '/auth/register', {
    body: { email, password: PASSWORD, app_code: 'shop', organization_name: 'Acme' },
  })

async function createShop(server: ServerProcess): Promise<void> {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  // Nothing listens there, so the events of registrations stay in the outbox.
  const webhooks = [{ name: 'crm', url: 'http://127.0.0.1:9/' }]
  const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true, webhooks }
  expect((await server.call('POST', '/admin/apps', { token, body })).status).toBe(201)
}

/** Runs one round: many users register at once, and the server is killed shortly after the first answer. */
async function registerUntilKilled(server: ServerProcess, emails: readonly string[], delayMs: number) {
  const replies = emails.map((email) => register(server, email).catch((): Reply | undefined => undefined))
  await Promise.race([...replies, server.ended])
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  server.signal('SIGKILL')
  await server.ended
  return Promise.all(replies)
}

async function expectWholeUsers(databaseUrl: string, emails: readonly string[]): Promise<Set<string>> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    const users: { id: string; email: string }[] = await db('users').whereIn('email', emails).select('id', 'email')
    const ids = users.map(({ id }) => id).sort()
    for (const table of tablesOfUser) {
      const query = db(table).whereIn('user_id', ids).distinct('user_id').orderBy('user_id')
      expect(await query.pluck('user_id'), table).toEqual(ids)
    }
    const audited = await db('audit_events').where({ event: 'user.registered' }).whereIn('user_id', ids).pluck('user_id')
    expect(audited.sort()).toEqual(ids)
    const owned = await db('organization_memberships').distinct('organization_id').pluck('organization_id')
    const organizations = await db('organizations').pluck('id')
    expect(organizations.sort()).toEqual(owned.sort())
    return new Set(users.map(({ email }) => email))
  } finally {
    await db.destroy()
  }
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('kill -9 in the middle of registrations leaves whole users or none, and each address taken or free', {
    timeout: 600_000,
  }, async (context) => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      ...bootstrapAdmin,
    }
    const dice = chance(kind.length)
    let server = await startServer(settings)
    await createShop(server)
    const count = { confirmed: 0, unanswered: 0, kept: 0 }
    for (let round = 0; round < rounds; round += 1) {
      const emails = Array.from({ length: clients }, (_, client) => `user-${round}-${client}@example.com`)
      const replies = await registerUntilKilled(server, emails, dice.next() * sized(10, 80))
      // By the time the next server listens, Postgres has finished the statements of the dead one.
      server = await startServer(settings)
      const there = await expectWholeUsers(database.url, emails)
      for (const [client, reply] of replies.entries()) {
        const email = emails[client]!
        if (reply) expect(reply.status).toBe(201)
        if (reply) expect(there).toContain(email)
        count[reply ? 'confirmed' : 'unanswered'] += 1
        if (!reply && there.has(email)) count.kept += 1
        // A user who exists can sign in. A user who does not exist can register.
        const next = there.has(email) ? await server.login(email, 'shop') : await register(server, email)
        expect({ email, status: next.status }).toEqual({ email, status: there.has(email) ? 200 : 201 })
        expect(next.body.access_token).toBeDefined()
      }
    }
    expect(count.unanswered).toBeGreaterThan(0)
    measured(
      context,
      `${rounds} kills: ${count.confirmed} confirmed and all there; of ${count.unanswered} unanswered ${count.kept} whole, ${count.unanswered - count.kept} free; 0 half`,
    )
    expect((await server.stop()).code).toBe(0)
  })
})
