// Where a mail is: what an admin sees of mails and of who asked for them, and sends again. Against real SMTP.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../packages/server/src/adapters/logger.ts'
import { atOnce } from '../support/chance.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { assignRole, buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, sendNow, until } from '../support/mailbox.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildUser, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_IP: 'off' })
const app = appFixture(service)
beforeEach(() => {
  mailbox.refuse = {}
})

const mailsOf = async (user: Json, query = ''): Promise<Json[]> =>
  (await service.admin('GET', `/admin/mails?user_id=${user.id}${query}`)).body.items
const resend = (id: string) => service.admin('POST', `/admin/mails/${id}/resend`)
const ask = (email: string, path = '/auth/password/forgot', more: Json = {}) =>
  service.call('POST', path, { body: { email, app_code: app.code, ...more } })
/** The detail of an error. */
const detailOf = (reply: Reply, code: Parameters<typeof expectError>[1]): string => {
  expectError(reply, code)
  return reply.body.detail
}
/** A user without a mail that waits. */
const newUser = async (of: Json = app): Promise<Json> => {
  const { user } = await buildUser(service, of)
  await allSent(service)
  return user
}
/** The mail that the mail server has refused for good. */
async function refuse(user: Json, path = '/auth/password/forgot'): Promise<Json> {
  mailbox.refuse.recipient = '550 no such mailbox'
  await ask(user.email, path)
  const [mail] = await until(async () => {
    const failed = await mailsOf(user, '&status=failed')
    return failed.length > 0 && failed
  }, 'a mail that was given up')
  mailbox.refuse = {}
  return mail!
}

/** Everything that the API shows of mails. */
async function everyMail(query = ''): Promise<Json[]> {
  const items: Json[] = []
  for (let cursor = ''; ; ) {
    const { body } = await service.admin('GET', `/admin/mails?limit=200${query}${cursor}`)
    items.push(...body.items)
    if (body.next_cursor === null) return items
    cursor = `&cursor=${body.next_cursor}`
  }
}

describe('the list of mails', () => {
  test('a mail is listed while it waits, with the answer of the mail server, and after it was sent', async () => {
    const user = await newUser()
    mailbox.refuse.message = '451 greylisted'
    const requestId = randomUUID()
    const body = { email: user.email, app_code: app.code }
    await service.call('POST', '/auth/password/forgot', { body, headers: { 'x-request-id': requestId } })
    const [waiting] = await until(async () => {
      const found = await mailsOf(user, '&status=pending')
      return found[0]?.attempts === 1 && found
    })
    expect(waiting).toMatchObject({
      ...{ purpose: 'reset_password', user_id: user.id, user: `${user.email}@@${user.namespace}`, email: user.email },
      ...{ app_id: app.id, app_code: app.code, status: 'pending', reason: null, attempts: 1, last_status: 451 },
      ...{ request_id: requestId, last_error: expect.stringContaining('greylisted'), finished_at: null },
    })
    expect(Date.parse(waiting!.next_attempt_at)).toBeGreaterThan(Date.parse(waiting!.created_at))
    expectError(await resend(waiting!.id), 'mail_pending')
    mailbox.refuse = {}
    service.advance(3)
    sendNow(service)
    await allSent(service)
    const { body: sent } = await service.admin('GET', `/admin/mails/${waiting!.id}`)
    expect(sent).toMatchObject({ status: 'delivered', email: null, user_id: user.id, attempts: 2, last_error: null })
    expect(sent.finished_at).not.toBeNull()
    expect((await mailsOf(user)).map(({ purpose }) => purpose)).toEqual(['reset_password', 'verify_email'])
    expectError(await resend(sent.id), 'mail_not_kept')
  })

  test('a mail requested by address is listed before its first attempt', async () => {
    const user = await newUser()
    const row = { kind: 'mail', destination: user.email, payload: '{}', name: 'reset_password', app_id: app.id }
    const times = { next_attempt_at: 10 ** 14, created_at: service.deps.clock() }
    await service.deps.db('outbox').insert({ id: randomUUID(), ...row, ...times })
    expect((await mailsOf(user, '&status=pending')).map(({ user_id, email }) => ({ user_id, email }))).toEqual([
      { user_id: null, email: user.email },
    ])
    await service.deps
      .db('outbox')
      .where({ destination: user.email, next_attempt_at: 10 ** 14 })
      .delete()
  })

  test('a mail that is not sent says why', async () => {
    const [nobody, suspended, closed] = [someEmail(), await newUser(), await buildApp(service, { auto_grant_on_signup: true })]
    const verified = await newUser()
    const { token } = mailbox.mailsTo(verified.email)[0]!
    await service.call('POST', '/auth/email/verify', { body: { token, password: PASSWORD } })
    const late = await newUser(closed)
    await service.admin('PATCH', `/admin/users/${suspended.id}`, { body: { status: 'suspended' } })
    // The app is made inactive between the request and the attempt.
    await service.deps.db('outbox').insert({
      ...{ id: randomUUID(), kind: 'mail', name: 'magic_link', app_id: closed.id, destination: late.email },
      ...{
        payload: JSON.stringify({ redirect_url: null, asked: { at: 1, ip: null } }),
        created_at: 1,
        next_attempt_at: 10 ** 14,
      },
    })
    await service.admin('PATCH', `/admin/apps/${closed.id}`, { body: { status: 'inactive' } })
    await service.deps.db('outbox').where({ destination: late.email }).update({ next_attempt_at: 1 })
    await ask(nobody)
    await ask(suspended.email)
    await ask(verified.email, '/auth/email/resend')
    sendNow(service)
    await allSent(service)
    const unsent = await everyMail('&status=unsent')
    const why = (purpose: string, userId: string | null) =>
      unsent.find((mail) => mail.purpose === purpose && mail.user_id === userId)
    expect(why('reset_password', null)).toMatchObject({ status: 'unsent', reason: 'unknown_user', email: null, user: null })
    expect(why('reset_password', suspended.id)).toMatchObject({ reason: 'account_suspended', email: null })
    expect(why('verify_email', verified.id)).toMatchObject({ reason: 'already_verified' })
    expect(why('magic_link', null)).toMatchObject({ reason: 'app_inactive' })
    expect(JSON.stringify(unsent)).not.toContain(nobody)
    expect(detailOf(await resend(why('reset_password', suspended.id)!.id), 'mail_not_kept')).toMatch(/the account is suspended/)
  })

  test('a mail in the list shows no part of its content', async () => {
    const user = await newUser()
    mailbox.refuse.message = '554 looks like spam'
    await ask(user.email, '/auth/email-code')
    const failed = await until(async () => (await mailsOf(user, '&status=failed'))[0])
    const row = await service.deps.db('outbox').where({ id: failed.id }).first()
    expect(row.payload).toContain('page_box')
    const shown = JSON.stringify([await everyMail(), failed, (await service.admin('GET', `/admin/mails/${failed.id}`)).body])
    const [token] = await service.deps.db('mail_tokens').where({ user_id: user.id, purpose: 'magic_link' })
    for (const secret of ['payload', 'token', 'page_box', 'http', token.token_hash, JSON.parse(row.payload).page_box])
      expect(shown.includes(secret), secret).toBe(false)
  })

  test('the list is only for a system_admin, and its filters are validated', async () => {
    const { access_token } = await buildUser(service, app)
    const path = `/admin/mails/${randomUUID()}`
    for (const [method, each] of [
      ['GET', '/admin/mails'],
      ['GET', path],
      ['POST', `${path}/resend`],
    ] as const) {
      expectError(await service.call(method, each), 'token_missing')
      expectError(await service.call(method, each, { token: access_token }), 'system_admin_required')
    }
    expectError(await service.admin('GET', path), 'not_found')
    expectError(await resend(randomUUID()), 'not_found')
    expect(faultsOf(await service.admin('GET', '/admin/mails?status=sent'))[0]).toMatch(/^status/)
    expect(faultsOf(await service.admin('GET', '/admin/mails?user_id=bob'))[0]).toMatch(/^user_id/)
    expect((await service.admin('GET', `/admin/mails?user_id=${randomUUID()}`)).body).toEqual({ items: [], next_cursor: null })
  })

  test('the list is paged by the requested size', async () => {
    const user = await newUser()
    await ask(user.email)
    await allSent(service)
    const first = (await service.admin('GET', `/admin/mails?user_id=${user.id}&limit=1`)).body
    const second = (await service.admin('GET', `/admin/mails?user_id=${user.id}&limit=1&cursor=${first.next_cursor}`)).body
    expect([...first.items, ...second.items].map(({ purpose }: Json) => purpose)).toEqual(['reset_password', 'verify_email'])
    expect(second.next_cursor).toBeNull()
  })
})

describe('resending a mail', () => {
  test('resending a failed mail sends it with a working link, and is audited', async () => {
    const user = await newUser()
    const failed = await refuse(user)
    expect(failed).toMatchObject({ status: 'failed', email: user.email, last_status: 550, attempts: 1 })
    const reply = await resend(failed.id)
    expect([reply.status, reply.body]).toMatchObject([202, { id: failed.id, status: 'pending', attempts: 0 }])
    const mail = await mailbox.take(user.email, /password/i)
    const password = `${PASSWORD} again`
    expect((await service.call('POST', '/auth/password/reset', { body: { token: mail.token, password } })).status).toBe(204)
    await allSent(service)
    const [event] = await auditEvents(service, { event: 'mail.resent', user_id: user.id })
    expect(event).toMatchObject({ app_id: app.id, actor_type: 'user', details: { purpose: 'reset_password', mail: failed.id } })
    expectError(await resend(failed.id), 'mail_not_kept')
  })

  test('resending an invitation sends the same one, until it is withdrawn', async () => {
    const { id: organizationId } = await buildOrganization(service)
    const email = someEmail()
    mailbox.refuse.recipient = '550 no such mailbox'
    const token = await buildInvitation(service, { organizationId, email })
    await allSent(service)
    const failed = (await everyMail('&status=failed')).find((mail) => mail.email === email)!
    expect(failed).toMatchObject({ purpose: 'invitation', user_id: null })
    expect((await resend(failed.id)).status).toBe(202)
    await allSent(service)
    mailbox.refuse = {}
    expect((await resend(failed.id)).status).toBe(202)
    expect((await mailbox.take(email)).token).toBe(token)
    mailbox.refuse.recipient = '550 no such mailbox'
    const other = someEmail()
    await buildInvitation(service, { organizationId, email: other })
    await allSent(service)
    const lost = (await everyMail('&status=failed')).find((mail) => mail.email === other)
    const invitations = `/organizations/${organizationId}/invitations`
    const { items } = (await service.admin('GET', `/admin${invitations}`)).body
    const { id } = items.find((each: Json) => each.email === other)
    await service.admin('DELETE', `/admin${invitations}/${id}`)
    expect(detailOf(await resend(lost!.id), 'mail_outdated')).toMatch(/Invite again/)
  })

  test.each([
    ['/auth/password/forgot', 60],
    ['/auth/magic-link', 15],
    ['/auth/email-code', 10],
    ['/auth/email/resend', 24 * 60],
  ])('resending the mail of %s is refused after %i minutes, when its link or code has expired', async (path, minutes) => {
    const user = await newUser()
    const failed = await refuse(user, path)
    service.advance(minutes * 60 - 20)
    mailbox.refuse.recipient = '550 still not'
    expect((await resend(failed.id)).status).toBe(202)
    await allSent(service)
    service.advance(minutes * 60 + 1)
    expect(detailOf(await resend(failed.id), 'mail_outdated')).toMatch(/ended at .* Have the user ask for another one/)
    mailbox.refuse = {}
    expect(await countRows(service, 'outbox', { user_id: user.id, status: 'pending' })).toBe(0)
  })

  test('resending is refused if a newer mail was sent, the link was used, or the mail is no longer due', async () => {
    const user = await newUser()
    const failed = await refuse(user)
    await ask(user.email)
    const { token } = await mailbox.take(user.email, /password/i)
    await allSent(service)
    expect(detailOf(await resend(failed.id), 'mail_outdated')).toMatch(/newer mail/)
    await service.call('POST', '/auth/password/reset', { body: { token, password: `${PASSWORD} newer` } })
    await allSent(service)
    expect(detailOf(await resend(failed.id), 'mail_outdated')).toMatch(/was used/)
    const renamed = await newUser()
    const toOld = await refuse(renamed)
    await service.admin('PATCH', `/admin/users/${renamed.id}`, { body: { email: someEmail() } })
    expect(detailOf(await resend(toOld.id), 'mail_outdated')).toMatch(/changed or ended/)
  })

  test.each([false, true])(
    'resending is refused for a deleted user (erased: %s), and nothing of the mail remains',
    async (erase) => {
      const user = await newUser()
      const failed = await refuse(user)
      await service.admin('DELETE', `/admin/users/${user.id}${erase ? '?erase=true' : ''}`)
      await allSent(service)
      const row = await service.deps.db('outbox').where({ id: failed.id }).first()
      expect([row.destination, row.payload]).toEqual(['', '{}'])
      for (const mail of await mailsOf(user)) expect([mail.email, mail.user]).toEqual([null, null])
      expectError(await resend(failed.id), 'mail_not_kept')
    },
  )

  test('nothing remains of a mail that fails after its user was deleted', async () => {
    const { user, access_token } = await buildUser(service, app)
    await allSent(service)
    mailbox.refuse.recipient = '550 no such mailbox'
    expect((await service.call('DELETE', '/auth/me', { token: access_token, body: { password: PASSWORD } })).status).toBe(204)
    await allSent(service)
    const rows: Json[] = await service.deps.db('outbox').where({ user_id: user.id, name: 'account_deleted' })
    expect(rows.map(({ status, destination, payload }) => ({ status, destination, payload }))).toEqual([
      { status: 'failed', destination: '', payload: '{}' },
    ])
  })
})

describe('the audit of requests for mail', () => {
  // Each test has an app of its own: the first requests for an app in a minute have an event of their own.
  const requests = (email: string) => auditEvents(service, { event: 'mail.requested', email })

  test.each([
    ['/auth/password/forgot', 'reset_password'],
    ['/auth/magic-link', 'magic_link'],
    ['/auth/email-code', 'magic_link'],
    ['/auth/email/resend', 'verify_email'],
  ])('%s is audited as one event that leads to the mail, the same for known and unknown addresses', async (path, purpose) => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const [user, stranger] = [await newUser(app), someEmail()]
    for (const email of [user.email, stranger]) expect((await ask(email, path, { app_code: app.code })).status).toBe(202)
    await allSent(service)
    const known = await requests(user.email)
    const unknown = await requests(stranger)
    expect([known.length, unknown.length]).toEqual([1, 1])
    const facts = ({ details, ...event }: Json) => [
      event.app_id,
      event.reason,
      event.user_id,
      event.actor_type,
      Object.keys(details),
    ]
    expect(facts(known[0])).toEqual(facts(unknown[0]))
    expect(known[0]).toMatchObject({ app_id: app.id, user_id: null, reason: null, details: { purpose, email: user.email } })
    const mailOf = async ({ details }: Json) => (await service.admin('GET', `/admin/mails/${details.mail}`)).body
    expect(await mailOf(known[0])).toMatchObject({ status: 'delivered', user_id: user.id, purpose })
    expect(await mailOf(unknown[0])).toMatchObject({ status: 'unsent', reason: 'unknown_user', user_id: null, purpose })
    // By address, an admin finds both.
    for (const email of [user.email, stranger]) {
      const { items } = (await service.admin('GET', `/admin/audit?event=mail.requested&email=${email}`)).body
      expect(items).toMatchObject([{ details: { purpose } }])
    }
  })

  test('requests that send no mail, by limit or by app, are audited with their reason', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const user = await newUser(app)
    for (let count = 0; count < 6; count += 1) expect((await ask(user.email, undefined, { app_code: app.code })).status).toBe(202)
    await allSent(service)
    const events = await requests(user.email)
    const [queued, dropped] = [events.filter(({ reason }) => reason === null), events.filter(({ reason }) => reason !== null)]
    expect([queued.map(({ count }) => count), new Set(dropped.map(({ reason }) => reason))]).toEqual([
      [1, 1, 1],
      new Set(['limit_reached']),
    ])
    // One event, or two if a minute ends between them.
    expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(3)
    expect(dropped[0]!.details).toEqual({ purpose: 'reset_password', email: user.email })
    const closed = await buildApp(service)
    await service.admin('PATCH', `/admin/apps/${closed.id}`, { body: { status: 'inactive' } })
    const email = someEmail()
    expectError(await ask(email, '/auth/magic-link', { app_code: closed.code }), 'app_inactive')
    expectError(await ask(email, '/auth/magic-link', { app_code: 'no-such-app' }), 'app_not_found')
    expectError(await ask(email, '/auth/magic-link', { app_code: undefined }), 'app_code_required')
    expectError(
      await ask(email, '/auth/magic-link', { app_code: app.code, redirect_url: 'https://evil.example' }),
      'validation_failed',
    )
    const refused = (await requests(email)).map(({ reason, details }) => [reason, details.app_code])
    expect(refused).toEqual([
      ['app_inactive', closed.code],
      ['app_not_found', 'no-such-app'],
      ['app_code_required', undefined],
      ['validation_failed', app.code],
    ])
  })

  test('the audit stays small while a stranger asks for hundreds of mails, and the first have their own events', async () => {
    const victim = await buildApp(service)
    const emails = Array.from({ length: 300 }, someEmail)
    const statuses = await atOnce(
      emails.length,
      async (index) => (await ask(emails[index]!, undefined, { app_code: victim.code })).status,
    )
    expect(new Set(statuses)).toEqual(new Set([202]))
    const events = await auditEvents(service, { event: 'mail.requested', app_id: victim.id })
    expect(events.reduce((sum, { count }) => sum + count, 0)).toBe(300)
    // 20 a minute, and a row for what is counted; they may take more than one minute.
    expect(events.length).toBeLessThan(200)
    expect(events.filter(({ count }) => count === 1).length).toBeGreaterThanOrEqual(20)
    await allSent(service)
  })

  test('erasing a user removes the address from the audit of requests', async () => {
    const user = await newUser()
    await ask(user.email)
    await allSent(service)
    await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
    expect(await requests(user.email)).toEqual([])
    const events = await auditEvents(service, { event: 'mail.requested' })
    expect(JSON.stringify(events)).not.toContain(user.email)
  })
})

test('the log names the request, user and app of a mail, but never the address', async () => {
  const user = await newUser()
  const lines: string[] = []
  const { logger } = service.deps
  service.deps.logger = createLogger('debug', { write: (line: string) => void lines.push(line) })
  onTestFinished(() => {
    service.deps.logger = logger
  })
  mailbox.refuse.message = '451 come back'
  const requestId = randomUUID()
  const body = { email: user.email, app_code: app.code }
  await service.call('POST', '/auth/password/forgot', { body, headers: { 'x-request-id': requestId } })
  const said = (msg: string) =>
    lines.map((line) => JSON.parse(line)).find((line) => line.name === 'reset_password' && line.msg === msg)
  const about = { kind: 'mail', request_id: requestId, user_id: user.id, app_id: app.id }
  expect(await until(() => said('not sent'))).toMatchObject({ ...about, status: 451, attempt: 1 })
  mailbox.refuse = {}
  service.advance(3)
  sendNow(service)
  expect(await until(() => said('sent'))).toMatchObject({ ...about, attempt: 2 })
  await allSent(service)
  expect(lines.join('')).not.toContain(user.email)
})

test('the help desk resends a mail with a reason, except to a user with a further global role', async () => {
  const { user: helper } = await buildUser(service, app)
  await assignRole(service, helper.id, 'help_desk')
  await service.admin('POST', `/admin/users/${helper.id}/apps/authctl`)
  const { access_token: token } = (await service.login(helper.email, 'authctl')).body
  await allSent(service)
  const help = (id: string, headers: Record<string, string> = { 'x-audit-reason': 'Ticket' }) =>
    service.call('POST', `/admin/mails/${id}/resend`, { token, headers })
  const user = await newUser()
  const failed = await refuse(user)
  expectError(await help(failed.id, {}), 'validation_failed')
  await assignRole(service, user.id, 'auditor')
  expectError(await help(failed.id), 'system_admin_required')
  await service.admin('DELETE', `/admin/users/${user.id}/roles/auditor`)
  expect((await help(failed.id)).status).toBe(202)
  const [event] = await auditEvents(service, { event: 'mail.resent', user_id: user.id })
  expect(event).toMatchObject({ actor_id: helper.id, audit_reason: 'Ticket' })
  expectError(await help(randomUUID()), 'not_found')
})
