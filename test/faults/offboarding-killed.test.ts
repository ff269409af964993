// An offboarding is one transaction for each account. Whenever the server dies, an account is closed completely or not at all, and
// the same command closes the rest.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, type Reply } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const rounds = sized(1, 10)
const people = 8
const pools = { default: 'shop', staff: 'staff' }

interface Account {
  id: string
  refreshToken: string
}

async function prepare(server: ServerProcess): Promise<{ token: string; organizationId: string }> {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  for (const [pool, code] of Object.entries(pools)) {
    const body = { code, name: code, auto_grant_on_signup: true, registration_namespace: pool }
    expect((await server.call('POST', '/admin/apps', { token, body })).status).toBe(201)
  }
  const organization = await server.call('POST', '/admin/organizations', { token, body: { name: 'Acme', slug: 'acme' } })
  return { token, organizationId: organization.body.id }
}

/** An account with a session, a grant and a membership. */
async function buildAccount(
  server: ServerProcess,
  { token, organizationId }: { token: string; organizationId: string },
  email: string,
  pool: keyof typeof pools,
): Promise<Account> {
  const created = await server.call('POST', '/admin/users', { token, body: { email, password: PASSWORD, namespace: pool } })
  const { id } = created.body
  const path = `/admin/organizations/${organizationId}/members/${id}`
  expect((await server.call('PUT', path, { token, body: { role_codes: ['org_member'] } })).status).toBe(201)
  const { body } = await server.login(email, pools[pool])
  return { id, refreshToken: body.refresh_token }
}

const offboard = (server: ServerProcess, token: string, { id }: Account) =>
  server.call('POST', `/admin/users/${id}/offboard`, { token, body: {} })

/** What each account still has: nothing, or everything. */
async function whatIsLeft(databaseUrl: string, accounts: readonly Account[]): Promise<Map<string, 'nothing' | 'everything'>> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  const left = new Map<string, 'nothing' | 'everything'>()
  try {
    for (const { id } of accounts) {
      const count = async (table: string, where: object) => {
        const [counted]: Json[] = await db(table).where(where).count({ n: '*' })
        return Number(counted.n)
      }
      const state = {
        active: await count('users', { id, status: 'active' }),
        sessions: await count('sessions', { user_id: id, ended_at: null }),
        grants: await count('user_apps', { user_id: id, status: 'active' }),
        memberships: await count('organization_memberships', { user_id: id }),
        audited: await count('audit_events', { user_id: id, event: 'user.offboarded' }),
        told: await count('revocations', { user_id: id }),
      }
      const isClosed = state.active === 0
      expect(state).toEqual(
        isClosed
          ? { active: 0, sessions: 0, grants: 0, memberships: 0, audited: 1, told: 1 }
          : { active: 1, sessions: 1, grants: 1, memberships: 1, audited: 0, told: 0 },
      )
      left.set(id, isClosed ? 'nothing' : 'everything')
    }
    return left
  } finally {
    await db.destroy()
  }
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('kill -9 in the middle of offboardings leaves each account closed or as it was, and a second run closes the rest', {
    timeout: 600_000,
  }, async (context) => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const dice = chance(kind.length)
    let server = await startServer(settings)
    const prepared = await prepare(server)
    const { token } = prepared
    const total = { closed: 0, untouched: 0 }
    for (let round = 0; round < rounds; round += 1) {
      const accounts: Account[] = []
      for (let person = 0; person < people; person += 1)
        for (const pool of ['default', 'staff'] as const)
          accounts.push(await buildAccount(server, prepared, `user-${round}-${person}@example.com`, pool))
      const replies = accounts.map((account) => offboard(server, token, account).catch((): Reply | undefined => undefined))
      await Promise.race([...replies, server.ended])
      await new Promise((resolve) => setTimeout(resolve, dice.next() * 30))
      server.signal('SIGKILL')
      await server.ended
      const answered = await Promise.all(replies)
      // By the time the next server listens, Postgres has finished the statements of the dead one.
      server = await startServer(settings)
      const left = await whatIsLeft(database.url, accounts)
      for (const [index, { id, refreshToken }] of accounts.entries()) {
        if (answered[index]) expect(answered[index].status).toBe(200)
        if (answered[index]) expect(left.get(id)).toBe('nothing')
        total[left.get(id) === 'nothing' ? 'closed' : 'untouched'] += 1
        const refreshed = await server.call('POST', '/auth/refresh', { body: { refresh_token: refreshToken } })
        expect(refreshed.status).toBe(left.get(id) === 'nothing' ? 401 : 200)
      }
      const again = await Promise.all(accounts.map((account) => offboard(server, token, account)))
      expect(again.map(({ status, body }) => [status, body.suspended])).toEqual(
        accounts.map(({ id }) => [200, left.get(id) === 'everything']),
      )
      expect([...(await whatIsLeft(database.url, accounts)).values()]).toEqual(accounts.map(() => 'nothing'))
    }
    expect(total.closed).toBeGreaterThan(0)
    measured(context, `${rounds} kills: ${total.closed} accounts closed, ${total.untouched} as they were, 0 half`)
    expect((await server.stop()).code).toBe(0)
  })
})
