import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callHttp } from '../support/client.ts'
import { startMailbox, until } from '../support/mail-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { addUser, admin, errorOf, gatehouseFixture, machine, nobody, parsed, reply, standIn } from './sandbox.ts'

const mailbox = await startMailbox({}, onFileEnd)
const { service, signedInOnce: signedIn } = gatehouseFixture({ SMTP_URL: mailbox.url })

test('mail preview prints a mail and writes its HTML part, and mail test sends one', async () => {
  const here = await signedIn()
  const { authctl, folder } = here
  await authctl('app create shop --name Shop --support-email help@shop.example.com')
  const shown = await authctl('mail preview reset_password --app shop --language en --out mail.html')
  expect(shown.exit).toBe(0)
  expect(readFileSync(join(folder, 'mail.html'), 'utf8')).toContain('Choose a new password')
  const preview = parsed(await authctl('mail preview password_changed --app shop --json'))
  expect(preview).toMatchObject({
    from: 'Shop',
    reply_to: 'help@shop.example.com',
    subject: 'Your password for Shop was changed',
  })
  const onScreen = (await here.terminal('mail preview password_changed --app shop --language en').ended()).screen
  expect(onScreen.replaceAll('\r', '')).toContain('Subject:  Your password for Shop was changed\n\nHello,\n\nThe password of')
  expect((await authctl('mail preview nothing --app shop')).exit).toBe(3)

  expect(parsed(await authctl('mail test --to me@example.com --app shop --language en --json'))).toMatchObject({
    outcome: 'sent',
  })
  expect(errorOf(await authctl('mail test --to nobody --app shop --json')).message).toContain('e-mail address')
})

test('mail list, audit list and audit show explain a missing mail, and mail resend sends it again', async () => {
  const here = await signedIn()
  const { authctl } = here
  await authctl('app create post --name Post')
  const email = 'eve@example.com'
  await addUser(here, { email, password: 'a fine password', namespace: 'default' })
  const ask = (to: string) =>
    callHttp(`${service.url}/api/v1/auth/password/forgot`, 'POST', { body: { email: to, app_code: 'post' } })
  const listed = async (options: string) => parsed(await authctl(`mail list ${options} --json`))
  const one = (options: string) => until(async () => (await listed(options))[0])

  mailbox.refuse.recipient = '451 come back later'
  await ask(email)
  const waiting = await until(async () => {
    const mail = await one(`--user ${email} --status pending`)
    return mail.attempts > 0 && mail
  })
  const table = (await authctl(`mail list --user ${email} -o table`)).stdout
  expect(table).toMatch(/reset_password +eve@example\.com +post +pending +waiting, 1 try/)
  expect(table).not.toMatch(/http|token/)
  expect(errorOf(await authctl(`mail resend ${waiting.id} --json`))).toMatchObject({ code: 'mail_pending', exit: 5 })

  mailbox.refuse.recipient = '550 no such mailbox'
  const failed = await one(`--user ${email} --status failed`)
  expect(failed).toMatchObject({ id: waiting.id, email, purpose: 'reset_password', app_code: 'post' })
  const [event] = parsed(await authctl(`audit list --event mail.requested --email ${email} --json`))
  const shown = await authctl(`audit show ${event.id} -o table`)
  expect(shown.stdout).toMatch(/mail +given up \S+ after 2 tries, last error: .*no such mailbox/i)
  expect(shown.stdout).toContain(`authctl mail resend ${failed.id}`)
  expect(parsed(await authctl(`audit show ${event.id} --json`)).mail).toMatchObject({ id: failed.id, status: 'failed' })

  const { findings } = parsed(await authctl('doctor --json'))
  expect(findings.find(({ check }: { check: string }) => check === 'mail')).toMatchObject({
    ...{ level: 'warn', message: expect.stringContaining('given up in 7 days: 1'), fix: 'authctl mail list --status failed' },
  })

  mailbox.refuse = {}
  expect((await authctl(`mail resend ${failed.id} --dry-run`)).stderr).toContain('nothing was changed')
  expect((await listed(`--user ${email} --status failed`)).length).toBe(1)
  expect(parsed(await authctl(`mail resend ${failed.id} --reason mended --json`))).toMatchObject({ outcome: 'queued', to: email })
  expect((await mailbox.take(email)).subject).toMatch(/password/i)
  await one(`--user ${email} --status delivered`)
  expect((await authctl(`audit show ${event.id} -o table`)).stdout).toMatch(/mail +sent 20/i)
  expect(errorOf(await authctl(`mail resend ${failed.id} --json`))).toMatchObject({ code: 'mail_not_kept', exit: 5 })

  await ask('nobody@example.com')
  const unknown = await until(async () => {
    const [found] = parsed(await authctl('audit list --event mail.requested --email nobody@example.com --json'))
    const { stdout } = await authctl(`audit show ${found.id} -o table`)
    return /mail +no mail/i.test(stdout) && stdout
  })
  expect(unknown).toMatch(/no mail: no user of the app has the address/)
  expect((await listed('--status unsent')).length).toBeGreaterThan(0)

  for (let count = 0; count < 4; count += 1) await ask('often@example.com')
  const events = parsed(await authctl('audit list --event mail.requested --email often@example.com --json'))
  const { id } = events.find(({ reason }: { reason: string | null }) => reason === 'limit_reached')
  expect((await authctl(`audit show ${id} -o table`)).stdout).toMatch(/no mail: the address had three of a kind in 15 minutes/)

  expect((await authctl('mail list --user no-one@example.com')).exit).toBe(3)
  expect((await authctl(`mail resend ${nobody}`)).exit).toBe(3)
  expect(errorOf(await authctl('mail resend 12 --json'))).toMatchObject({ code: 'invalid_mail', exit: 6 })
  expect((await authctl('mail list --status sent')).exit).toBe(2)
})

test('doctor fails while a mail waits for another try', async () => {
  const body = { ...admin, app_code: 'authctl' }
  const { access_token: token } = (await callHttp(`${service.url}/api/v1/auth/login`, 'POST', { body })).body as {
    access_token: string
  }
  const { url } = await standIn(async ({ method, path }, response) => {
    const { status, body } = await callHttp(`${service.url}${path}`, method, { token })
    const waiting = { kind: 'mail', pending: 3, oldest_pending_seconds: 412, oldest_due_seconds: 0 }
    reply(response, status, path.includes('/stats') ? { ...(body as object), outbox: [waiting] } : body)
  })
  const here = machine()
  const { stdout, exit } = await here.authctl('doctor --json', { env: { AUTHCTL_TOKEN: token, AUTHCTL_BASE_URL: url } })
  expect(exit).toBe(8)
  expect(JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === 'mail')).toMatchObject({
    ...{ level: 'fail', message: '3 mails to be sent, the oldest waiting for 412 s' },
    fix: expect.stringContaining('authctl mail list --status pending'),
  })
})
