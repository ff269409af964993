// Apps with their own signing key: the secret of one app opens nothing at another, and changing the key fails no request.
import { describe, expect, test } from 'vitest'
import { createAuth } from '../../packages/sdk/src/index.ts'
import { readAppSecret } from '../../packages/server/src/resources/apps/apps.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { countUnopenable } from '../../packages/server/src/resources/system/system.ts'
import { type AssertionOptions, assertionOf, kidOf } from '../support/consumer.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { ACCESS_SECRET, buildApp, buildUser, claimsOf, type Json } from '../support/service.ts'

const service = serviceFixture()
const newApp = (): Promise<Json> => buildApp(service, { auto_grant_on_signup: true })
const step = (app: Json, name: string, more: Json = {}, query = '') =>
  service.admin('POST', `/admin/apps/${app.code}/signing${query}`, { body: { step: name, ...more } })
const stepped = async (app: Json, name: string, more: Json = {}, query = ''): Promise<Json> => {
  const reply = await step(app, name, more, query)
  expect([reply.status, reply.body.code]).toEqual([200, undefined])
  return reply.body
}
const secretOf = async (app: Json): Promise<string> => (await readAppSecret(service.deps, app.code, systemActor)).secret
/** An app that has completed the change to its own key, and that key. */
async function ownApp(): Promise<{ app: Json; secret: string }> {
  const app = await newApp()
  await stepped(app, 'prepare')
  const secret = await secretOf(app)
  await stepped(app, 'switch')
  await stepped(app, 'finish', {}, '?force=true')
  return { app, secret }
}
const me = (token: string) => service.call('GET', '/auth/me', { token })
const poll = (app: Json, options: AssertionOptions) =>
  service.call('GET', '/revocations', { token: assertionOf({ code: app.code }, { now: service.deps.clock(), ...options }) })
const kidIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid
const statesOf = async (app: Json) => {
  const { body } = await service.admin('GET', `/admin/apps/${app.code}/signing`)
  return [body.signing, body.state, ...body.keys.map(({ stage, source }: Json) => `${stage} ${source}`)]
}

test('a consumer sets the own key as its secret, and needs nothing else', async () => {
  const { app, secret } = await ownApp()
  const user = await buildUser(service, app)
  const auth = createAuth({
    appCode: app.code,
    authUrl: 'http://127.0.0.1:1',
    secret,
    revocation: { mode: 'off' },
    check: 'off',
    logger: false,
  })
  expect((await auth.verify(user.access_token)).userId).toBe(user.user.id)
  const forged = forgeToken(claimsOf(user.access_token), { secret: ACCESS_SECRET, header: { kid: kidOf(ACCESS_SECRET) } })
  expect(await auth.safeVerify(forged)).toMatchObject({ ok: false, error: { code: 'TOKEN_SIGNATURE' } })
  await auth.close()
})

describe('the separation of apps by own keys', () => {
  test('neither the shared secret nor the key of app A signs a token of app B, whatever its kid', async () => {
    const [a, b, shared] = [await ownApp(), await ownApp(), await newApp()]
    const user = await buildUser(service, b.app)
    const sharedUser = await buildUser(service, shared)
    expect(kidIn(user.access_token)).toBe(kidOf(b.secret))
    expect((await me(user.access_token)).status).toBe(200)
    const claims = claimsOf(user.access_token)
    for (const secret of [ACCESS_SECRET, a.secret]) {
      for (const kid of [kidOf(secret), kidOf(b.secret), undefined, 'x'])
        expectError(await me(forgeToken(claims, { secret, header: kid === undefined ? {} : { kid } })), 'token_invalid')
      // As a token of the forger's own app, with the session of B's user.
      const forger = secret === a.secret ? a.app : shared
      const posing = { ...claims, aud: forger.code, app_code: forger.code, app_id: forger.id }
      expectError(await me(forgeToken(posing, { secret, header: { kid: kidOf(secret) } })), 'token_invalid')
      // Without an app's claims, which would select the shared secret.
      const { app_id: _, app_code: __, ...bare } = claims
      expectError(
        await me(forgeToken({ ...bare, aud: 'gatehouse' }, { secret, header: { kid: kidOf(secret) } })),
        'token_invalid',
      )
    }
    // And an own key cannot sign a token of an app that uses the shared secret.
    const ofShared = claimsOf(sharedUser.access_token)
    expectError(await me(forgeToken(ofShared, { secret: a.secret, header: { kid: kidOf(a.secret) } })), 'token_invalid')
  })

  test("neither the shared secret nor the key of app A signs an admin's token or an assertion of app B", async () => {
    const [a, b] = [await ownApp(), await ownApp()]
    const user = await buildUser(service, b.app)
    const claims = { ...claimsOf(user.access_token), roles: ['system_admin'] }
    for (const secret of [ACCESS_SECRET, a.secret]) {
      const token = forgeToken(claims, { secret, header: { kid: kidOf(secret) } })
      expectError(await service.call('GET', '/admin/apps', { token }), 'token_invalid')
      const asked = { token: assertionOf(b.app, { secret: b.secret, now: service.deps.clock() }), body: { token } }
      expect((await service.call('POST', '/auth/introspect', asked)).body).toEqual({ active: false })
      const asForger = { token: assertionOf(b.app, { secret, now: service.deps.clock() }), body: { token: user.access_token } }
      expectError(await service.call('POST', '/auth/introspect', asForger), 'token_invalid')
    }
    const asked = {
      token: assertionOf(b.app, { secret: b.secret, now: service.deps.clock() }),
      body: { token: user.access_token },
    }
    expect((await service.call('POST', '/auth/introspect', asked)).body.active).toBe(true)
  })

  test('neither the shared secret nor the key of app A reads the feed or the settings of app B', async () => {
    const [a, b, shared] = [await ownApp(), await ownApp(), await newApp()]
    for (const secret of [ACCESS_SECRET, a.secret]) {
      expectError(await poll(b.app, { secret }), 'token_invalid')
      const token = assertionOf(b.app, { secret, now: service.deps.clock() })
      expectError(await service.call('GET', '/consumer', { token }), 'token_invalid')
    }
    expectError(await poll(shared, { secret: a.secret }), 'token_invalid')
    expect((await poll(b.app, { secret: b.secret })).status).toBe(200)
    const token = assertionOf(b.app, { secret: b.secret, now: service.deps.clock() })
    expect((await service.call('GET', '/consumer', { token })).body).toMatchObject({
      app: { id: b.app.id, signing: 'own' },
      kids: [kidOf(b.secret)],
    })
  })

  test('two keys with the same key id are distinguished by their app', async () => {
    const [a, b] = [await ownApp(), await ownApp()]
    const user = await buildUser(service, b.app)
    // As if the forger had found a secret with the id of B's key: the id alone does not select a key.
    const token = forgeToken(claimsOf(user.access_token), { secret: a.secret, header: { kid: kidOf(b.secret) } })
    expectError(await me(token), 'token_invalid')
  })
})

describe('a change to an own key', () => {
  test('each step follows the one before, and abort reverts the last one', async () => {
    const app = await newApp()
    expect(await statesOf(app)).toEqual(['shared', 'settled', 'current shared'])
    for (const name of ['switch', 'finish', 'abort']) expectError(await step(app, name), 'signing_step_impossible')
    expectError(await step(app, 'prepare', { key: 'shared' }), 'signing_step_impossible')
    await stepped(app, 'prepare')
    expect(await statesOf(app)).toEqual(['shared', 'prepared', 'current shared', 'next own'])
    for (const name of ['prepare', 'finish']) expectError(await step(app, name), 'signing_step_impossible')
    await stepped(app, 'abort')
    expect(await statesOf(app)).toEqual(['shared', 'settled', 'current shared'])
    await stepped(app, 'prepare')
    const secret = await secretOf(app)
    await stepped(app, 'switch')
    expect(await statesOf(app)).toEqual(['own', 'switched', 'current own', 'previous shared'])
    await stepped(app, 'abort')
    expect(await statesOf(app)).toEqual(['shared', 'prepared', 'current shared', 'next own'])
    expect(await secretOf(app)).toBe(secret)
    await stepped(app, 'switch')
    await stepped(app, 'finish', {}, '?force=true')
    expect(await statesOf(app)).toEqual(['own', 'settled', 'current own'])
    await stepped(app, 'prepare')
    await stepped(app, 'switch')
    expect(await statesOf(app)).toEqual(['own', 'switched', 'current own', 'previous own'])
    await stepped(app, 'finish', {}, '?force=true')
    expect(await secretOf(app)).not.toBe(secret)
    await stepped(app, 'prepare', { key: 'shared' })
    await stepped(app, 'switch')
    expect(await statesOf(app)).toEqual(['shared', 'switched', 'current shared', 'previous own'])
    await stepped(app, 'finish', {}, '?force=true')
    expect(await statesOf(app)).toEqual(['shared', 'settled', 'current shared'])
  })

  test('no request fails during the change, because both keys are accepted from prepare to finish', async () => {
    const [app, other] = [await newApp(), await newApp()]
    const bystander = await buildUser(service, other)
    const user = await buildUser(service, app)
    const tokens: string[] = [user.access_token]
    let refresh = user.refresh_token
    let secrets = [ACCESS_SECRET]
    /** What users and consumers do at each stage. */
    const everything = async () => {
      const login = await service.login(user.user.email, app.code)
      const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: refresh } })
      refresh = refreshed.body.refresh_token
      tokens.push(login.body.access_token, refreshed.body.access_token)
      for (const token of tokens) expect((await me(token)).status).toBe(200)
      for (const secret of secrets) expect((await poll(app, { secret })).status).toBe(200)
      expect((await me(bystander.access_token)).status).toBe(200)
      expect((await poll(other, { secret: ACCESS_SECRET })).status).toBe(200)
    }
    await everything()
    await stepped(app, 'prepare')
    const secret = await secretOf(app)
    secrets = [ACCESS_SECRET, secret]
    await everything()
    expect(kidIn(tokens.at(-1)!)).toBe(kidOf(ACCESS_SECRET))
    await stepped(app, 'switch')
    await everything()
    expect(kidIn(tokens.at(-1)!)).toBe(kidOf(secret))
    expect(kidIn((await service.login(bystander.user.email, other.code)).body.access_token)).toBe(kidOf(ACCESS_SECRET))
    await stepped(app, 'finish', {}, '?force=true')
    // After `finish`, the old key opens nothing of this app.
    expectError(await me(tokens[0]!), 'token_invalid')
    expectError(await poll(app, { secret: ACCESS_SECRET }), 'token_invalid')
    expect((await me(tokens.at(-1)!)).status).toBe(200)
    expect((await me(bystander.access_token)).status).toBe(200)
  })

  test('finish waits for the consumers and for the tokens of the old key', async () => {
    const app = await newApp()
    await stepped(app, 'prepare')
    const secret = await secretOf(app)
    await poll(app, { secret: ACCESS_SECRET })
    await stepped(app, 'switch')
    expect((await service.admin('GET', `/admin/apps/${app.code}/signing`)).body).toMatchObject({
      consumers_behind: { seen_at: expect.any(String), accepting_seen_at: null },
      old_tokens_until: expect.any(String),
    })
    const behind = await step(app, 'finish')
    expectError(behind, 'consumers_behind')
    expect(behind.body.detail).toMatch(new RegExp(`without the key ${kidOf(secret)}$`))
    await poll(app, { secret, claims: { kids: [kidOf(secret)] } })
    const { detail } = (await step(app, 'finish')).body
    const [seenAt, clearAt] = [...detail.matchAll(/\d{4}-\S+Z/g)].map(([at]) => Date.parse(at))
    expect(detail).toContain('Unless it is seen so again, it no longer counts from')
    expect(clearAt! - seenAt!).toBe(300_000)
    service.advance(400)
    await poll(app, { secret, claims: { kids: [kidOf(secret), kidOf(ACCESS_SECRET)].sort() } })
    const tooEarly = await step(app, 'finish')
    expectError(tooEarly, 'consumers_behind')
    expect(tooEarly.body.detail).toContain('valid until')
    service.advance(600)
    expect(await stepped(app, 'finish')).toMatchObject({ state: 'settled', consumers_behind: null, old_tokens_until: null })
  })

  test('a dry run of each step answers the same and changes nothing', async () => {
    const app = await newApp()
    const before = await service.deps.db('app_keys')
    expect((await step(app, 'prepare', {}, '?dry_run=true')).body).toMatchObject({ state: 'prepared' })
    expect(await service.deps.db('app_keys')).toEqual(before)
    expect(await statesOf(app)).toEqual(['shared', 'settled', 'current shared'])
  })

  test('one of several concurrent callers takes a step, and there is one key', async () => {
    const app = await newApp()
    const prepared = await Promise.all(Array.from({ length: 8 }, () => step(app, 'prepare')))
    expect(prepared.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 409)])
    expect(await service.deps.db('app_keys').where({ app_id: app.id }).pluck('stage')).toEqual(['next'])
    const switched = await Promise.all(Array.from({ length: 8 }, () => step(app, 'switch')))
    expect(switched.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await statesOf(app)).toEqual(['own', 'switched', 'current own', 'previous shared'])
  })

  test('a key that cannot be opened closes only its app', async () => {
    const { app } = await ownApp()
    const other = await ownApp()
    await service.deps.db('app_keys').where({ app_id: app.id }).update({ secret_box: 'ffffffff.lost' })
    await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { description: 'so that servers read it again' } })
    const user = await buildUser(service, other.app)
    expect((await me(user.access_token)).status).toBe(200)
    expect((await poll(other.app, { secret: other.secret })).status).toBe(200)
    expect(await countUnopenable(service.deps)).toContainEqual({ what: 'app keys', count: 1 })
    await service.admin('DELETE', `/admin/apps/${app.code}?force=true`)
  })

  test('the key appears in no answer, and is sealed in the database', async () => {
    const { app, secret } = await ownApp()
    await stepped(app, 'prepare')
    const answers = [
      (await service.admin('GET', `/admin/apps/${app.code}/signing`)).body,
      (await service.admin('GET', `/admin/apps/${app.code}`)).body,
      (await service.admin('GET', '/admin/secrets')).body,
      (await service.admin('GET', `/admin/audit?app_id=${app.id}`)).body,
      await service.deps.db('app_keys'),
      await service.deps.db('audit_events'),
    ]
    for (const answer of answers) expect(JSON.stringify(answer)).not.toContain(secret)
    const events = await service.deps.db('audit_events').where({ app_id: app.id }).orderBy('id').pluck('event')
    expect(events.filter((event: string) => event === 'app.secret_read')).toHaveLength(1)
    expect(events.filter((event: string) => event === 'app.signing_changed')).toHaveLength(4)
  })

  test('the record of the app shows which key signs, and cannot set it', async () => {
    const { app } = await ownApp()
    const { body } = await service.admin('GET', `/admin/apps/${app.code}`)
    expect(body.signing).toBe('own')
    expect((await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { ...body, name: 'Other' } })).status).toBe(200)
    expectError(await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { signing: 'shared' } }), 'validation_failed')
    const created = await service.admin('POST', '/admin/apps', { body: { code: 'copied', name: 'Copied', signing: 'own' } })
    expect(faultsOf(created)).toEqual(['signing: invalid_value'])
  })
})

test('consumers of a deleted app read its feed with its key for as long as its tokens could live', async () => {
  const { app, secret } = await ownApp()
  await service.admin('DELETE', `/admin/apps/${app.code}?force=true`)
  expect((await poll(app, { secret })).status).toBe(200)
  expectError(await poll(app, { secret: ACCESS_SECRET }), 'token_invalid')
  // A new app that takes the code uses the shared secret.
  await service.admin('POST', '/admin/apps', { body: { code: app.code, name: 'New' } })
  expectError(await poll(app, { secret }), 'token_invalid')
  expect((await poll(app, { secret: ACCESS_SECRET })).status).toBe(200)
})

test('the list of secrets shows consumers of both kinds', async () => {
  const { app, secret } = await ownApp()
  await poll(app, { secret })
  const { consumers } = (await service.admin('GET', '/admin/secrets')).body
  expect(consumers.filter(({ app_code }: Json) => app_code === app.code)).toEqual([
    expect.objectContaining({ signing: 'own', kid: kidOf(secret), is_ours: true }),
  ])
})
