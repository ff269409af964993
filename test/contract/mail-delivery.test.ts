// What a mail server may do to us, against real SMTP.
import { execSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createMailer } from '../../packages/server/src/adapters/mailer.ts'
import { mailingFixture } from '../support/fixtures.ts'
import {
  allSent,
  buildMailingService,
  type Mail,
  type Mailbox,
  readMail,
  sendNow,
  startMailbox,
  startSending,
  until,
} from '../support/mailbox.ts'
import { auditEvents } from '../support/rows.ts'
import { selfSigned } from '../support/self-signed.ts'
import { buildApp, buildService, buildUser, type Json, type TestService } from '../support/service.ts'

const { service, mailbox } = mailingFixture()
beforeEach(() => {
  mailbox.refuse = {}
})

/** The entry of a user's mail in the outbox. */
const entryOf = async (service: TestService, user: Json): Promise<Json> =>
  service.deps.db('outbox').where({ user_id: user.id }).first()
const attempted = (service: TestService, user: Json, attempts: number): Promise<Json> =>
  until(async () => {
    const entry = await entryOf(service, user)
    return entry.attempts === attempts ? entry : undefined
  }, `attempt ${attempts}`)
const failuresOf = (user: Json) => auditEvents(service, { event: 'mail.failed', user_id: user.id })

/** Advances the clock, and sends what is due by then. */
function letPass(service: TestService, seconds: number): void {
  service.advance(seconds)
  sendNow(service)
}

async function registerOne(service: TestService): Promise<Json> {
  return (await buildUser(service, await buildApp(service))).user
}

describe('the content of a mail', () => {
  const names = [
    ['a name with markup', '<img src=x onerror=alert(1)>"\'&', '<img src=x onerror=alert(1)>"\'&'],
    ['a name with headers', 'Shop\r\nBcc: victim@example.com\r\n\r\n<h1>', 'Shop Bcc: victim@ example. com <h1>'],
    ['a name with a link', 'Prize at https://evil.example/x', 'Prize at https: //evil. example/x'],
    ['a name with accents', 'Zoës Lädchen', 'Zoës Lädchen'],
    ['a name in another script', '商店', '商店'],
    ['an invisible name', '\u200B\u202E', undefined],
  ] as const

  test.each(names)('a mail shows %s only as text in subject, sender, text and HTML', async (_, name, shown) => {
    const app = await buildApp(service, { name })
    const { user } = await buildUser(service, app, { first_name: 'http://evil.example', last_name: 'Visit www.evil.example' })
    const mail = await mailbox.take(user.email)
    const place = shown ?? app.code
    expect(mail.subject).toBe(`Confirm your e-mail address for ${place}`)
    expect(mail.text.replaceAll('\n', ' ')).toContain(`gave this e-mail address to ${place}.`)
    expect(mail.links).toHaveLength(2)
    expect([...mail.headers.keys()].filter((key) => key === 'bcc')).toEqual([])
    const tags = new Set(mail.html.match(/<(\w+)/g)!.map((tag) => tag.slice(1)))
    expect([...tags].sort()).toEqual(['a', 'body', 'br', 'head', 'html', 'meta', 'style', 'table', 'td', 'title', 'tr'])
    expect(mail.html.match(/<a /g)).toHaveLength(3)
    expect(mail.raw.split('\r\n\r\n')[0]).toMatch(/^[\x20-\x7e\r\n]*$/)
    expect(mail.fromName).toBe(place)
    // The mail leaves out the names that the user chose.
    expect(mail.raw).not.toMatch(/evil\.example\b(?!.com)|www\./)
  })

  test('a mail is marked as automatic, sent by MAIL_FROM, dated by the clock, and has a 7bit text part', async () => {
    const { service, mailbox } = await buildMailingService({ MAIL_FROM: 'Zoë’s “Shop” <no-reply@shop.example.com>' })
    service.advance(86_400)
    const user = await registerOne(service)
    const mail = await mailbox.take(user.email)
    const { id } = await entryOf(service, user)
    expect(Object.fromEntries(mail.headers)).toMatchObject({
      'auto-submitted': 'auto-generated',
      'message-id': `<${id}@shop.example.com>`,
      to: user.email,
      'mime-version': '1.0',
    })
    expect(mail.from).toBe('no-reply@shop.example.com')
    const lateMs = service.deps.clock() - Date.parse(mail.headers.get('date')!)
    expect(lateMs).toBeGreaterThanOrEqual(0)
    expect(lateMs).toBeLessThan(60_000)
    expect(mail.raw).toContain('Content-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n')
    // The link is also on one line as sent, not only once decoded.
    expect(mail.raw.split('\r\n')).toContain(mail.links[0])
  })

  test('a link of any length stays on one line, and the HTML part has the same link', async () => {
    const app = await buildApp(service, { allowed_redirect_urls: ['https://shop.example.com/*'] })
    const { user } = await buildUser(service, app)
    await mailbox.take(user.email)
    const redirect_url = `https://shop.example.com/?q=${'ü&"<'.repeat(400)}`
    const body = { email: user.email, app_code: app.code, redirect_url }
    await service.call('POST', '/auth/password/forgot', { body })
    const mail = await mailbox.take(user.email)
    expect(mail.links[0]!.length).toBeGreaterThan(2_000)
    expect(new URL(mail.links[0]!).searchParams.get('redirect_url')).toBe(redirect_url)
    expect(mail.raw.split('\r\n')).toContain(mail.links[0])
    expect(mail.html).toContain(`<a href="${mail.links[0]!.replaceAll('&', '&#38;')}"`)
  })

  test('a link to a frontend_url with non-ASCII letters uses its ASCII form', async () => {
    const app = await buildApp(service, { frontend_url: 'https://bücher.example/Käufer' })
    const { user } = await buildUser(service, app)
    expect((await mailbox.take(user.email)).links[0]).toMatch(
      /^https:\/\/xn--bcher-kva\.example\/K%C3%A4ufer\/verify-email\?token=/,
    )
  })
})

describe('failures of a mail server', () => {
  test('a reply of 451 is retried after 2 seconds with the same message id and a new token', async () => {
    mailbox.refuse.message = '451 greylisted, come back'
    const user = await registerOne(service)
    const failed = await attempted(service, user, 1)
    expect(failed).toMatchObject({ status: 'pending', last_status: 451, last_error: expect.stringContaining('greylisted') })
    const [first] = await service.deps.db('mail_tokens').where({ user_id: user.id })
    mailbox.refuse = {}
    letPass(service, 3)
    const mail = await mailbox.take(user.email)
    expect(mail.headers.get('message-id')).toBe(`<${failed.id}@localhost>`)
    const tokens = await service.deps.db('mail_tokens').where({ user_id: user.id })
    expect([tokens.length, tokens[0].token_hash === first.token_hash]).toEqual([1, false])
    expect(await attempted(service, user, 2)).toMatchObject({ status: 'delivered', payload: '{}', last_error: null })
    expect(await failuresOf(user)).toEqual([])
  })

  test.each([
    ['the recipient', { recipient: '550 no such user here' }, 550],
    ['the message', { message: '554 looks like spam' }, 554],
  ])('a permanent refusal of %s is not retried, and is audited', async (_, refuse, status) => {
    mailbox.refuse = refuse
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    expect(await attempted(service, user, 1)).toMatchObject({ status: 'failed', last_status: status, destination: user.email })
    const [event, ...others] = await failuresOf(user)
    expect(others).toEqual([])
    expect(event).toMatchObject({ user_id: user.id, app_id: app.id, actor_type: 'system', reason: 'refused' })
    expect(event.details).toMatchObject({ purpose: 'verify_email', email: user.email, attempts: 1, status })
    expect(JSON.stringify(event.details)).not.toMatch(/token|gmt_/)
    // A mail that was refused does not count as one of the three.
    mailbox.refuse = {}
    const body = { email: user.email, app_code: app.code }
    for (let count = 0; count < 3; count += 1) await service.call('POST', '/auth/email/resend', { body })
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(3)
  })

  test('an address that the mail server repeats does not reach the log', async () => {
    const app = await buildApp(service)
    const email = `Some.One+${app.code}@example.com`
    mailbox.refuse.recipient = `550 <${email.toLowerCase()}>: unknown, ${email} is no one`
    const { user } = (await service.register(email, app.code)).body
    const { last_error: error } = await attempted(service, user, 1)
    expect(error).toContain('<[address]>: unknown, [address] is no one')
  })

  test('a mail is retried until the mail server is back', async () => {
    await mailbox.close()
    const user = await registerOne(service)
    expect(await attempted(service, user, 1)).toMatchObject({ status: 'pending', last_status: null })
    letPass(service, 3)
    await attempted(service, user, 2)
    await mailbox.open()
    letPass(service, 11)
    await mailbox.take(user.email)
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(1)
  })

  test('a mail is given up after seven attempts in an hour and a half, and the audit records it', async () => {
    await mailbox.close()
    onTestFinished(() => mailbox.open())
    const user = await registerOne(service)
    const waits = [2, 10, 60, 300, 900, 3_600]
    for (const [index, seconds] of waits.entries()) {
      const entry = await attempted(service, user, index + 1)
      expect(entry.status).toBe('pending')
      letPass(service, seconds + 1)
    }
    expect(await attempted(service, user, 7)).toMatchObject({ status: 'failed', destination: user.email })
    expect(await failuresOf(user)).toMatchObject([
      { user_id: user.id, reason: 'not_delivered', details: { attempts: 7, status: null } },
    ])
  })

  test('a mail is retried if the mail server refuses the login, because the settings may be corrected', async () => {
    const options = {
      disabledCommands: ['STARTTLS'],
      onAuth: (_: unknown, __: unknown, answer: (error: Error) => void) => answer(new Error('no')),
    }
    const mailbox = await startMailbox({ ...options, allowInsecureAuth: true })
    const service = await buildService({ SMTP_URL: mailbox.url.replace('//', '//user:wrong@') })
    startSending(service)
    const user = await registerOne(service)
    expect(await attempted(service, user, 1)).toMatchObject({ status: 'pending', last_status: 535 })
  })

  test('TLS is used if offered, before the login, and a server with an unknown certificate gets nothing', async () => {
    const logins: string[] = []
    const mailbox = await startMailbox({
      ...selfSigned,
      disabledCommands: [],
      onAuth({ username, password }, _, answer) {
        logins.push(`${username}:${password}`)
        answer(null, { user: username })
      },
      onMailFrom(_, session, answer) {
        answer(session.secure && session.user ? null : Object.assign(new Error('TLS and login first'), { responseCode: 530 }))
      },
    })
    const url = mailbox.url.replace('//', '//user:pass%20word@')
    const trusting = await buildService({ SMTP_URL: `${url}?tls.rejectUnauthorized=false` })
    startSending(trusting)
    await mailbox.take((await registerOne(trusting)).email)
    expect(logins).toEqual(['user:pass word'])

    const strict = await buildService({ SMTP_URL: url })
    startSending(strict)
    const user = await registerOne(strict)
    expect(await attempted(strict, user, 1)).toMatchObject({ status: 'pending' })
    expect(mailbox.mailsTo(user.email)).toEqual([])
    expect(logins).toHaveLength(1)
  })

  /** A server that sends these lines, repeats the last of several forever, and reacts to nothing. */
  async function startSilentServer(lines: readonly string[]): Promise<string> {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      let said = 0
      const say = () => {
        const line = lines[Math.min(said, lines.length - 1)]
        said += 1
        if (line !== undefined) socket.write(line)
      }
      say()
      const timer = setInterval(() => said > 0 && lines.length > 1 && say(), 20)
      socket.on('close', () => clearInterval(timer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const patient = { connectMs: 20_000, greetingMs: 20_000, silenceMs: 20_000, sendMs: 20_000 }
  test.each([
    ['says nothing', [], { ...patient, greetingMs: 100 }, 'Greeting never received'],
    ['stops after its greeting', ['220 hello\r\n'], { ...patient, silenceMs: 100 }, 'Timeout'],
    [
      'drips its replies for ever',
      ['220 hello\r\n', '250-and\r\n'],
      { ...patient, sendMs: 200 },
      'the mail server took too long',
    ],
  ])('a mail server that %s times out, delays no other mail, and is retried', async (_, lines, patience, error) => {
    const smtpUrl = await startSilentServer(lines)
    const service = await buildService()
    const { mailFrom, mailDir } = service.deps.config
    service.deps.mailer.close()
    service.deps.mailer = createMailer({ smtpUrl, mailFrom, mailDir }, patience)
    startSending(service)
    const app = await buildApp(service)
    const users = await Promise.all(Array.from({ length: 8 }, () => buildUser(service, app)))
    expect((await service.login(users[0].user.email, app.code)).status).toBe(403)
    for (const { user } of users)
      expect(await attempted(service, user, 1)).toMatchObject({ status: 'pending', last_status: null, last_error: error })
  })
})

describe('mails without a mail server', () => {
  test('each mail is a file that only its owner can read, and the files sort by time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mail-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const mailDir = join(folder, 'deep', 'mail')
    const service = await buildService({ AUTH_MAIL_DIR: mailDir })
    startSending(service)
    const app = await buildApp(service)
    const users: Json[] = []
    for (let count = 0; count < 3; count += 1) {
      users.push((await buildUser(service, app)).user)
      await allSent(service)
    }
    const files = readdirSync(mailDir).sort()
    // The command from docs/operate/mail.md.
    const links = execSync("grep -h '^http' *.eml", { cwd: mailDir, encoding: 'utf8' })
    expect(links.split('\n').filter((line) => line.includes('/verify-email?token=gmt_'))).toHaveLength(3)
    expect(files).toHaveLength(3)
    expect(files.every((name) => /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[\da-f-]{36}\.eml$/.test(name))).toBe(true)
    const mails: Mail[] = await Promise.all(files.map((name) => readMail('', readFileSync(join(mailDir, name)))))
    expect(mails.map(({ headers }) => headers.get('to'))).toEqual(users.map(({ email }) => email))
    expect((await service.call('POST', '/auth/email/verify', { body: { token: mails[0]!.token } })).status).toBe(200)
    expect([statSync(join(mailDir, files[0]!)).mode & 0o777, statSync(mailDir).mode & 0o777]).toEqual([0o600, 0o700])
  })

  test('a folder that cannot be written is retried', async () => {
    const service = await buildService({ AUTH_MAIL_DIR: '/dev/null/mail' })
    startSending(service)
    expect(await attempted(service, await registerOne(service), 1)).toMatchObject({
      status: 'pending',
      last_error: expect.stringContaining('ENOTDIR'),
    })
  })
})

test('mails to different addresses are sent in parallel, and those to one address one after the other', async () => {
  let open = 0
  const most = new Map<string, number>()
  const underway = new Map<string, number>()
  let mostOpen = 0
  const mailbox: Mailbox = await startMailbox({
    onRcptTo({ address }, _, answer) {
      open += 1
      underway.set(address, (underway.get(address) ?? 0) + 1)
      mostOpen = Math.max(mostOpen, open)
      most.set(address, Math.max(most.get(address) ?? 0, underway.get(address)!))
      setTimeout(() => {
        open -= 1
        underway.set(address, underway.get(address)! - 1)
        answer()
      }, 30)
    },
  })
  const service = await buildService({ SMTP_URL: mailbox.url })
  const app = await buildApp(service)
  const users = await Promise.all(Array.from({ length: 6 }, () => buildUser(service, app)))
  for (const path of ['/auth/password/forgot', '/auth/magic-link'])
    for (const { user } of users) await service.call('POST', path, { body: { email: user.email, app_code: app.code } })
  startSending(service)
  await allSent(service)
  expect(mailbox.mails).toHaveLength(18)
  expect(new Set(most.values())).toEqual(new Set([1]))
  expect(mostOpen).toBeGreaterThan(1)
  expect(mostOpen).toBeLessThanOrEqual(5)
})
