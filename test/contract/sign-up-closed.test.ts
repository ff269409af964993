// Where sign-up is closed or needs an invitation, no reply to a registration reveals whether an address is taken.
import { describe, expect, test } from 'vitest'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { countWrites, isInvitationSpent } from '../support/rows.ts'
import { buildUser, type Json, type Reply, someEmail } from '../support/service.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: 'off' })
const open = appFixture(service)
const closed = appFixture(service, { sign_up: 'closed', auto_grant_on_signup: true })
const byInvitation = appFixture(service, { sign_up: 'invitation', auto_grant_on_signup: true })
const known: Json = fixture(() => buildUser(service, open))
const hasher = fixture(() => countBcrypts(service))

/** What a caller without an account and a valid invitation learns about an address: the reply, and the work that it costs. */
async function probe(email: string, app: Json, extra: Json): Promise<Json> {
  hasher.reset()
  const before = await countWrites(service)
  const { status, body }: Reply = await service.register(email, app.code, { password: 'a guess at a password', ...extra })
  const after = await countWrites(service)
  const { request_id: _, ...told } = body
  return { status, told, hashes: [hasher.verified, hasher.hashed], users: after.users! - before.users! }
}

describe.each([
  ['closed', () => closed],
  ['by invitation', () => byInvitation],
])('sign-up %s', (name, appOf) => {
  const bogus = name === 'closed' ? { status: 403, code: 'sign_up_closed' } : { status: 400, code: 'invalid_invitation' }
  test.each<[string, Json, { status: number; code: string }, number]>([
    ['register', {}, { status: 403, code: 'sign_up_closed' }, 0],
    ['register with an invitation that is made up', { invite_code: 'made up' }, bogus, 0],
    ['register_or_login', { mode: 'register_or_login' }, { status: 401, code: 'invalid_credentials' }, 1],
    [
      'register_or_login with an invitation that is made up',
      { mode: 'register_or_login', invite_code: 'made up' },
      name === 'closed' ? { status: 401, code: 'invalid_credentials' } : bogus,
      name === 'closed' ? 1 : 0,
    ],
  ])('%s gives the same answer, after the same work, for a taken and for a free address', async (_, extra, told, hashes) => {
    const taken = await probe(known.user.email, appOf(), extra)
    expect(taken).toMatchObject({ status: told.status, told, hashes: [hashes, 0], users: 0 })
    expect(await probe(someEmail(), appOf(), extra)).toEqual(taken)
  })

  test('register_or_login lets an existing user in', async () => {
    const { status, body } = await service.register(known.user.email, appOf().code, { mode: 'register_or_login' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      created: false,
      user: { id: known.user.id },
      access: 'granted',
      access_token: expect.any(String),
    })
  })
})

test('a registration with an invitation that is spent, or for another address, is refused before any look-up', async () => {
  const { id: organizationId } = await buildOrganization(service)
  const spent = await buildInvitation(service, { organizationId })
  expect((await service.register(someEmail(), byInvitation.code, { invite_code: spent })).status).toBe(201)
  const elsewhere = await buildInvitation(service, { organizationId, email: someEmail() })
  for (const invite_token of [spent, elsewhere]) {
    for (const mode of ['register', 'register_or_login']) {
      const taken = await probe(known.user.email, byInvitation, { invite_token, mode })
      expect(taken).toMatchObject({ status: 400, told: { code: 'invalid_invitation' }, hashes: [0, 0], users: 0 })
      expect(await probe(someEmail(), byInvitation, { invite_token, mode })).toEqual(taken)
    }
  }
  expect(await isInvitationSpent(service, elsewhere)).toBe(false)
})

test('a valid invitation lets a new user register, and an existing user join with register_or_login', async () => {
  const { id: organizationId } = await buildOrganization(service)
  const invite = () => buildInvitation(service, { organizationId })
  expect((await service.register(someEmail(), byInvitation.code, { invite_code: await invite() })).status).toBe(201)
  expectError(await service.register(known.user.email, byInvitation.code, { invite_code: await invite() }), 'user_exists')
  const extra = { mode: 'register_or_login', invite_code: await invite() }
  const { status, body } = await service.register(known.user.email, byInvitation.code, extra)
  expect([status, body.created, body.organization.id]).toEqual([200, false, organizationId])
})
