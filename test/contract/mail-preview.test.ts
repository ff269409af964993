// What an admin sees of the mails of an app, and a test mail through the real mail server.
import { expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { mailingFixture } from '../support/fixtures.ts'
import { buildPng } from '../support/images.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildUser, someEmail } from '../support/service.ts'

const { service, mailbox } = mailingFixture({ MAIL_FROM: 'Gatehouse <no-reply@login.example.com>' }, { frozen: true })
const brand = { accent_color: '#c2410c', support_email: 'help@shop.example.com', from_name: 'The Shop' }
const send = (code: string, body: object) => service.admin('POST', `/admin/apps/${code}/test-mail`, { body })

test('a preview equals the mail that users get, and spends nothing', async () => {
  const app = await buildApp(service, { name: 'Shop', brand })
  await service.admin('PUT', `/admin/apps/${app.code}/logo`, { body: buildPng(40, 20), headers: { 'content-type': 'image/png' } })
  const { status, body } = await service.admin('GET', `/admin/apps/${app.code}/mails/verify_email?language=en`)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    from: 'The Shop',
    reply_to: 'help@shop.example.com',
    subject: 'Confirm your e-mail address for Shop',
  })
  expect(body.html).toContain('<img src="data:image/png;base64,')
  const real = await mailbox.take((await buildUser(service, app)).user.email)
  const plain = (text: string) =>
    text
      .trimEnd()
      .replace(/https?:\S+/g, 'LINK')
      .replace(/^When and where(?:.+\n)+\n/m, '')
      .replaceAll('login.example.com', 'localhost:4000')
  expect(plain(real.text)).toBe(plain(body.text))
  for (const path of [`${app.code}/mails/nothing`, 'nobody/mails/test'])
    expectError(await service.admin('GET', `/admin/apps/${path}`), 'not_found')
  const unknown = await service.admin('GET', `/admin/apps/${app.code}/mails/test?language=nl`)
  expect(faultsOf(unknown)).toEqual(['language: invalid_value'])
})

test("a test mail has the app's sender, reply address and logo, and counts towards ten an hour", async () => {
  const app = await buildApp(service, { name: 'Café Zürich', brand: { support_email: 'hilfe@cafe.example.com' } })
  await service.admin('PUT', `/admin/apps/${app.code}/logo`, { body: buildPng(40, 20), headers: { 'content-type': 'image/png' } })
  const to = someEmail()
  expect((await send(app.code, { to })).body).toEqual({ accepted: true, status: null, error: null })
  const mail = await mailbox.take(to)
  expect(mail).toMatchObject({
    subject: 'Test mail for Café Zürich',
    fromName: 'Café Zürich',
    from: 'no-reply@login.example.com',
    replyTo: 'hilfe@cafe.example.com',
  })
  expect(mail.attachments).toMatchObject([{ mimeType: 'image/png', contentId: '<logo@gatehouse>' }])
  expect(mail.text).toContain('Help: hilfe@cafe.example.com')
  expect(await auditEvents(service, { event: 'mail.tested' })).toMatchObject([{ app_id: app.id, details: { to } }])

  mailbox.refuse.message = '554 looks like spam'
  expect((await send(app.code, { to })).body).toEqual({ accepted: false, status: 554, error: expect.stringContaining('spam') })
  mailbox.refuse = {}
  expect(faultsOf(await send(app.code, { to: 'nobody' }))).toEqual(['to: invalid_value'])
  expectError(await send('nobody', { to }), 'not_found')
  for (let count = 2; count < 10; count += 1) expect((await send(app.code, { to })).status).toBe(200)
  expectError(await send(app.code, { to }), 'rate_limited')
  service.advance(3_601)
  expect((await send(app.code, { to })).status).toBe(200)
})
