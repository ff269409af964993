import { createHash, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { CLIENT_ID, CLIENT_SECRET, type TestProvider } from '../support/oidc-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { mailsOf } from '../support/outbox.ts'
import {
  type Arrived,
  answerOf,
  beginSso,
  callbackOf,
  comeBack,
  exchange,
  fullTrust,
  REDIRECT_URL,
  startProvider,
} from '../support/provider.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, someEmail, testDatabase } from '../support/service.ts'

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  let servers: [ServerInstance, ServerInstance]
  /** Reads and locks rows without going through a server. */
  let db: ReturnType<typeof createKnex>
  let provider: TestProvider
  let admin: string
  let app: Json
  /** Registers users in its own pool, and also reads the pool of the other app. */
  let wiki: Json
  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onFileEnd(() => database.drop())
    db = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
    onFileEnd(() => db.destroy())
    const settings = {
      DATABASE_URL: database.url,
      DB_POOL_MAX: '5',
      PUBLIC_URL: 'http://localhost:4000',
      ...bootstrapAdmin,
    }
    const [first, second, started] = await Promise.all([
      startInstance(settings, onFileEnd),
      startInstance(settings, onFileEnd),
      startProvider([callbackOf('acme'), callbackOf('twin')], onFileEnd),
    ])
    servers = [first, second]
    provider = started
    const token = (await first.login(ADMIN_EMAIL, 'authctl')).body.access_token
    admin = token
    const client = { issuer: provider.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, ...fullTrust }
    for (const code of ['acme', 'twin']) await first.call('POST', '/admin/sso-providers', { token, body: { code, ...client } })
    const create = async (settings: Json) => {
      const body = { name: 'App', auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL], ...settings }
      return (await first.call('POST', '/admin/apps', { token, body })).body
    }
    app = await create({ code: 'shop' })
    wiki = await create({ code: 'wiki', registration_namespace: 'wiki', read_namespaces: ['default'] })
  })

  /** Locks a user's row, as a transaction of another server does. Returns a function that releases it. */
  async function holdUserRow(id: string): Promise<() => Promise<void>> {
    await mailsOf(db, id)
    const held = await db.transaction()
    await held('users').where({ id }).forUpdate().first('id')
    return async () => {
      await held.rollback()
    }
  }

  /** Resolves once `count` statements wait for a lock. */
  async function lockWaiters(count: number): Promise<void> {
    const waiting = () => db('pg_stat_activity').whereRaw("datname = current_database() and wait_event_type = 'Lock'")
    await expect.poll(async () => (await waiting()).length).toBe(count)
  }

  const someone = () => provider.addAccount({ email: someEmail(), email_verified: true })

  /** A login that begins on the first server and comes back to the second. */
  async function arriveAcross(subject: string, { code = 'acme', through = app } = {}): Promise<Arrived> {
    const begun = await beginSso(servers[0], code, through)
    const back = await provider.logIn(begun.reply.headers.get('location')!, subject)
    return { code: answerOf(await comeBack(servers[1], back)).code!, verifier: begun.verifier }
  }

  test('one login can use both servers', async () => {
    const subject = someone()
    const reply = await exchange(servers[0], await arriveAcross(subject))
    expect(reply.status).toBe(200)
    expect((await exchange(servers[1], await arriveAcross(subject))).body.user).toEqual(reply.body.user)
  })

  test('an answer that is brought to both servers at once is accepted by one', async () => {
    const begun = await beginSso(servers[0], 'acme', app)
    const back = await provider.logIn(begun.reply.headers.get('location')!, someone())
    const replies = await atOnce(20, (index) => comeBack(servers[index % 2]!, back))
    expect(replies.filter(({ status }) => status === 302)).toHaveLength(1)
    for (const { status, body } of replies) if (status !== 302) expect(body.code).toBe('invalid_sso_state')
  })

  test('one code that is exchanged twenty times at once on both servers opens one session', async () => {
    const arrived = await arriveAcross(someone())
    const replies = await atOnce(20, (index) => exchange(servers[index % 2]!, arrived))
    const bought = replies.filter(({ status }) => status === 200)
    expect(bought).toHaveLength(1)
    const token = bought[0]!.body.access_token
    expect((await servers[1].call('GET', '/auth/sessions', { token })).body.items).toHaveLength(1)
  })

  test('twenty concurrent first logins of one subject on both servers make one user', async () => {
    const subject = someone()
    const arrived: Arrived[] = await atOnce(20, () => arriveAcross(subject))
    const replies = await atOnce(20, (index) => exchange(servers[index % 2]!, arrived[index]!))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect(new Set(replies.map(({ body }) => body.user.id)).size).toBe(1)
    const token = replies[0]!.body.access_token
    expect((await servers[0].call('GET', '/auth/identities', { token })).body.items).toHaveLength(1)
  })

  test('concurrent first logins of a subject whose address changes make one user', async () => {
    const subject = someone()
    const arrived: Arrived[] = []
    for (let index = 0; index < 6; index += 1) {
      provider.accounts.set(subject, { email: someEmail(), email_verified: true })
      arrived.push(await arriveAcross(subject))
    }
    const replies = await atOnce(6, (index) => exchange(servers[index % 2]!, arrived[index]!))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect(new Set(replies.map(({ body }) => body.user.id)).size).toBe(1)
  })

  const register = async (): Promise<Json> => {
    const body = { email: someEmail(), password: PASSWORD, app_code: app.code }
    return (await servers[0].call('POST', '/auth/register', { body })).body
  }

  /** A link that begins on the first server and comes back to the second. */
  async function arriveToLink(token: string, subject: string): Promise<Arrived> {
    const verifier = randomBytes(32).toString('base64url')
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const body = { provider: 'acme', redirect_url: REDIRECT_URL, code_challenge, state: 'of the client' }
    const begun = await servers[0].call('POST', '/auth/identities/link', { token, body })
    const back = await provider.logIn(begun.body.location, subject)
    return { code: answerOf(await comeBack(servers[1], back)).code!, verifier }
  }

  const link = (server: ServerInstance, { code, verifier }: Arrived, token: string) =>
    server.call('POST', '/auth/sso/token', { token, body: { code, code_verifier: verifier } })

  test('one subject that ten users link at once on both servers is linked with one of them', async () => {
    const subject = someone()
    const tokens: string[] = await atOnce(10, async () => (await register()).access_token)
    const arrived: Arrived[] = await atOnce(10, (index) => arriveToLink(tokens[index]!, subject))
    const replies = await atOnce(10, (index) => link(servers[index % 2]!, arrived[index]!, tokens[index]!))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, body } of replies) if (status !== 200) expect(body.code).toBe('identity_in_use')
    expect(await db('user_identities').where({ subject })).toHaveLength(1)
  })

  test('a link is not made if its session ends while it waits for the row of the user', async () => {
    const { user, access_token: token, refresh_token } = await register()
    const arrived = await arriveToLink(token, someone())
    const letGo = await holdUserRow(user.id)
    const linking = link(servers[1], arrived, token)
    await lockWaiters(1)
    expect((await servers[0].call('POST', '/auth/logout', { body: { refresh_token } })).status).toBe(204)
    await letGo()
    expect((await linking).body.code).toBe('token_revoked')
    expect(await db('user_identities').where({ user_id: user.id })).toEqual([])
  })

  test('a first login and a concurrent registration of one address in overlapping pools make one user', async () => {
    for (let round = 0; round < 8; round += 1) {
      const email = someEmail()
      const arrived = await arriveAcross(provider.addAccount({ email, email_verified: true }), { through: wiki })
      const body = { email, password: PASSWORD, app_code: app.code }
      const [sso, registration] = await Promise.all([
        exchange(servers[0], arrived),
        servers[1].call('POST', '/auth/register', { body }),
      ])
      expect(sso.status).toBe(200)
      expect([201, 409]).toContain(registration.status)
      const { items } = (await servers[0].call('GET', `/admin/users?email=${email}`, { token: admin })).body
      expect(items.map(({ id }: Json) => id)).toEqual([sso.body.user.id])
    }
  })

  test('a login by e-mail never takes over an account that is given a role meanwhile', async () => {
    const email = someEmail()
    const registration = { body: { email, password: PASSWORD, app_code: app.code } }
    const { user: holder } = (await servers[0].call('POST', '/auth/register', registration)).body
    const now = Date.now()
    // A user can become an admin only if the account is proven.
    await db('users').where({ id: holder.id }).update({ email_verified_at: now, first_verified_at: now })
    const roles = `/admin/users/${holder.id}/roles`
    const arrived = await arriveAcross(provider.addAccount({ email, email_verified: true }))
    // Both wait for the user's row, the role first. When the exchange first looks, the user holds only base_user.
    const release = await holdUserRow(holder.id)
    const given = servers[0].call('POST', roles, { token: admin, body: { role_code: 'super_admin' } })
    await lockWaiters(1)
    const entering = exchange(servers[1], arrived)
    await lockWaiters(2)
    await release()
    const [assigned, entered] = await Promise.all([given, entering])
    expect(assigned.status).toBe(201)
    expect(entered.body).toMatchObject({ status: 409, code: 'link_required' })
    const identities = await servers[0].call('GET', `/admin/users/${holder.id}/identities`, { token: admin })
    expect(identities.body.items).toEqual([])
  })

  test('one of the last two sign-in methods stays if both are removed at once on two servers', async () => {
    for (let round = 0; round < 5; round += 1) {
      const subject = someone()
      await exchange(servers[0], await arriveAcross(subject))
      const token = (await exchange(servers[0], await arriveAcross(subject, { code: 'twin' }))).body.access_token
      const { items } = (await servers[0].call('GET', '/auth/identities', { token })).body
      const replies = await atOnce(2, (index) => servers[index]!.call('DELETE', `/auth/identities/${items[index].id}`, { token }))
      expect(replies.map(({ status }) => status).sort()).toEqual([204, 409])
    }
  })
})
