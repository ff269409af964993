// Grants for many users in one call: the same rules as for one user, applied to each user separately.
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, type Json, someEmail, somePool, testDatabase, unique } from '../support/service.ts'

const service = serviceFixture()

const inSeconds = (seconds: number) => new Date(service.deps.clock() + seconds * 1000).toISOString()
const give = (app: { code: string }, body: Json, query = '') =>
  service.admin('POST', `/admin/apps/${app.code}/grants${query}`, { body })
const outcomes = ({ body }: { body: Json }) => body.items.map(({ outcome, code }: Json) => code ?? outcome)
const newUser = async (fields: Json = {}): Promise<Json> =>
  (await service.admin('POST', '/admin/users', { body: { email: someEmail(), ...fields } })).body

test('users are found by id, e-mail or email@@pool and granted, and an unknown user does not stop the others', async () => {
  const app = await buildApp(service)
  const [byId, byEmail] = [await newUser(), await newUser()]
  const email = someEmail()
  const [here, there] = [somePool(), somePool()]
  const [shared] = [await newUser({ email, namespace: here }), await newUser({ email, namespace: there })]
  const gone = await newUser()
  await service.admin('DELETE', `/admin/users/${gone.id}`)

  const names = [
    ...[byId.id.toUpperCase(), byEmail.email.toUpperCase(), `${email}@@${here}`, email, 'nobody@example.com'],
    ...[gone.id, gone.email, 'bob', `${email}@@${somePool()}`, byId.email],
  ]
  const answer = await give(app, { users: names, reason: 'the new team' })
  expect(answer.status).toBe(200)
  expect(outcomes(answer)).toEqual([
    ...['granted', 'granted', 'granted', 'ambiguous_user', 'user_not_found'],
    ...['user_not_found', 'user_not_found', 'invalid_user', 'user_not_found', 'unchanged'],
  ])
  expect(answer.body.items.map(({ user }: Json) => user)).toEqual(names)
  expect(answer.body.items[3].message).toContain(`${email}@@${there}`)
  for (const [index, user] of [byId, byEmail, shared].entries()) {
    const { items } = (await service.admin('GET', `/admin/users/${user!.id}/apps`)).body
    expect(items).toEqual([{ ...answer.body.items[index].grant, user: expect.objectContaining({ id: user!.id }) }])
    expect(items[0]).toMatchObject({ app_code: app.code, effective: 'active', granted_via: 'admin', reason: 'the new team' })
  }
  expect(await countRows(service, 'user_apps', { app_id: app.id })).toBe(3)
})

test('each user ends up as after a call for that user alone', async () => {
  const end = inSeconds(3600)
  async function cases() {
    const app = await buildApp(service)
    const users = [await newUser(), await newUser(), await newUser(), await newUser()]
    const path = (index: number) => `/admin/users/${users[index]!.id}/apps/${app.code}`
    await service.admin('POST', path(1), { body: { reason: 'before' } })
    await service.admin('POST', path(2), { body: { reason: 'before' } })
    await service.admin('DELETE', path(2))
    await service.admin('POST', path(3), { body: { expires_at: inSeconds(10) } })
    service.advance(11)
    return { app, users, path }
  }
  const moment = (at: string | null) => (at === end ? 'the end that was given' : at === null ? null : 'another')
  const comparable = ({ user_id: _, app_id, app_code, granted_at, expires_at, revoked_at, ...rest }: Json) => ({
    ...rest,
    expires_at: moment(expires_at),
    revoked_at: moment(revoked_at),
  })
  for (const body of [{}, { expires_at: end }, { reason: 'why', expires_at: null }]) {
    const [one, many] = [await cases(), await cases()]
    const alone = []
    for (const index of one.users.keys()) alone.push(await service.admin('POST', one.path(index), { body }))
    const together = await give(many.app, { users: many.users.map(({ id }) => id), ...body })
    expect(together.body.items.map(({ grant }: Json) => comparable(grant))).toEqual(alone.map(({ body }) => comparable(body)))
    expect(outcomes(together).map((outcome: string) => (outcome === 'granted' ? 201 : 200))).toEqual(
      alone.map(({ status }) => status),
    )
    const eventsOf = async ({ app }: { app: Json }) =>
      (await auditEvents(service, { event: 'grant.created', app_id: app.id })).map(({ details }: Json) => [
        details.before && comparable(details.before),
        comparable(details.after),
      ])
    expect((await eventsOf(many)).map((each) => JSON.stringify(each)).sort()).toEqual(
      (await eventsOf(one)).map((each) => JSON.stringify(each)).sort(),
    )
  }
})

test('shortening the grants of many users revokes the tokens that each of them got before', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const logins = [await buildUser(service, app), await buildUser(service, app)]
  const me = (token: string) => service.call('GET', '/auth/me', { token })
  await give(app, { users: logins.map(({ user }) => user.id), expires_at: inSeconds(3600) })
  for (const { access_token } of logins)
    expect((await me(access_token)).body).toMatchObject({ status: 401, code: 'token_revoked' })
  const revocations: Json[] = await service.deps.db('revocations').where({ app_id: app.id })
  expect(revocations.map(({ user_id }) => user_id).sort()).toEqual(logins.map(({ user }) => user.id).sort())
})

test('granting to an unproven account gives a warning for that user only', async () => {
  const app = await buildApp(service)
  const [unproven, proven] = [await buildUser(service, app), await buildUser(service, app)]
  await markVerified(service, proven.user.id)
  const { body } = await give(app, { users: [unproven.user.id, proven.user.id] })
  expect(body.items.map(({ grant }: Json) => grant.warnings)).toEqual([[{ code: 'account_unverified' }], undefined])
})

test('an unknown app is 404, an invalid grant is 400, and nobody is granted', async () => {
  const app = await buildApp(service)
  const { id } = await newUser()
  expectError(await give({ code: unique('app') }, { users: [id] }), 'not_found')
  for (const body of [
    {},
    { users: [] },
    { users: [''] },
    { users: Array.from({ length: 201 }, () => id) },
    { users: [id], expires_at: inSeconds(2) },
    { users: [id], expires: inSeconds(60) },
  ])
    expectError(await give(app, body), 'validation_failed')
  expect(await countRows(service, 'user_apps', { app_id: app.id })).toBe(0)
})

test('a dry run answers the same and writes nothing', async () => {
  const app = await buildApp(service)
  const users = [(await newUser()).id, randomUUID()]
  const rehearsed = await give(app, { users }, '?dry_run=true')
  expect(outcomes(rehearsed)).toEqual(['granted', 'user_not_found'])
  expect(await countRows(service, 'user_apps', { app_id: app.id })).toBe(0)
  expect(outcomes(await give(app, { users }))).toEqual(outcomes(rehearsed))
})

test('calls for the same users at once, in any order and beside calls for one of them, leave one grant for each', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const users = await Promise.all(Array.from({ length: 8 }, async () => (await buildUser(service, app)).user.id))
  const answers = await atOnce(24, (index) => {
    const expires_at = inSeconds(7200 - index * 60)
    if (index % 3 === 2)
      return service.admin('POST', `/admin/users/${users[index % 8]}/apps/${app.code}`, { body: { expires_at } })
    return give(app, { users: index % 2 === 0 ? users : users.toReversed(), expires_at })
  })
  expect([...new Set(answers.map(({ status }) => status))]).toEqual([200])
  expect(await countRows(service, 'user_apps', { app_id: app.id, status: 'active' })).toBe(8)
})

test.runIf(testDatabase() === 'postgres')('a call that waits for one user holds no lock on the others', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const [one, other] = [(await buildUser(service, app)).user.id, (await buildUser(service, app)).user.id]
  // A separate pool, because the service may have only one connection.
  const db = createKnex({ databaseUrl: service.deps.config.databaseUrl, dbPoolMax: 2 })
  onTestFinished(() => db.destroy())
  // Locks what a call for the other user locks: first the user's row, then the grant's.
  const holder = await db.transaction()
  await holder('users').where({ id: other }).forUpdate().select('id')
  const answer = give(app, { users: [one, other], expires_at: inSeconds(60) })
  const waiting = () => db('pg_stat_activity').whereRaw("datname = current_database() and wait_event_type = 'Lock'")
  await expect.poll(waiting, { interval: 20 }).toHaveLength(1)
  await holder('user_apps').where({ user_id: other, app_id: app.id }).update({ reason: 'while it waits' })
  await holder('user_apps').where({ user_id: one, app_id: app.id }).update({ reason: 'while it waits' })
  await holder.commit()
  expect(outcomes(await answer)).toEqual(['updated', 'updated'])
})

test('granting to 200 users takes as few statements as granting to one', async () => {
  const app = await buildApp(service)
  const users = await Promise.all(Array.from({ length: 200 }, async () => (await newUser()).email))
  let statements = 0
  const count = () => {
    statements += 1
  }
  service.deps.db.on('query', count)
  try {
    expect(new Set(outcomes(await give(app, { users })))).toEqual(new Set(['granted']))
  } finally {
    service.deps.db.off('query', count)
  }
  expect(statements).toBeGreaterThan(5)
  expect(statements).toBeLessThan(20)
})

const revoke = (app: { code: string }, body: Json, query = '') =>
  service.admin('POST', `/admin/apps/${app.code}/grants/revoke${query}`, { body })

test('revoking for many users acts as a call for each of them, and leaves other apps and users as they were', async () => {
  const cases = async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const logins = [await buildUser(service, app), await buildUser(service, app), await buildUser(service, app)]
    const without = await newUser()
    return { app, logins, without, ids: [...logins.slice(0, 2).map(({ user }) => user.id), without.id] }
  }
  const [one, many] = [await cases(), await cases()]
  const alone = []
  for (const id of one.ids) alone.push(await service.admin('DELETE', `/admin/users/${id}/apps/${one.app.code}`))
  expect(alone.map(({ status }) => status)).toEqual([200, 200, 404])
  const together = await revoke(many.app, { users: [...many.ids, randomUUID(), many.ids[0]] })
  expect(together.status).toBe(200)
  expect(outcomes(together)).toEqual(['revoked', 'revoked', 'unchanged', 'user_not_found', 'unchanged'])
  const stand = async ({ app, logins }: typeof one) => {
    const plain = ({ id: _, user_id: __, app_id: ___, granted_at: ____, ...row }: Json) => ({
      ...row,
      revoked_at: row.revoked_at !== null,
    })
    return {
      grants: (await service.deps.db('user_apps').where({ app_id: app.id }).orderBy('granted_at')).map(plain),
      versions: await service.deps.db('users').whereIn('id', logins.map(({ user }) => user.id)).orderBy('id').pluck('token_version'), // biome-ignore format: one row of the comparison
      ended: await service.deps.db('sessions').where({ app_id: app.id }).orderBy('id').pluck('ended_reason'),
      me: await Promise.all(
        logins.map(async ({ access_token: token }) => (await service.call('GET', '/auth/me', { token })).status),
      ),
      revocations: (await service.deps.db('revocations').where({ app_id: app.id })).map(({ min_tv }: Json) => min_tv),
      events: (await auditEvents(service, { event: 'grant.revoked', app_id: app.id })).map(({ details }: Json) => [details.before.effective, details.after.effective]), // biome-ignore format: one row of the comparison
    }
  }
  const stood = await stand(many)
  expect(stood).toEqual(await stand(one))
  expect(stood).toMatchObject({ me: [401, 401, 200], events: [['active', 'revoked'], ['active', 'revoked']] }) // biome-ignore format: one line
  expectError(await revoke({ code: unique('app') }, { users: many.ids }), 'not_found')
  for (const users of [[], [''], Array.from({ length: 201 }, () => many.ids[0])])
    expectError(await revoke(many.app, { users }), 'validation_failed')
  const third = many.logins[2]!.user.id
  expect(outcomes(await revoke(many.app, { users: [third] }, '?dry_run=true'))).toEqual(['revoked'])
  expect(await countRows(service, 'user_apps', { app_id: many.app.id, status: 'active' })).toBe(1)
})

test('the last system admin cannot be revoked, and then nobody on the list is revoked', async () => {
  const { user } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  await service.admin('POST', `/admin/users/${user.id}/apps/authctl`, { body: {} })
  const admin = (await service.admin('GET', '/auth/me')).body.user
  await service.admin('POST', `/admin/users/${admin.id}/apps/authctl`, { body: {} })
  expectError(await revoke({ code: 'authctl' }, { users: [user.id, admin.id] }), 'last_system_admin')
  expect(await countRows(service, 'user_apps', { user_id: user.id, status: 'active' })).toBe(2)
})

test('many calls that revoke and grant at once, in any order, leave each grant and its tokens consistent', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const users = await Promise.all(Array.from({ length: 8 }, async () => (await buildUser(service, app)).user.id))
  const answers = await atOnce(24, (index) => {
    if (index % 3 === 2) return service.admin('DELETE', `/admin/users/${users[index % 8]}/apps/${app.code}`)
    const ordered = index % 2 === 0 ? users : users.toReversed()
    return index % 3 === 0 ? revoke(app, { users: ordered }) : give(app, { users: ordered })
  })
  for (const { status } of answers) expect([200, 404]).toContain(status)
  await revoke(app, { users })
  const rows: Json[] = await service.deps.db('user_apps').where({ app_id: app.id })
  for (const { user_id, status, min_token_version } of rows) {
    expect(status).toBe('revoked')
    expect(min_token_version).toBe((await service.deps.db('users').where({ id: user_id }).first('token_version')).token_version)
  }
  expect(await countRows(service, 'sessions', { app_id: app.id, ended_at: null })).toBe(0)
})
