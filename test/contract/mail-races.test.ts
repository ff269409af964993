// A mail that was given up, when many act on it at once. Against real SMTP.
import { expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent } from '../support/mailbox.ts'
import { auditEvents } from '../support/rows.ts'
import { buildUser, type Json } from '../support/service.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_IP: 'off' })
const app = appFixture(service)

/** A user whose reset was refused, and that mail. */
async function refuse(): Promise<{ user: Json; mail: Json }> {
  mailbox.refuse = {}
  const { user } = await buildUser(service, app)
  await allSent(service)
  mailbox.refuse.recipient = '550 no such mailbox'
  await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: app.code } })
  await allSent(service)
  mailbox.refuse = {}
  const [mail] = (await service.admin('GET', `/admin/mails?user_id=${user.id}&status=failed`)).body.items
  return { user, mail }
}
const resend = (id: string) => service.admin('POST', `/admin/mails/${id}/resend`)

test('of a thousand concurrent requests to resend a mail, one sends it', async () => {
  const { user, mail } = await refuse()
  const replies = await atOnce(1_000, () => resend(mail.id))
  expect(replies.filter(({ status }) => status === 202)).toHaveLength(1)
  // The others find it waiting, or sent.
  for (const { status, body } of replies) if (status !== 202) expect(['mail_pending', 'mail_not_kept']).toContain(body.code)
  await allSent(service)
  expect(mailbox.mailsTo(user.email).filter(({ subject }) => /password/i.test(subject))).toHaveLength(1)
  expect(await auditEvents(service, { event: 'mail.resent', user_id: user.id })).toHaveLength(1)
})

test('concurrent deletion of a user and resending of mails leave nothing of the mails', async () => {
  for (let turn = 0; turn < 8; turn += 1) {
    const { user, mail } = await refuse()
    mailbox.refuse.recipient = '550 still not'
    await Promise.all([
      ...Array.from({ length: 4 }, () => resend(mail.id)),
      service.admin('DELETE', `/admin/users/${user.id}`),
      ...Array.from({ length: 4 }, () => resend(mail.id)),
    ])
    await allSent(service)
    const row = await service.deps.db('outbox').where({ id: mail.id }).first()
    expect([row.destination, row.payload]).toEqual(['', '{}'])
  }
})
