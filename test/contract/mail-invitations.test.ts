// An invitation for an address is mailed there; what it proves depends on who else holds the token.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { leaseMessages } from '../../packages/server/src/resources/outbox/outbox.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, fixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, startSending, until } from '../support/mailbox.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type TestService } from '../support/service.ts'

const { service, mailbox } = mailingFixture()
const app = appFixture(service, { frontend_url: 'https://shop.example.com' })
const organization: Json = fixture(() => found('Zoë’s Company'))

const anAddress = () => `${randomUUID()}@example.com`
const found = async (name: string, at = service): Promise<Json> =>
  (await at.admin('POST', '/admin/organizations', { body: { name } })).body
const invite = async (body: Json, of = organization, at = service): Promise<Json> => {
  const reply = await at.admin('POST', `/admin/organizations/${of.id}/invitations`, {
    body: { role_codes: ['org_member'], ...body },
  })
  expect(reply.status).toBe(201)
  return reply.body
}

test("the mail holds the token of the answer, and links to the app's frontend or to the service", async () => {
  const email = anAddress()
  const { token } = await invite({ email, app_code: app.code })
  const mail = await mailbox.take(email)
  expect(mail).toMatchObject({ subject: `You are invited to an organization at ${app.name}`, links: [expect.any(String)] })
  expect(mail.text).toContain('Zoë’s Company')
  expect(mail.links[0]).toBe(`https://shop.example.com/accept-invitation?token=${token}`)
  expect(mail.html).toContain('Zoë’s Company')

  const plain = anAddress()
  await invite({ email: plain })
  expect((await mailbox.take(plain)).links[0]).toMatch(/^http:\/\/localhost:4000\/accept-invitation\?token=gin_/)
})

test('an invitation without an address is not mailed', async () => {
  const before = await countRows(service, 'outbox')
  await invite({})
  expect(await countRows(service, 'outbox')).toBe(before)
})

test("registering with a mailed invitation verifies the address, except by an org_admin's invitation", async () => {
  const register = async (email: string, invite_token: string) =>
    (await service.register(email, app.code, { invite_token })).body.user
  const email = anAddress()
  await invite({ email, app_code: app.code })
  expect(await register(email, (await mailbox.take(email)).token)).toMatchObject({ email_verified: true })

  const orgAdmin = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  await service.admin('PUT', `/admin/organizations/${organization.id}/members/${orgAdmin.user.id}`, {
    body: { role_codes: ['org_admin'] },
  })
  await markVerified(service, orgAdmin.user.id)
  const other = anAddress()
  const created = await service.call('POST', `/organizations/${organization.id}/invitations`, {
    token: orgAdmin.access_token,
    body: { email: other, role_codes: ['org_member'] },
  })
  expect(created.status).toBe(201)
  expect(await register(other, (await mailbox.take(other, /invited/)).token)).toMatchObject({ email_verified: false })
  await mailbox.take(other, /^Confirm/)
  await allSent(service)
  expect(mailbox.mailsTo(email)).toHaveLength(1)
})

describe('an invitation in the outbox', () => {
  test('the token is sealed in the outbox for its entry, and removed once the mail is sent', async () => {
    const quiet = await buildService({ SMTP_URL: mailbox.url })
    const place = await found('Acme', quiet)
    const email = anAddress()
    const { token } = await invite({ email }, place, quiet)
    const [entry] = await quiet.deps.db('outbox').where({ destination: email })
    expect(entry.payload).toContain('token_box')
    expect(JSON.stringify(await quiet.deps.db('outbox'))).not.toContain(token.slice(4))
    // A box that is copied into another entry does not open.
    const copy = { ...entry, id: `${entry.id.slice(0, -4)}ffff` }
    await quiet.deps.db('outbox').insert(copy)
    startSending(quiet)
    expect((await mailbox.take(email)).token).toBe(token)
    const row = (id: string) => quiet.deps.db('outbox').where({ id }).first()
    const failed = await until(async () => {
      const found = await row(copy.id)
      return found.attempts > 0 && found
    })
    expect(failed).toMatchObject({ status: 'pending', attempts: 1 })
    expect(await row(entry.id)).toMatchObject({ status: 'delivered', payload: '{}' })
    expect(mailbox.mailsTo(email)).toHaveLength(1)
  })

  test.each([
    [
      'withdrawn',
      (of: Json, id: string, at: TestService) => at.admin('DELETE', `/admin/organizations/${of.id}/invitations/${id}`),
    ],
    ['expired', async (_: Json, __: string, at: TestService) => at.advance(3_601)],
    [
      'deleted with its organization',
      (of: Json, _: string, at: TestService) => at.admin('DELETE', `/admin/organizations/${of.id}`),
    ],
  ])('an invitation that is %s before it is sent is not mailed', async (_, end) => {
    const quiet = await buildService({ SMTP_URL: mailbox.url })
    const place = await found('Acme', quiet)
    const email = anAddress()
    const { id } = await invite({ email, expires_in_seconds: 3_600 }, place, quiet)
    await end(place, id, quiet)
    startSending(quiet)
    await allSent(quiet)
    expect(mailbox.mailsTo(email)).toEqual([])
  })
})

test('one address gets at most three invitations in 24 hours across all organizations', async () => {
  const email = anAddress()
  const places: Json[] = []
  for (let count = 0; count < 5; count += 1) places.push(await found(`Company ${count}`))
  const invitations = await Promise.all(places.map((place) => invite({ email }, place)))
  for (const { token } of invitations) expect(token).toMatch(/^gin_/)
  await allSent(service)
  expect(mailbox.mailsTo(email)).toHaveLength(3)
  expect((await auditEvents(service, { event: 'mail.failed' })).filter(({ details }) => details.email === email)).toHaveLength(2)

  service.advance(23 * 60 * 60)
  await invite({ email })
  await allSent(service)
  expect(mailbox.mailsTo(email)).toHaveLength(3)
  service.advance(60 * 60)
  await invite({ email })
  await allSent(service)
  expect(mailbox.mailsTo(email)).toHaveLength(4)
})

test('the name of an organization adds no link or line to the mail, and is not in the subject', async () => {
  const email = anAddress()
  await invite({ email }, await found('Win at https://evil.example.com now\nBcc: all@example.com'))
  const mail = await mailbox.take(email)
  expect(mail.subject).toMatch(/^You are invited to an organization at localhost:\d+$/)
  expect(mail.links).toHaveLength(1)
  for (const text of [mail.text, mail.html]) {
    expect(text).not.toMatch(/evil\.example|https:\/\/evil|all@example/)
    expect(text).not.toMatch(/^Bcc/m)
  }
})

test('mail that a person waits for is sent before invitations and notices', async () => {
  const quiet = await buildService({ SMTP_URL: mailbox.url })
  const place = await found('Acme', quiet)
  const through = await buildApp(quiet, { auto_grant_on_signup: true })
  const person = await buildUser(quiet, through)
  for (let count = 0; count < 30; count += 1) await invite({ email: anAddress() }, place, quiet)
  const change = { current_password: PASSWORD, new_password: 'another good password' }
  await quiet.call('POST', '/auth/password/change', { token: person.access_token, body: change })
  quiet.advance(60)
  const waiting = (await buildUser(quiet, through)).user
  await quiet.call('POST', '/auth/password/forgot', { body: { email: waiting.email, app_code: through.code } })
  quiet.advance(60)
  const claimed = await leaseMessages(quiet.deps, { kind: 'mail', limit: 3, perDestination: 8, busyDestinations: [] })
  expect(claimed.map(({ name }) => name).sort()).toEqual(['reset_password', 'verify_email', 'verify_email'])
  const left = await leaseMessages(quiet.deps, { kind: 'mail', limit: 50, perDestination: 8, busyDestinations: [] })
  expect(left.map(({ name }) => name).sort()).toEqual([...Array(30).fill('invitation'), 'password_changed'])
})

test('only a user with the invited address can accept the invitation', async () => {
  const email = anAddress()
  await invite({ email })
  const { token } = await mailbox.take(email)
  const other = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  const accept = { token: other.access_token, body: { token } }
  expectError(await service.call('POST', '/auth/invitations/accept', accept), 'invalid_invitation')
})
