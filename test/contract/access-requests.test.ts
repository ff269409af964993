// A user who waits for access asks the admins for it, and gets their decision by mail.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { assignRole, buildInvitation, buildOrganization, closeAccount } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, buildMailingService } from '../support/mailbox.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { ADMIN_EMAIL, buildApp, buildUser, type Json, PASSWORD, type Reply, type TestService } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '5' })
const app = appFixture(service, { auto_grant_on_signup: false })
const open = appFixture(service, { auto_grant_on_signup: true })

const ask = (user: Json, body: Json = {}, at: TestService = service): Promise<Reply> =>
  at.call('POST', '/auth/access-requests', { body: { email: user.email, password: PASSWORD, app_code: app.code, ...body } })
const decide = (id: string, step: 'approve' | 'deny', body: Json = {}): Promise<Reply> =>
  service.admin('POST', `/admin/access-requests/${id}/${step}`, { body })
const requestsOf = async (user: Json, more = ''): Promise<Json[]> =>
  (await service.admin('GET', `/admin/access-requests?user_id=${user.id}${more}`)).body.items

/** A user with a verified address whose access is pending. */
async function waitingUser(through: Json = app): Promise<Json> {
  const { user, access } = await buildUser(service, through)
  if (through === app) expect(access).toBe('pending')
  await markVerified(service, user.id)
  return user
}

test('a user asks for access, an admin gets a mail and approves, and the user gets a mail and signs in', async () => {
  const user = await waitingUser()
  expectError(await service.login(user.email, app.code), 'app_access_denied')
  const asked = await ask(user, { message: 'I am new in <b>billing</b>' })
  expect(asked.status).toBe(201)
  const own = {
    id: expect.any(String),
    app: { id: app.id, code: app.code },
    status: 'open',
    message: 'I am new in <b>billing</b>',
  }
  expect(asked.body).toEqual({ ...own, created_at: expect.any(String) })
  const toAdmin = await mailbox.take(ADMIN_EMAIL)
  expect(toAdmin.subject).toBe(`A user asks for access to ${app.name}`)
  expect(toAdmin.text.replaceAll('\n', ' ')).toContain(`${user.email} asks for access to`)
  expect(toAdmin.text).toContain(`authctl grant request approve ${asked.body.id}`)
  // Anyone could have written the message, so the mail leaves it out.
  expect(toAdmin.text + toAdmin.html).not.toContain('billing')
  expect(toAdmin.links).toEqual([])

  const about = { user: { id: user.id, email: user.email, namespace: 'default' }, reason: null, decided_by: null }
  expect(await requestsOf(user, '&status=open')).toEqual([{ ...asked.body, ...about, decided_at: null }])
  const approved = await decide(asked.body.id, 'approve', { reason: 'billing' })
  expect(approved.status).toBe(200)
  expect(approved.body).toMatchObject({ status: 'approved', decided_by: expect.any(String), decided_at: expect.any(String) })
  const toUser = await mailbox.take(user.email, /access/)
  expect(toUser.subject).toBe(`You have access to ${app.name} now`)
  expect((await service.login(user.email, app.code)).status).toBe(200)
  const events = (await auditEvents(service, { user_id: user.id })).map(({ event }) => event)
  expect(events).toEqual(expect.arrayContaining(['grant.requested', 'grant.request_approved', 'grant.created']))
  expectError(await ask(user), 'access_granted')
  expectError(await decide(asked.body.id, 'deny'), 'access_request_decided')
})

test('a user whose request is denied reads the reason, gets no access, and may ask again', async () => {
  const user = await waitingUser()
  const { id } = (await ask(user)).body
  const denied = await decide(id, 'deny', { reason: 'Ask your manager first' })
  expect(denied.body).toMatchObject({ status: 'denied', reason: 'Ask your manager first' })
  const mail = await mailbox.take(user.email, /turned down/)
  expect(mail.text).toContain('Ask your manager first')
  expectError(await service.login(user.email, app.code), 'app_access_denied')
  expectError(await decide(id, 'approve'), 'access_request_decided')
  const again = await ask(user)
  expect([again.status, again.body.id === id]).toEqual([201, false])
  expect((await requestsOf(user)).map(({ status }) => status)).toEqual(['open', 'denied'])
})

test('a user has at most one open request for an app: asking again returns it, and any grant closes it', async () => {
  const user = await waitingUser()
  const first = await ask(user, { message: 'please' })
  const second = await ask(user, { message: 'please, please' })
  expect([second.status, second.body]).toEqual([200, first.body])
  const other = await buildApp(service)
  expect((await ask(user, { app_code: other.code })).status).toBe(201)

  await service.admin('POST', `/admin/users/${user.id}/apps/${app.code}`, { body: {} })
  expect((await requestsOf(user, `&app=${app.code}`)).map(({ status }) => status)).toEqual(['approved'])
  expect((await requestsOf(user, `&app=${other.code}`)).map(({ status }) => status)).toEqual(['open'])
  await mailbox.take(user.email, /You have access/)
})

test.each<[string, (user: Json, asked: Json) => Promise<unknown>]>([
  [
    'an import',
    ({ email }, { code }) =>
      service.admin('POST', '/admin/users/import', {
        body: JSON.stringify({ email, apps: [code] }),
        headers: { 'content-type': 'application/x-ndjson' },
      }),
  ],
  [
    'an accepted invitation',
    async ({ email }, { code }) => {
      const { id: organizationId } = await buildOrganization(service)
      const body = { token: await buildInvitation(service, { organizationId, appCode: code }) }
      const { access_token: token } = (await service.login(email, open.code)).body
      return service.call('POST', '/auth/invitations/accept', { token, body })
    },
  ],
  [
    'another app that links it',
    async ({ email }, { code }) =>
      service.login(email, (await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [code] })).code),
  ],
  [
    'the first login after it grants access automatically',
    async ({ email }, { code }) => {
      await service.admin('PATCH', `/admin/apps/${code}`, { body: { auto_grant_on_signup: true } })
      return service.login(email, code)
    },
  ],
])('a grant through %s closes the request and sends no mail', async (_, grant) => {
  const user = await waitingUser(open)
  const [asked, other] = [await buildApp(service), await buildApp(service)]
  for (const { code } of [asked, other]) expect((await ask(user, { app_code: code })).status).toBe(201)
  expect(await grant(user, asked)).toMatchObject({ status: 200 })
  expect((await service.login(user.email, asked.code)).status).toBe(200)
  const [request] = await requestsOf(user, `&app=${asked.code}`)
  expect(request).toMatchObject({ status: 'approved', reason: null, decided_at: expect.any(String) })
  expect((await requestsOf(user, `&app=${other.code}`)).map(({ status }) => status)).toEqual(['open'])
  const [event] = await auditEvents(service, { user_id: user.id, event: 'grant.request_approved' })
  expect(event).toMatchObject({ app_id: asked.id })
  await allSent(service)
  expect(mailbox.mailsTo(user.email).filter(({ subject }) => /access/.test(subject))).toEqual([])
})

test('many calls at once open one request, and many decisions at once make one', async () => {
  const user = await waitingUser()
  const replies = await atOnce(20, () => ask(user))
  expect(replies.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201])
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
  expect(await requestsOf(user)).toHaveLength(1)
  const id = replies[0]!.body.id
  const decisions = await atOnce(20, (index) => decide(id, index % 2 === 0 ? 'approve' : 'deny'))
  const won = decisions.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  for (const lost of decisions.filter(({ status }) => status !== 200)) expectError(lost, 'access_request_decided')
  const [request] = await requestsOf(user)
  expect(request!.status).toBe(won[0]!.body.status)
  expect((await service.login(user.email, app.code)).status).toBe(request!.status === 'approved' ? 200 : 403)
  await allSent(service)
  const told = mailbox.mailsTo(user.email).filter(({ subject }) => /access/.test(subject))
  expect(told).toHaveLength(1)
})

describe('the access requests of a deleted user', () => {
  test('deleting a user denies the open request, so that no request is left that nobody can decide', async () => {
    const user = await waitingUser()
    expect((await ask(user)).status).toBe(201)
    await closeAccount(service, user.id, 'deleted')
    expect((await requestsOf(user)).map(({ status }) => status)).toEqual(['denied'])
    expect(await auditEvents(service, { user_id: user.id, event: 'grant.request_denied' })).toHaveLength(1)
  })

  test('a call that is under way while its user is deleted leaves no open request', async () => {
    for (let round = 0; round < 4; round += 1) {
      const user = await waitingUser()
      const asking = atOnce(4, () => ask(user))
      await closeAccount(service, user.id, 'deleted')
      for (const { status } of await asking) expect([200, 201, 401]).toContain(status)
      expect((await requestsOf(user)).filter(({ status }) => status === 'open')).toEqual([])
    }
  })
})

test('a user may open five new requests a day', async () => {
  const user = await waitingUser()
  for (let count = 0; count < 5; count += 1) {
    const { status, body } = await ask(user)
    expect(status).toBe(201)
    await decide(body.id, 'deny')
  }
  const refused = await ask(user)
  expectError(refused, 'rate_limited')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000)
})

describe('users who may not ask for access', () => {
  test('a user whose address is not verified may not ask', async () => {
    const { user } = await buildUser(service, app)
    expectError(await ask(user), 'email_unverified')
    expect(await requestsOf(user)).toEqual([])
  })

  test('a user whose address only the link of a mail verified may not ask until the mailbox is proven', async () => {
    const { user } = await buildUser(service, open)
    const { token } = await mailbox.take(user.email)
    await service.call('POST', '/auth/email/verify', { body: { token } })
    expectError(await ask(user), 'email_unverified')
    await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: open.code } })
    const link = await mailbox.take(user.email, /^Sign in to/)
    const body = { token: link.token, password: PASSWORD }
    expect((await service.call('POST', '/auth/magic-link/consume', { body })).status).toBe(200)
    expect((await ask(user)).status).toBe(201)
  })

  test('a user who may enter, or would with the next login, may not ask', async () => {
    expectError(await ask(await waitingUser(open), { app_code: open.code }), 'access_granted')
    expectError(await ask(await waitingUser(), { app_code: open.code }), 'access_granted')
  })

  test('a caller who does not know the password learns nothing about the account or the request', async () => {
    const user = await waitingUser()
    await ask(user)
    expectError(await ask(user, { password: 'a wrong password' }), 'invalid_credentials')
    expectError(await ask({ email: `${randomUUID()}@example.com` }), 'invalid_credentials')
    const elsewhere = await buildApp(service, { registration_namespace: 'elsewhere' })
    expectError(await ask(user, { app_code: elsewhere.code }), 'invalid_credentials')
    expectError(await ask(user, { app_code: 'nowhere' }), 'app_not_found')
    const closed = await buildApp(service, { status: 'inactive' })
    expectError(await ask(user, { app_code: closed.code }), 'app_inactive')
    await closeAccount(service, user.id, 'suspended')
    expectError(await ask(user), 'account_suspended')
  })

  test('a request needs the second factor, and wrong passwords lock the account as at a login', async () => {
    const user = await waitingUser(open)
    const { access_token } = (await service.login(user.email, open.code)).body
    const factor = await enableTwoFactor(service, access_token)
    const asked = await ask(user)
    expect([asked.status, asked.body]).toEqual([401, (await service.login(user.email, open.code)).body])
    expectError(await ask(user, { two_factor_code: factor.wrongCode() }), 'invalid_two_factor_code')
    expect((await ask(user, { two_factor_code: factor.recoveryCodes[0] })).status).toBe(201)
    const other = await waitingUser()
    for (let count = 0; count < 5; count += 1) await ask(other, { password: 'a wrong password' })
    expectError(await ask(other), 'account_locked')
  })
})

test('the list is filtered by app, user and status, and an unknown app is 404', async () => {
  const user = await waitingUser()
  const { id } = (await ask(user)).body
  const { body } = await service.admin('GET', `/admin/access-requests?app=${app.code}&status=open&limit=1`)
  expect(body.items).toMatchObject([{ id }])
  const next = await service.admin('GET', `/admin/access-requests?limit=1&cursor=${body.next_cursor}`)
  expect(next.body.items[0].id).not.toBe(id)
  expectError(await service.admin('GET', '/admin/access-requests?app=nowhere'), 'not_found')
  expectError(await decide(randomUUID(), 'approve'), 'not_found')
})

test('erasing a user and deleting an app remove their requests, and a decided request goes after the retention time', async () => {
  const { service, mailbox } = await buildMailingService({ AUTH_RETENTION_DAYS: '10' })
  const [kept, gone] = [await buildApp(service), await buildApp(service)]
  const { user } = await buildUser(service, kept)
  await markVerified(service, user.id)
  const { body } = await ask(user, { app_code: kept.code }, service)
  await ask(user, { app_code: gone.code }, service)
  await mailbox.take(ADMIN_EMAIL)
  await service.admin('DELETE', `/admin/apps/${gone.code}`)
  expect(await countRows(service, 'access_requests')).toBe(1)
  await service.admin('POST', `/admin/access-requests/${body.id}/deny`, { body: {} })
  await ask(user, { app_code: kept.code }, service)
  service.advance(11 * 86_400)
  await removeExpired(service.deps)
  const left = await service.deps.db('access_requests').pluck('status')
  expect(left).toEqual(['open'])
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  expect(await countRows(service, 'access_requests')).toBe(0)
})

test('an app with masses of requests sends each admin a limited number of mails an hour, and lists all requests', async () => {
  const { service, mailbox } = await buildMailingService({ AUTH_RATE_LIMIT_IP: 'off' })
  const crowded = await buildApp(service)
  const second = (await buildUser(service, crowded)).user
  await assignRole(service, second.id, 'system_admin')
  for (let count = 0; count < 23; count += 1) {
    const { user } = await buildUser(service, crowded)
    await markVerified(service, user.id)
    expect((await ask(user, { app_code: crowded.code }, service)).status).toBe(201)
  }
  await allSent(service)
  const requests = (to: string) => mailbox.mailsTo(to).filter(({ subject }) => subject.startsWith('A user asks'))
  expect([requests(ADMIN_EMAIL).length, requests(second.email).length]).toEqual([20, 20])
  expect((await service.admin('GET', '/admin/access-requests?limit=100')).body.items).toHaveLength(23)
})
