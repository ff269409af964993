// Two servers on one Postgres, each with its own connection pool.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce, chance } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { mailsOf } from '../support/outbox.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import {
  ADMIN_EMAIL,
  bootstrapAdmin,
  claimsOf,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  testDatabase,
} from '../support/service.ts'

const settings = {
  DB_POOL_MAX: '5',
  AUTH_RATE_LIMIT_ACCOUNT: 'off',
  AUTH_LOCKOUT_THRESHOLD: '1000',
  ...bootstrapAdmin,
}

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  let servers: [ServerInstance, ServerInstance]
  let adminToken: string
  /** Reads and locks rows without going through a server. */
  let db: ReturnType<typeof createKnex>

  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    afterAll(() => database.drop())
    db = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
    onFileEnd(() => db.destroy())
    const start = () => startInstance({ ...settings, DATABASE_URL: database.url }, onFileEnd)
    servers = await Promise.all([start(), start()])
    adminToken = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
  })

  const call = (index: number, method: string, path: string, body?: object, token?: string): Promise<Reply> =>
    servers[index % 2]!.call(method, path, { body, token })
  const admin = (index: number, method: string, path: string, body?: object) => call(index, method, path, body, adminToken)

  async function newApp(app: object = {}): Promise<Json> {
    const code = `app-${randomUUID()}`
    return (await admin(0, 'POST', '/admin/apps', { code, name: code, ...app })).body
  }

  const register = (index: number, email: string, app: Json, extra: object = {}) =>
    call(index, 'POST', '/auth/register', { email, password: PASSWORD, app_code: app.code, ...extra })
  const login = (index: number, email: string, app: Json) =>
    call(index, 'POST', '/auth/login', { email, password: PASSWORD, app_code: app.code })
  const refresh = (index: number, refresh_token: string) => call(index, 'POST', '/auth/refresh', { refresh_token })

  test('forty registrations of ten addresses through apps with overlapping pool sets create ten users', async () => {
    const shared = `pool-${randomUUID()}`
    const apps = [
      await newApp({ registration_namespace: `pool-${randomUUID()}`, read_namespaces: [shared] }),
      await newApp({ registration_namespace: `pool-${randomUUID()}`, read_namespaces: [shared] }),
    ]
    for (let repeat = 0; repeat < 3; repeat += 1) {
      const emails = Array.from({ length: 10 }, someEmail)
      // Each address is registered through both apps on both servers.
      const replies = await atOnce(40, (index) =>
        register(Math.floor(index / 20), emails[index % 10]!, apps[Math.floor(index / 10) % 2]),
      )
      expect(replies.filter((reply) => reply.status === 201)).toHaveLength(10)
      expect(replies.filter((reply) => reply.body.code === 'user_exists')).toHaveLength(30)
      for (const email of emails) {
        const { items } = (await admin(0, 'GET', `/admin/users?email=${encodeURIComponent(email)}`)).body
        expect(items).toHaveLength(1)
        expect(items[0].namespaces).toContain(shared)
      }
    }
  })

  async function holdUserRow(id: string) {
    await mailsOf(db, id)
    const held = await db.transaction()
    await held('users').where({ id }).forUpdate().first('id')
    return held
  }

  async function oneLockWaiter(): Promise<void> {
    const waiting = () => db('pg_stat_activity').whereRaw("datname = current_database() and wait_event_type = 'Lock'")
    await expect.poll(async () => (await waiting()).length).toBe(1)
  }

  test('a session that ends while its user waits to accept an invitation joins nothing, and neither does a login with one', async () => {
    const app = await newApp({ auto_grant_on_signup: true })
    const { user, access_token, refresh_token } = (await register(0, someEmail(), app)).body
    const slug = `org-${randomUUID()}`
    const { id } = (await admin(0, 'POST', '/admin/organizations', { slug, name: slug })).body
    const invitations = `/admin/organizations/${id}/invitations`
    const { token } = (await admin(0, 'POST', invitations, { role_codes: ['org_member'] })).body

    const held = await holdUserRow(user.id)
    const accepting = call(1, 'POST', '/auth/invitations/accept', { token }, access_token)
    await oneLockWaiter()
    expect((await call(0, 'POST', '/auth/logout', { refresh_token })).status).toBe(204)
    await held.rollback()
    expect((await accepting).body.code).toBe('token_revoked')
    expect(await db('organization_memberships').where({ user_id: user.id })).toEqual([])

    const again = await holdUserRow(user.id)
    const entering = register(1, user.email, app, { mode: 'register_or_login', invite_token: token })
    await oneLockWaiter()
    await again('users').where({ id: user.id }).increment({ token_version: 1 })
    await again('users')
      .where({ id: user.id })
      .update({ min_token_version: db.ref('token_version') })
    await again.commit()
    expect((await entering).body.code).toBe('invalid_credentials')
    expect(await db('organization_memberships').where({ user_id: user.id })).toEqual([])
    expect((await admin(0, 'GET', invitations)).body.items[0].status).toBe('pending')
  })

  test('fifty first logins of one user provision once', async () => {
    const linked = await newApp()
    const app = await newApp({ auto_grant_on_signup: true, linked_app_codes: [linked.code] })
    const { user } = (await register(0, someEmail(), await newApp())).body
    const replies = await atOnce(50, (index) => login(index, user.email, app))
    expect(replies.map((reply) => reply.status)).toEqual(Array(50).fill(200))
    const { items } = (await admin(1, 'GET', `/admin/users/${user.id}/apps`)).body
    expect(items.map((grant: Json) => grant.app_code).sort()).toEqual([app.code, linked.code].sort())
  })

  test('one invitation, used at both servers by thirty who register and ten users, admits one', async () => {
    const app = await newApp({ auto_grant_on_signup: true })
    const members = await Promise.all(Array.from({ length: 10 }, (_, index) => register(index, someEmail(), app)))
    for (let repeat = 0; repeat < 3; repeat += 1) {
      const organization = (await admin(0, 'POST', '/admin/organizations', { name: 'Acme' })).body
      const path = `/admin/organizations/${organization.id}`
      const { token } = (await admin(1, 'POST', `${path}/invitations`, { role_codes: ['org_member'] })).body
      const replies = await atOnce(40, (index) =>
        index < 30
          ? register(index, someEmail(), app, { invite_token: token })
          : call(index, 'POST', '/auth/invitations/accept', { token }, members[index - 30]!.body.access_token),
      )
      const admitted = replies.filter((reply) => reply.status === 201 || reply.status === 200)
      const refused = replies.filter((reply) => reply.body.code === 'invalid_invitation')
      expect([admitted.length, refused.length]).toEqual([1, 39])
      expect((await admin(0, 'GET', `${path}/members`)).body.items).toHaveLength(1)
    }
  })

  test('fifty refreshes of one token leave one live chain, and each server continues where the other stopped', async () => {
    const app = await newApp({ auto_grant_on_signup: true })
    const first = (await register(0, someEmail(), app)).body
    const replies = await atOnce(50, (index) => refresh(index, first.refresh_token))
    expect(replies.map((reply) => reply.status)).toEqual(Array(50).fill(200))
    const successors = new Set(replies.map((reply) => reply.body.refresh_token))
    expect(successors.size).toBe(1)
    let token = [...successors][0] as string
    for (let index = 0; index < 4; index += 1) {
      const { status, body } = await refresh(index, token)
      expect(status).toBe(200)
      token = body.refresh_token
    }
    expect((await refresh(0, first.refresh_token)).body.code).toBe('refresh_token_reused')
    expect((await refresh(1, token)).body.code).toBe('invalid_refresh_token')
  })

  test('a revocation on one server ends at once the tokens that the other issues at the same time', async () => {
    const app = await newApp({ auto_grant_on_signup: true })
    for (let seed = 1; seed <= 8; seed += 1) {
      const { soon } = chance(seed)
      const first = (await register(0, someEmail(), app)).body
      const path = `/admin/users/${first.user.id}/apps/${app.id}`
      const revoke = soon(10, () => admin(0, 'DELETE', path))
      const replies = await atOnce(10, (index) =>
        soon(10, () => (index % 2 ? refresh(index, first.refresh_token) : login(index + 1, first.user.email, app))),
      )
      expect((await revoke).status).toBe(200)
      for (const round of ['revoked', 'granted again']) {
        for (const { body } of replies.filter((reply) => reply.status === 200)) {
          expect((await call(1, 'GET', '/auth/me', undefined, body.access_token)).status, round).toBe(401)
          expect([401, 403], round).toContain((await refresh(0, body.refresh_token)).status)
        }
        await admin(1, 'POST', path)
      }
    }
  })

  test('a token of one server is valid on the other', async () => {
    const app = await newApp({ auto_grant_on_signup: true })
    const { access_token, user } = (await register(0, someEmail(), app)).body
    expect((await call(1, 'GET', '/auth/me', undefined, access_token)).body.user).toEqual(user)
    expect(claimsOf(access_token).iss).toBe('gatehouse')
  })
})
