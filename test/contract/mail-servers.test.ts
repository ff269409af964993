// Account mail of two servers on one Postgres, each with its own connection pool.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { type Mailbox, startMailbox, until } from '../support/mailbox.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, testDatabase } from '../support/service.ts'

describe.runIf(testDatabase() === 'postgres')('mails of two servers on one database', () => {
  let servers: [ServerInstance, ServerInstance]
  let mailbox: Mailbox
  let app: Json

  beforeAll(async () => {
    mailbox = await startMailbox({}, onFileEnd)
    const database = await createDatabase('postgres', inject('templates'))
    onFileEnd(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      DB_POOL_MAX: '5',
      SMTP_URL: mailbox.url,
      ...bootstrapAdmin,
    }
    servers = await Promise.all([startInstance(settings, onFileEnd), startInstance(settings, onFileEnd)])
    const token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true }
    app = (await servers[0].call('POST', '/admin/apps', { token, body })).body
  })

  const call = (index: number, path: string, body: Json) => servers[index % 2]!.call('POST', path, { body })
  const anAddress = () => `${randomUUID()}@example.com`
  const register = (index: number, email: string) =>
    call(index, '/auth/register', { email, password: PASSWORD, app_code: app.code })

  test('each of forty registrations is mailed once, and either server accepts its token', async () => {
    const emails = Array.from({ length: 40 }, anAddress)
    await atOnce(emails.length, (index) => register(index, emails[index]!))
    await until(() => new Set(mailbox.mails.map(({ to }) => to)).size === emails.length)
    const verified = await atOnce(emails.length, async (index) => {
      const { token } = mailbox.mailsTo(emails[index]!)[0]!
      return (await call(index + 1, '/auth/email/verify', { token })).status
    })
    expect(verified).toEqual(emails.map(() => 200))
    expect(emails.map((email) => mailbox.mailsTo(email).length)).toEqual(emails.map(() => 1))
  })

  test('thirty requests for one address at both servers send three mails, and the newest link signs in once', async () => {
    const email = anAddress()
    await register(0, email)
    await mailbox.take(email)
    const asked = await atOnce(30, (index) => call(index, '/auth/magic-link', { email, app_code: app.code }))
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([202]))
    const last = anAddress()
    await until(() => mailbox.mailsTo(email).length === 4)
    // Once this mail has arrived, all earlier requests have been processed.
    await register(1, last)
    await mailbox.take(last)
    expect(mailbox.mailsTo(email)).toHaveLength(4)

    const tokens = mailbox
      .mailsTo(email)
      .slice(1)
      .map(({ token }) => token)
    const replies = await atOnce(30, (index) => call(index, '/auth/magic-link/consume', { token: tokens[index % 3] }))
    const codes = replies.map(({ status, body }) => (status === 200 ? 'in' : body.code))
    expect(codes.filter((code) => code === 'in')).toHaveLength(1)
    expect(['in', 'invalid_token', 'rate_limited']).toEqual(expect.arrayContaining([...new Set(codes)]))
  })
})
