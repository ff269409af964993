// The sign-in page on two servers with one database: whatever two of them do at once, a code opens one session at most.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce, chance } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { type Mailbox, startMailbox } from '../support/mail-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { mailsOf } from '../support/outbox.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, someEmail, testDatabase } from '../support/service.ts'
import { type AskedFor, askFor, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { totpAt } from '../support/totp.ts'

const publicUrl = 'https://login.example.com'
const settings = {
  DB_POOL_MAX: '5',
  AUTH_RATE_LIMIT_ACCOUNT: 'off',
  AUTH_LOCKOUT_THRESHOLD: '1000',
  PUBLIC_URL: publicUrl,
  ...bootstrapAdmin,
}

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  let servers: [ServerInstance, ServerInstance]
  let db: ReturnType<typeof createKnex>
  let app: Json
  let mailbox: Mailbox

  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    afterAll(() => database.drop())
    db = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
    onFileEnd(() => db.destroy())
    mailbox = await startMailbox({}, onFileEnd)
    const start = () => startInstance({ ...settings, SMTP_URL: mailbox.url, DATABASE_URL: database.url }, onFileEnd)
    servers = await Promise.all([start(), start()])
    const token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/cb'] }
    app = (await servers[0].call('POST', '/admin/apps', { body, token })).body
  })

  async function signIn(): Promise<{ visitor: Visitor; user: Json }> {
    const email = someEmail()
    const body = { email, password: PASSWORD, app_code: app.code }
    const { user } = (await servers[0].call('POST', '/auth/register', { body })).body
    const visitor = visit(servers[0])
    await signInOnPage(visitor, askFor(app), email)
    return { visitor, user }
  }

  async function register(): Promise<{ email: string; token: string }> {
    const email = someEmail()
    const body = { email, password: PASSWORD, app_code: app.code }
    const { access_token: token, user } = (await servers[0].call('POST', '/auth/register', { body })).body
    const now = Date.now()
    const proven = { email_verified_at: now, first_verified_at: now, mailbox_proven_at: now }
    await db('users').where({ id: user.id }).update(proven)
    return { email, token }
  }

  /** Returns the recovery codes. */
  async function activateTwoFactor(token: string): Promise<string[]> {
    const { secret } = (await servers[0].call('POST', '/auth/2fa/setup', { token })).body
    const body = { code: totpAt(secret, Date.now()) }
    return (await servers[0].call('POST', '/auth/2fa/activate', { token, body })).body.recovery_codes
  }

  const sendForm = (index: number, { cookies }: Visitor, action: string, values: Record<string, string>): Promise<Response> =>
    fetch(`${servers[index % 2]!.url}${action}`, {
      method: 'POST',
      body: new URLSearchParams(values),
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; '), 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    })

  const exchangeAt = async (index: number, asked: AskedFor, code: string): Promise<{ status: number; body: Json }> => {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: app.code,
      redirect_uri: asked.redirectUri,
      code_verifier: asked.verifier,
      code,
    })
    const reply = await fetch(`${servers[index % 2]!.url}/oauth/token`, { method: 'POST', body })
    return { status: reply.status, body: (await reply.json()) as Json }
  }
  const liveSessionsOf = async (user: Json): Promise<Json[]> =>
    db('sessions').where({ user_id: user.id }).whereNotNull('browser_session_id').whereNull('ended_at')

  test('concurrent exchanges of one code open at most one session, and the reuse ends it', async () => {
    const { visitor, user } = await signIn()
    const { soon } = chance(46)
    for (let repeat = 0; repeat < 8; repeat += 1) {
      const asked = askFor(app)
      const { app: at } = await visitor.get(asked.path)
      const code = at?.searchParams.get('code') ?? ''
      const replies = await atOnce(8, (index) => soon(repeat * 3, () => exchangeAt(index, asked, code)))
      expect(replies.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
      expect(replies.filter(({ status }) => status >= 500)).toEqual([])
      expect(await liveSessionsOf(user)).toEqual([])
      for (const { body } of replies)
        if (body.access_token !== undefined)
          expect((await servers[1].call('GET', '/auth/me', { token: body.access_token })).status).toBe(401)
    }
  })

  test('an exchange opens nothing if a second factor is activated in the middle of it', async () => {
    const { visitor, user } = await signIn()
    const asked = askFor(app)
    const { app: at } = await visitor.get(asked.path)
    const code = at?.searchParams.get('code') ?? ''
    await db('second_factors').insert({ user_id: user.id, totp_box: 'sealed', activated_at: null, created_at: Date.now() })
    let exchanged: ReturnType<typeof exchangeAt> | undefined
    await db.transaction(async (held) => {
      // The exchange has read the user, and waits for the browser session.
      await held.raw('lock table browser_sessions in access exclusive mode')
      exchanged = exchangeAt(0, asked, code)
      await expect.poll(async () => (await db('pg_locks').where({ granted: false })).length).toBeGreaterThan(0)
      await db('second_factors').where({ user_id: user.id }).update({ activated_at: Date.now() })
    })
    const { status, body } = await exchanged!
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
    expect(await liveSessionsOf(user)).toEqual([])
  })

  test('a reuse during the first exchange waits for it, and ends its session', async () => {
    const { visitor, user } = await signIn()
    const asked = askFor(app)
    const { app: at } = await visitor.get(asked.path)
    const code = at?.searchParams.get('code') ?? ''
    const waiting = async () => {
      const [row] = await db('pg_stat_activity')
        // The servers write on their own too, and may wait for a table, or behind another for the same row.
        .where({ wait_event_type: 'Lock', wait_event: 'transactionid', datname: db.raw('current_database()') })
        .count({ n: '*' })
      return Number(row!.n)
    }
    await mailsOf(db, user.id)
    // The first exchange has spent its code, and waits for the row of the user.
    const [first, second] = await db.transaction(async (held) => {
      await held('users').where({ id: user.id }).forUpdate().first('id')
      const first = exchangeAt(0, asked, code)
      await expect.poll(waiting).toBe(1)
      const second = exchangeAt(1, asked, code)
      await expect.poll(waiting).toBe(2)
      return [[first], [second]] as const
    })
    expect((await first[0]).status).toBe(200)
    expect((await second[0]).body.error).toBe('invalid_grant')
    expect(await liveSessionsOf(user)).toEqual([])
  })

  test('a page of one server works at the other, even if its form is sent eight times at once', async () => {
    const { visitor, user } = await signIn()
    const asked = askFor(app, { prompt: 'login' })
    const page = await visitor.get(asked.path)
    const values = { ...page.forms[0]!.values, email: user.email, password: PASSWORD }
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ')
    const replies = await atOnce(8, (index) =>
      fetch(`${servers[index % 2]!.url}/oauth/authorize`, {
        method: 'POST',
        body: new URLSearchParams(values),
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
        redirect: 'manual',
      }),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(303))
    const live = await db('browser_sessions').where({ user_id: user.id }).whereNull('ended_at')
    expect(live.length).toBeGreaterThan(0)
    expect(live.length).toBeLessThanOrEqual(8)
  })

  test('one of eight concurrent second steps with one ticket signs in', async () => {
    const { email, token } = await register()
    const recoveryCodes = await activateTwoFactor(token)
    const visitor = visit(servers[0])
    const page = await signInOnPage(visitor, askFor(app), email)
    expect(page.title).toBe('Enter your code')
    const { action, values } = page.forms[0]!
    // Each code is good, so that the ticket alone decides.
    const replies = await atOnce(8, (index) =>
      sendForm(index, visitor, action, { ...values, two_factor_code: recoveryCodes[index]! }),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(303))
    expect(
      replies.filter(({ headers }) => headers.getSetCookie().some((line) => line.includes('gatehouse_session='))),
    ).toHaveLength(1)
    const rows = await db('browser_sessions as b').join('users as u', 'u.id', 'b.user_id').where({ 'u.email': email })
    expect(rows).toHaveLength(1)
  })

  /** A browser that has asked for a mail, the code in it, and a way to send a code to either server. */
  async function askForCode() {
    const { email } = await register()
    const visitor = visit(servers[0])
    const asking = await visitor.send(await visitor.get(askFor(app).path), 'E-mail me a code')
    const page = await visitor.send(asking, 'Send the code', { email })
    const { text } = await mailbox.take(email, /^Sign in to/)
    const code = /: (\d{6})$/m.exec(text)?.[1] ?? ''
    const { action, values } = page.forms[0]!
    const guess = (index: number, typed: string) => sendForm(index, visitor, action, { ...values, code: typed })
    const wrong = (index: number) => String((Number(code) + 1 + index) % 1_000_000).padStart(6, '0')
    const browserSessions = () => db('browser_sessions as b').join('users as u', 'u.id', 'b.user_id').where({ 'u.email': email })
    const counter = () =>
      db('lockouts').where('key', 'like', 'mail-code%').orderBy('last_failed_at', 'desc').first('key', 'failures')
    return { code, guess, wrong, browserSessions, counter }
  }

  test('five of the concurrent wrong codes of a mail are counted, and then the right code fails too', async () => {
    const { code, guess, wrong, browserSessions, counter } = await askForCode()
    await atOnce(12, (index) => guess(index, wrong(index)))
    expect((await counter()).failures).toBe(5)
    await atOnce(4, (index) => guess(index, code))
    expect(await browserSessions()).toEqual([])
  })

  test('the right code of a mail waits for wrong ones that are being counted, and is refused after the fifth', async () => {
    const { code, guess, wrong, browserSessions, counter } = await askForCode()
    for (let index = 0; index < 4; index += 1) await guess(index, wrong(index))
    const { key } = await counter()
    const waiting = async () => {
      const { rows } = await db.raw(
        "select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
      return Number(rows[0].n)
    }
    const sent: Promise<Response>[] = []
    await db.transaction(async (held) => {
      await held('lockouts').where({ key }).forUpdate().first('key')
      sent.push(guess(0, wrong(4)))
      await expect.poll(waiting, { interval: 10 }).toBe(1)
      sent.push(guess(1, code))
      await expect.poll(waiting, { interval: 10 }).toBe(2)
    })
    await Promise.all(sent)
    expect((await counter()).failures).toBe(5)
    expect(await browserSessions()).toEqual([])
  })

  test('a sign-out on one server ends a session that the other is about to open', async () => {
    for (let repeat = 0; repeat < 6; repeat += 1) {
      const { visitor, user } = await signIn()
      const asked = askFor(app)
      const { app: at } = await visitor.get(asked.path)
      const page = await visitor.get('/oauth/logout')
      const code = at?.searchParams.get('code') ?? ''
      await Promise.all([visitor.send(page, 'Sign out'), exchangeAt(1, asked, code)])
      expect(await liveSessionsOf(user)).toEqual([])
    }
  })
})
