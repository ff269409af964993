// PATCH /auth/me: what users can change in their own account.
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { addMember, buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)

const me = (token: string) => service.call('GET', '/auth/me', { token })
const patch = (token: string | undefined, body?: unknown) => service.call('PATCH', '/auth/me', { token, body })
const updates = (id: string) => auditEvents(service, { user_id: id, event: 'user.updated' })

test('GET lists organizations and their roles in order, whenever the user got them', async () => {
  const { user, access_token } = await buildUser(service, app)
  for (const code of ['zebra', 'aardvark', 'mole']) {
    const organization = await buildOrganization(service, code)
    await addMember(service, organization.id, user.id, ['org_member', 'org_admin'])
  }
  expect((await me(access_token)).body.organizations).toMatchObject([
    { slug: 'aardvark', role_codes: ['org_admin', 'org_member'] },
    { slug: 'mole', role_codes: ['org_admin', 'org_member'] },
    { slug: 'zebra', role_codes: ['org_admin', 'org_member'] },
  ])
})

describe('a user who changes their own names', () => {
  test('a change answers with the account as GET shows it, and leaves other fields unchanged', async () => {
    const { user, access_token } = await buildUser(service, app, { first_name: 'Ada', last_name: 'Byron' })
    const before = (await me(access_token)).body
    const reply = await patch(access_token, { last_name: '  Lovelace ' })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.body).toEqual({ ...before, user: { ...user, last_name: 'Lovelace' } })
    expect((await me(access_token)).body).toEqual(reply.body)
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body).toMatchObject({ last_name: 'Lovelace' })
  })

  test.each([null, '', '   '])('%j clears a name', async (blank) => {
    const { access_token } = await buildUser(service, app, { first_name: 'Ada', last_name: 'Byron' })
    expect((await patch(access_token, { first_name: blank })).body.user).toMatchObject({ first_name: null, last_name: 'Byron' })
    expect((await me(access_token)).body.user).toMatchObject({ first_name: null, last_name: 'Byron' })
  })

  test('a change is audited with the values before and after, and a change without effect writes nothing', async () => {
    const { user, access_token } = await buildUser(service, app, { first_name: 'Ada' })
    const row = await service.deps.db('users').where({ id: user.id }).first()
    service.advance(1)
    for (const body of [undefined, {}, { first_name: ' Ada ', last_name: '' }])
      expect((await patch(access_token, body)).body.user).toEqual(user)
    expect(await service.deps.db('users').where({ id: user.id }).first()).toEqual(row)
    expect(await updates(user.id)).toEqual([])
    const { headers } = await patch(access_token, { first_name: null, last_name: 'Lovelace' })
    expect(await updates(user.id)).toMatchObject([
      {
        actor_type: 'user',
        actor_id: user.id,
        request_id: headers.get('x-request-id'),
        details: {
          before: { first_name: 'Ada', last_name: null },
          after: { first_name: null, last_name: 'Lovelace' },
        },
      },
    ])
  })

  test('a change accepts the account as it was read', async () => {
    const { access_token } = await buildUser(service, app)
    const { body } = await me(access_token)
    const { first_name, ...rest } = body.user
    expect((await patch(access_token, { ...body, ...rest, first_name: 'Ada' })).body.user).toEqual({
      ...body.user,
      first_name: 'Ada',
    })
    const reply = await patch(access_token, {
      first_name: 'Eve',
      email: 'other@example.com',
      user: null,
      roles: ['system_admin'],
    })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['email: invalid_value', 'roles: invalid_value', 'user: invalid_value'])
    expect((await me(access_token)).body.user.first_name).toBe('Ada')
  })

  test('a name has at most 200 characters, and no other field can be changed', async () => {
    const { user, access_token } = await buildUser(service, app)
    expect((await patch(access_token, { first_name: ` ${'x'.repeat(200)} ` })).body.user.first_name).toBe('x'.repeat(200))
    const reply = await patch(access_token, {
      first_name: 'x'.repeat(201),
      last_name: 5,
      password: 'another one',
      token_version: 0,
    })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual([
      'first_name: too_long',
      'last_name: invalid_type',
      'password: unknown_field',
      'token_version: unknown_field',
    ])
    expectError(await patch(access_token, '{'), 'invalid_json')
    expect((await me(access_token)).body.user).toEqual({ ...user, first_name: 'x'.repeat(200) })
  })

  test('a user may change names 60 times a minute, so that the audit cannot be filled', async () => {
    const service = freezeClock(await buildService())
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const [one, other] = [await buildUser(service, app), await buildUser(service, app)]
    const rename = (by: Json, first_name: string) =>
      service.call('PATCH', '/auth/me', { token: by.access_token, body: { first_name } })
    const replies = await atOnce(80, (index) => rename(one, `name ${index}`))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(60)
    for (const reply of replies) if (reply.status !== 200) expectError(reply, 'rate_limited')
    const refused = await rename(one, 'last')
    expectError(refused, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(await auditEvents(service, { user_id: one.user.id, event: 'user.updated' })).toHaveLength(60)
    expect((await rename(other, 'Ada')).status).toBe(200)
    service.advance(60)
    expect((await rename(one, 'Ada')).body.user.first_name).toBe('Ada')
  })

  test('a change requires a valid token of a user', async () => {
    const { user, access_token } = await buildUser(service, app)
    expectError(await patch(undefined, { first_name: 'X' }), 'token_missing')
    expectError(await patch('garbage', { first_name: 'X' }), 'token_invalid')
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    expectError(await patch(access_token, { first_name: 'X' }), 'token_revoked')
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.first_name).toBeNull()
  })

  test('a change can be made from a page of any origin', async () => {
    const { access_token: token } = await buildUser(service, app)
    const origin = 'https://spa.example.com'
    const preflight = await service.call('OPTIONS', '/auth/me', {
      headers: { origin, 'access-control-request-method': 'PATCH' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH')
    for (const body of [{ first_name: 'Ada' }, { first_name: 5 }]) {
      const reply = await service.call('PATCH', '/auth/me', { token, headers: { origin }, body })
      expect(reply.headers.get('access-control-allow-origin')).toBe('*')
    }
  })
})
