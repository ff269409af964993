// A person who is offboarded while they do everything that they still can, on two servers. What stands at the end opens nothing.
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { askPostgres } from '../support/ask-postgres.ts'
import { chance } from '../support/chance.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import {
  ADMIN_EMAIL,
  bootstrapAdmin,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  testDatabase,
  unique,
} from '../support/service.ts'

const app = { code: 'shop', name: 'Shop', auto_grant_on_signup: true, machine_tokens: true }
let servers: [ServerInstance, ServerInstance]
let database: TestDatabase
let adminToken: string
let introspector: string

beforeAll(async () => {
  database = await createDatabase(testDatabase(), inject('templates'))
  onFileEnd(() => database.drop())
  const settings = { DATABASE_URL: database.url, AUTH_RATE_LIMIT_ACCOUNT: 'off', ...bootstrapAdmin }
  const start = () => startInstance(settings, onFileEnd)
  const first = await start()
  // One server writes to a SQLite file.
  servers = [first, testDatabase() === 'postgres' ? await start() : first]
  adminToken = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
  expect((await admin('POST', '/admin/apps', app)).status).toBe(201)
  const body = { name: 'introspector', service: 'ops', scopes: ['tokens:introspect'], app_codes: [app.code, 'authctl'] }
  const created = await admin('POST', '/admin/service-accounts', body)
  expect(created.status).toBe(201)
  introspector = created.body.token
})

let turn = 0
/** Every call goes to the other server than the one before. */
function call(method: string, path: string, body?: object, token?: string): Promise<Reply> {
  turn += 1
  return servers[turn % 2]!.call(method, path, { body, token })
}
const admin = (method: string, path: string, body?: object) => call(method, path, body, adminToken)
const login = ({ email }: Json, code = app.code, rest = {}) =>
  call('POST', '/auth/login', { email, password: PASSWORD, app_code: code, ...rest })
const offboard = ({ id }: Json) => admin('POST', `/admin/users/${id}/offboard`, {})

interface Person {
  user: Json
  tokens: Json
  /** For the admin API. */
  bearer: string
  organization: Json
}

/** A system_admin and org_admin who is signed in. */
async function somebody(): Promise<Person> {
  const created = await admin('POST', '/admin/users', { email: someEmail(), password: PASSWORD })
  expect(created.status).toBe(201)
  const user = created.body
  expect((await admin('POST', `/admin/users/${user.id}/roles`, { role_code: 'system_admin' })).status).toBeLessThan(300)
  const organization = (await admin('POST', '/admin/organizations', { name: 'Acme', slug: unique('acme') })).body
  const membership = await admin('PUT', `/admin/organizations/${organization.id}/members/${user.id}`, {
    role_codes: ['org_admin'],
  })
  expect(membership.status).toBe(201)
  const tokens = (await login(user)).body
  const bearer = (await login(user, 'authctl')).body.access_token
  return { user, tokens, bearer, organization }
}

const newAccount = (bearer: string) => {
  const body = {
    name: unique('account'),
    service: 'notes',
    scopes: ['tokens:issue', 'permissions:register'],
    app_codes: [app.code],
  }
  return call('POST', '/admin/service-accounts', body, bearer)
}
const invite = ({ organization, bearer }: Person, path = '/admin/organizations') =>
  call('POST', `${path}/${organization.id}/invitations`, { role_codes: ['org_member'] }, bearer)
const newMachineToken = (token: string) =>
  call('POST', '/auth/token', { grant_type: 'client_credentials', app_code: app.code }, token)

/** All that the replies of successful calls gave to the person. */
function given(replies: readonly Reply[], field: string): string[] {
  return replies.flatMap(({ status, body }) => (status < 300 && body?.[field] ? [body[field]] : []))
}

const opensNothing = async (token: string) =>
  expect((await call('POST', '/auth/introspect', { token }, introspector)).body).toEqual({ active: false })

test('a person who acts during the offboarding keeps nothing', async () => {
  for (let round = 0; round < 2; round += 1) {
    const { soon } = chance(round)
    const person = await somebody()
    const { user, tokens, bearer } = person
    const account = (await newAccount(bearer)).body
    const acts: (() => Promise<Reply>)[] = [
      () => login(user),
      () => login(user, 'authctl'),
      () => call('POST', '/auth/refresh', { refresh_token: tokens.refresh_token }),
      () => newAccount(bearer),
      () => newAccount(bearer),
      () => call('POST', `/admin/service-accounts/${account.id}/rotate`, undefined, bearer),
      () => newMachineToken(account.token),
      () => invite(person),
      () => invite(person),
      () => invite(person, '/organizations'),
    ]
    const doing = Promise.all([...acts, ...acts].map((act) => soon(80, act)))
    const [replies, offboarded] = await Promise.all([doing, soon(20, () => offboard(user))])
    expect(offboarded.status).toBe(200)
    for (const { status } of replies) expect(status).toBeLessThan(500)

    const friend = (await call('POST', '/auth/register', { email: someEmail(), password: PASSWORD, app_code: app.code })).body
    const bearers = [bearer, tokens.access_token, ...given(replies, 'access_token')]
    const refreshers = [tokens.refresh_token, ...given(replies, 'refresh_token')]
    const accounts = [account.token, ...given(replies, 'token').filter((token) => token.startsWith('gsa_'))]
    await Promise.all([
      ...bearers.map(opensNothing),
      ...refreshers.map(async (token) =>
        expect((await call('POST', '/auth/refresh', { refresh_token: token })).status).toBe(401),
      ),
      ...accounts.map(async (token) => expect((await newMachineToken(token)).status).toBe(401)),
      ...given(replies, 'code').map(async (token) => {
        const accepted = await call('POST', '/auth/invitations/accept', { token }, friend.access_token)
        expect(accepted.body.code).toBe('invalid_invitation')
      }),
    ])
    const nothing = { suspended: false, sessions: 0, grants: [], organizations: [], invitations: 0, service_accounts: [] }
    expect((await offboard(user)).body).toMatchObject(nothing)
  }
})

describe.runIf(testDatabase() === 'postgres')('a request for a secret that waits for a lock', () => {
  let db: ReturnType<typeof createKnex>
  beforeAll(() => {
    db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
    return () => db.destroy()
  })
  const waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

  /** Runs a call that the statement holds up, then `meanwhile`, and lets the call go on. */
  async function heldUpBy<T>(
    statement: string,
    act: () => Promise<Reply>,
    meanwhile: (held: { raw(statement: string): PromiseLike<unknown> }) => PromiseLike<T>,
  ) {
    const held = await db.transaction()
    await held.raw(statement)
    const acting = act()
    await expect.poll(() => askPostgres(database.url, waiting)).toBe('1')
    const result = await meanwhile(held)
    await held.commit()
    return { reply: await acting, result }
  }

  test('an offboarding waits for the new secret and withdraws it', async () => {
    const { user, bearer } = await somebody()
    let offboarding: Promise<Reply> | undefined
    const { reply: created } = await heldUpBy(
      'lock table service_accounts in share mode',
      () => newAccount(bearer),
      async () => {
        offboarding = offboard(user)
        // It waits, so there is no condition to wait for.
        await Promise.race([offboarding, sleep(500)])
      },
    )
    const offboarded = await offboarding!
    expect([created.status, offboarded.status]).toEqual([201, 200])
    expect(offboarded.body.service_accounts).toEqual([expect.objectContaining({ id: created.body.id, deleted: true })])
    expect((await newMachineToken(created.body.token)).status).toBe(401)
  })

  test.each([
    ['a service account', ({ bearer }: Person) => newAccount(bearer)],
    ['an invitation', (person: Person) => invite(person)],
  ])('%s is refused to a user who is suspended meanwhile', async (_, ask) => {
    const person = await somebody()
    const where = `where id = '${person.user.id}'`
    const { reply } = await heldUpBy(
      `select 1 from users ${where} for update`,
      () => ask(person),
      (held) => held.raw(`update users set status = 'suspended' ${where}`),
    )
    expect([reply.status, reply.body.code]).toEqual([401, 'token_revoked'])
  })

  test('a user who is suspended meanwhile cannot rotate the token of a service account', async () => {
    const person = await somebody()
    const { id, token } = (await newAccount(person.bearer)).body
    const where = `where id = '${person.user.id}'`
    const rotate = () => call('POST', `/admin/service-accounts/${id}/rotate`, undefined, person.bearer)
    const { reply } = await heldUpBy(`select 1 from users ${where} for update`, rotate, (held) =>
      held.raw(`update users set status = 'suspended' ${where}`),
    )
    expect([reply.status, reply.body.code]).toEqual([401, 'token_revoked'])
    expect((await newMachineToken(token)).status).toBe(200)
  })

  const rehearse = (...people: Person[]) =>
    admin('POST', '/admin/users/offboard?dry_run=true', { users: people.map(({ user }) => user.id) })
  const outcomes = ({ status, body }: Reply) => [status, body.items?.map(({ outcome }: Json) => outcome)]

  test('a dry run and an offboarding lock the address and the row of a person in the same order', async () => {
    const person = await somebody()
    let offboarding: Promise<Reply> | undefined
    const { reply: rehearsed } = await heldUpBy(
      `select 1 from users where id = '${person.user.id}' for update`,
      () => rehearse(person),
      async () => {
        offboarding = offboard(person.user)
        await expect.poll(() => askPostgres(database.url, waiting)).toBe('2')
      },
    )
    expect([outcomes(rehearsed), (await offboarding!).status]).toEqual([[200, ['offboarded']], 200])
  })

  test('a dry run for several users locks shared rows first, as the offboarding of another user does', async () => {
    const [member, colleague, stranger] = [await somebody(), await somebody(), await somebody()]
    // Who is no system_admin shares the organization with one who is.
    expect((await admin('DELETE', `/admin/users/${member.user.id}/roles/system_admin`)).status).toBe(204)
    const place = `/admin/organizations/${member.organization.id}/members/${colleague.user.id}`
    expect((await admin('PUT', place, { role_codes: ['org_member'] })).status).toBe(201)
    let rehearsing: Promise<Reply> | undefined
    const { reply: offboarded } = await heldUpBy(
      `select pg_advisory_xact_lock(${hash('sha256', 'system_admins:', 'buffer').readBigInt64BE()})`,
      () => offboard(colleague.user),
      async () => {
        rehearsing = rehearse(member, stranger)
        await expect.poll(() => askPostgres(database.url, waiting)).toBe('2')
      },
    )
    expect([outcomes(await rehearsing!), offboarded.status]).toEqual([[200, ['offboarded', 'offboarded']], 200])
  })

  test('a request for access is refused to a user who is suspended meanwhile', async () => {
    const { user } = await somebody()
    const closed = (await admin('POST', '/admin/apps', { code: unique('closed'), name: 'Closed' })).body
    const body = { email: user.email, password: PASSWORD, app_code: closed.code }
    const where = `where id = '${user.id}'`
    await askPostgres(database.url, `update users set email_verified_at = 1, first_verified_at = 1 ${where} returning id`)
    const { reply } = await heldUpBy(
      `select 1 from users ${where} for update`,
      () => call('POST', '/auth/access-requests', body),
      (held) => held.raw(`update users set status = 'suspended' ${where}`),
    )
    expect([reply.status, reply.body.code]).toEqual([403, 'account_suspended'])
  })
})

test('dry runs and offboardings of the same people in opposite order are all answered', async () => {
  for (let round = 0; round < 4; round += 1) {
    const people = await Promise.all(Array.from({ length: 4 }, () => somebody()))
    // Each has invited the next one, and is a member where the next one is an admin.
    for (const [index, person] of people.entries()) {
      const { user, organization } = people[(index + 1) % people.length]!
      const invited = { role_codes: ['org_member'], email: user.email }
      const path = `/admin/organizations/${person.organization.id}/invitations`
      expect((await call('POST', path, invited, person.bearer)).status).toBe(201)
      const place = `/admin/organizations/${organization.id}/members/${person.user.id}`
      expect((await admin('PUT', place, { role_codes: ['org_member'] })).status).toBe(201)
    }
    const ids = people.map(({ user }) => user.id)
    const rehearse = (users: string[]) => admin('POST', '/admin/users/offboard?dry_run=true', { users })
    const { soon } = chance(round)
    const replies = await Promise.all([
      ...[ids, ids.toReversed(), ids].map((users) => soon(40, () => rehearse(users))),
      ...people.toReversed().map(({ user }) => soon(40, () => offboard(user))),
      soon(40, () => admin('POST', '/admin/users/offboard', { users: ids.toReversed() })),
    ])
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  }
})

test('dry runs for the same people in opposite order are all answered', async () => {
  const people: string[] = []
  for (let index = 0; index < 6; index += 1) {
    const created = await admin('POST', '/admin/users', { email: someEmail(), password: PASSWORD })
    people.push(created.body.id)
  }
  for (let round = 0; round < 4; round += 1) {
    const replies = await Promise.all(
      [people, people.toReversed()].map((users) => admin('POST', '/admin/users/offboard?dry_run=true', { users })),
    )
    for (const { status, body } of replies)
      expect([status, body.items?.map(({ outcome }: Json) => outcome)]).toEqual([200, people.map(() => 'offboarded')])
  }
})
