// The service's own plain pages behind the links of mails, over HTTP. test/e2e/account-pages.test.ts opens them in a browser.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { rawCall } from '../support/raw-http.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type Reply } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const paths = [
  '/verify-email',
  '/disown-email',
  '/confirm-email',
  '/undo-email-change',
  '/delete-account',
  '/secure-account',
  '/reset-password',
  '/magic-link',
  '/accept-invitation',
]
const formType = 'application/x-www-form-urlencoded'
const NEW_PASSWORD = 'a new horse battery staple'
const CALLBACK = 'https://shop.example.com/signed-in'

const { service, mailbox } = mailingFixture({ AUTH_LOCKOUT_THRESHOLD: '3' }, { frozen: true })
const app = appFixture(service, {
  name: 'The Shop',
  auto_grant_on_signup: true,
  allowed_redirect_urls: [CALLBACK, 'https://shop.example.com/*', 'com.example.shop:/signed-in'],
})

const anAddress = () => `${randomUUID()}@example.com`
const show = (path: string, token: string, at = service) => rawCall(at.url, 'GET', `${path}?${new URLSearchParams({ token })}`)
const send = (path: string, fields: Record<string, string>, at = service) =>
  rawCall(at.url, 'POST', path, { headers: { 'content-type': formType }, chunks: [new URLSearchParams(fields).toString()] })

/** What a person reads on the page. The markup is decoded by other rules than those that wrote it. */
function read({ body }: Reply) {
  const plain = (markup: string) =>
    markup
      .replace(/<[^>]*>/g, '')
      .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/\s+/g, ' ')
      .trim()
  const all = (pattern: RegExp) => [...body.matchAll(pattern)].map(([, found]) => plain(found!))
  return {
    title: all(/<h1>(.*?)<\/h1>/g).join(),
    text: plain(body.replace(/<head>.*<\/head>/s, '')),
    alerts: all(/<p[^>]*role="alert"[^>]*>(.*?)<\/p>/g),
    fields: all(/<input[^>]* name="([^"]*)"/g),
    links: all(/<a [^>]*href="([^"]*)"/g),
    code: all(/<textarea class="code"[^>]*>([^<]*)</g).join(),
  }
}

/** Checks a whole page: the headers that every page must have, and no script, whatever its content. */
function expectPage(reply: Reply, status: number, title: string): void {
  expect({ status: reply.status, title: read(reply).title }).toEqual({ status, title })
  const headers = Object.fromEntries(reply.headers)
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-request-id': expect.any(String),
  })
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'( https:( [\w.:/-]+)?)?; frame-ancestors 'none'; base-uri 'none'$/,
  )
  for (const name of ['set-cookie', 'access-control-allow-origin', 'server', 'x-powered-by'])
    expect(headers[name]).toBeUndefined()
  expect(reply.body).toMatch(/^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport"/)
  expect(reply.body.match(/<h1>/g)).toHaveLength(1)
  expect(reply.body).not.toMatch(/<script|javascript:|\son\w+=|style="/i)
}

function expectDeadLink(reply: Reply): void {
  expectPage(reply, 400, 'This link does not work')
}

/** A user, and the mail that verifies the address. */
async function build(): Promise<{ user: Json; mail: Mail; access_token: string }> {
  const { user, access_token } = await buildUser(service, app)
  return { user, access_token, mail: await mailbox.take(user.email) }
}

async function ask(what: 'email/resend' | 'password/forgot' | 'magic-link', email: string, extra: Json = {}): Promise<Mail> {
  const reply = await service.call('POST', `/auth/${what}`, { body: { email, app_code: app.code, ...extra } })
  expect(reply.status).toBe(202)
  return mailbox.take(email)
}

const isVerified = async (user: Json) => (await service.admin('GET', `/admin/users/${user.id}`)).body.email_verified

describe('each page behind a mail link', () => {
  test.each(paths)('%s gives the same answer to every invalid token, to GET and to POST', async (path) => {
    const { mail } = await build()
    const bad = ['', 'garbage', 'gmt_garbage', 'gin_garbage', '\0', '"><script>', 'x'.repeat(5_000)]
    // A token for another page does not work here.
    const other = ['/verify-email', '/disown-email'].includes(path) ? (await ask('magic-link', mail.to)).token : mail.token
    const replies = await Promise.all(
      [...bad, other].flatMap((token) => [show(path, token), send(path, { token: token.replace('\0', '') })]),
    )
    const without = [await rawCall(service.url, 'GET', path), await rawCall(service.url, 'POST', path)]
    const twice = [await rawCall(service.url, 'GET', `${path}?token=${mail.token}&token=${mail.token}`)]
    twice.push(
      await rawCall(service.url, 'POST', path, {
        headers: { 'content-type': formType },
        chunks: [`token=${mail.token}&token=${mail.token}`],
      }),
    )
    for (const reply of [...replies, ...without, ...twice]) {
      expectDeadLink(reply)
      expect(reply.body).toBe(without[0]!.body)
    }
  })

  test.each(paths)('%s accepts GET, HEAD and POST, only at that exact path', async (path) => {
    const head = await rawCall(service.url, 'HEAD', path)
    expect([head.status, head.body, head.headers.get('content-type')]).toEqual([400, '', 'text/html; charset=utf-8'])
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const reply = await rawCall(service.url, method, path)
      expectError(reply, 'method_not_allowed')
      expect(reply.headers.get('allow')).toBe('GET, HEAD, POST')
    }
    for (const other of [`${path}/`, `/${path}`, path.toUpperCase(), `/api/v1${path}`, `${path}%00`, '/'])
      expectError(await rawCall(service.url, 'GET', other), 'not_found')
  })

  test.each(paths)('%s answers a body that no form sends with an error page', async (path) => {
    const ask = (chunks: (string | Uint8Array)[], type = formType) =>
      rawCall(service.url, 'POST', path, { headers: { 'content-type': type }, chunks })
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', `${formType}; charset=latin1`])
      expectPage(await ask(['{}'], type), 415, 'This form cannot be read')
    expectPage(await ask([`token=${'x'.repeat(64 * 1024)}`]), 413, 'This form cannot be read')
    for (const body of ['token=%ff', 'token=%ed%a0%80', 'token=%zz', 'token=%00', Buffer.from('token=\u00fc', 'latin1')])
      expectPage(await ask([body]), 400, 'This form cannot be read')
    expectDeadLink(await ask(['__proto__=1&constructor=2&prototype=3&token=x']))
    expectDeadLink(await ask(['']))
  })

  test('the page is the same for every Host header', async () => {
    const { mail } = await build()
    const reply = await rawCall(service.url, 'GET', `/verify-email?token=${mail.token}`, { headers: { host: 'evil.example' } })
    expect(reply.body).not.toContain('evil')
    expect(reply.body).toContain('<form method="post" action="verify-email">')
  })
})

describe('/verify-email', () => {
  test('opening the page verifies nothing, however often, and the button verifies the address once', async () => {
    const { user, mail } = await build()
    expect(mail.links[0]).toBe(`http://localhost:4000/verify-email?token=${mail.token}`)
    for (const method of ['GET', 'HEAD', 'GET']) await rawCall(service.url, method, `/verify-email?token=${mail.token}`)
    const shown = await show('/verify-email', mail.token)
    expectPage(shown, 200, 'Confirm your e-mail address')
    expect(read(shown)).toMatchObject({
      fields: ['token', 'email', 'password'],
      text: expect.stringContaining(`The Shop Confirm your e-mail address Is ${user.email}`),
    })
    for (const password of ['', 'a guess']) {
      const refused = await send('/verify-email', { token: mail.token, password })
      expectPage(refused, password === '' ? 400 : 401, 'Confirm your e-mail address')
    }
    expect(await isVerified(user)).toBe(false)
    const done = await send('/verify-email', { token: mail.token, password: PASSWORD })
    expectPage(done, 200, 'Your e-mail address is confirmed')
    expect([await isVerified(user), read(done).links]).toEqual([true, []])
    for (const reply of [await send('/verify-email', { token: mail.token }), await show('/verify-email', mail.token)])
      expectDeadLink(reply)
  })

  test('a reader who does not know the password gets a mail to set one, and the stranger’s tokens end', async () => {
    const { user, mail, access_token } = await build()
    expect(read(await show('/verify-email', mail.token)).text).toContain('I don’t know this password')
    const asked = await send('/verify-email', { token: mail.token, forgot: 'yes' })
    expectPage(asked, 200, 'Look into your mailbox')
    expect(await isVerified(user)).toBe(false)
    const { token } = await mailbox.take(user.email, /^Set a new password/)
    await send('/reset-password', { token, password: NEW_PASSWORD, password_again: NEW_PASSWORD })
    expect(await isVerified(user)).toBe(true)
    expectError(await service.call('GET', '/auth/me', { token: access_token }), 'token_revoked')
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
    expectDeadLink(await send('/verify-email', { token: mail.token, forgot: 'yes' }))
  })

  test('the page says how to pass a second factor that a stranger set up: a reset keeps it, a magic link removes it', async () => {
    const { user, mail, access_token } = await build()
    await enableTwoFactor(service, access_token)
    const { text } = read(await show('/verify-email', mail.token))
    expect(text).not.toContain('yours alone')
    expect(text).toContain('If a sign-in then asks for a code that you did not set up, use a sign-in link by e-mail instead')
    await send('/verify-email', { token: mail.token, forgot: 'yes' })
    const { token } = await mailbox.take(user.email, /^Set a new password/)
    await send('/reset-password', { token, password: NEW_PASSWORD, password_again: NEW_PASSWORD })
    expect((await service.login(user.email, app.code, { password: NEW_PASSWORD })).body).toEqual({ requires_2fa: true })
    await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: app.code } })
    const { token: magic } = await mailbox.take(user.email, /^Sign in to/)
    expect((await service.call('POST', '/auth/magic-link/consume', { body: { token: magic } })).status).toBe(200)
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body).toMatchObject({ two_factor: false })
  })

  test('the page asks for no password if the account has none', async () => {
    const email = anAddress()
    await service.admin('POST', '/admin/users/import', {
      body: JSON.stringify({ email }),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    const { token } = await ask('email/resend', email)
    expect(read(await show('/verify-email', token)).fields).toEqual(['token'])
    expectPage(await send('/verify-email', { token }), 200, 'Your e-mail address is confirmed')
    expectDeadLink(await send('/verify-email', { token }))
  })

  test('an expired link is dead, and so is one that a newer mail replaced', async () => {
    const { user, mail } = await build()
    const newer = await ask('email/resend', user.email)
    expectDeadLink(await show('/verify-email', mail.token))
    expectDeadLink(await send('/verify-email', { token: mail.token }))
    service.advance(24 * 3600)
    expectDeadLink(await show('/verify-email', newer.token))
    expectDeadLink(await send('/verify-email', { token: newer.token }))
    expect(await isVerified(user)).toBe(false)
  })

  test('the page leads on to the requested redirect URL while the app allows it, and to no other', async () => {
    const { user } = await build()
    const mail = await ask('email/resend', user.email, { redirect_url: CALLBACK })
    const { searchParams } = new URL(mail.links[0]!)
    expect(searchParams.get('redirect_url')).toBe(CALLBACK)
    const forged = await rawCall(service.url, 'GET', `/verify-email?token=${mail.token}&redirect_url=https://evil.example/`)
    expect(forged.body).not.toContain('evil')
    const done = await send('/verify-email', { token: mail.token, password: PASSWORD, redirect_url: 'https://evil.example/' })
    expect(read(done).links).toEqual([CALLBACK])
    expect(done.body).not.toContain('evil')

    const other = await build()
    const place = { redirect_url: 'https://shop.example.com/gone' }
    const { token } = await ask('email/resend', other.user.email, place)
    const set = (allowed_redirect_urls: string[]) =>
      service.admin('PATCH', `/admin/apps/${app.id}`, { body: { allowed_redirect_urls } })
    await set([])
    expect(read(await send('/verify-email', { token, password: PASSWORD })).links).toEqual([])
    await set(app.allowed_redirect_urls)
  })
})

describe('/reset-password', () => {
  test('the page sets the password and says so', async () => {
    const { user, access_token } = await build()
    const mail = await ask('password/forgot', user.email, { redirect_url: CALLBACK })
    const shown = await show('/reset-password', mail.token)
    expectPage(shown, 200, 'Choose a new password')
    expect(read(shown).fields).toEqual(['token', 'email', 'password', 'password_again'])
    const done = await send('/reset-password', { token: mail.token, password: NEW_PASSWORD, password_again: NEW_PASSWORD })
    expectPage(done, 200, 'Your new password is set')
    expect(read(done).links).toEqual([CALLBACK])
    expect((await service.login(user.email, app.code, { password: NEW_PASSWORD })).status).toBe(200)
    expect((await service.call('GET', '/auth/me', { token: access_token })).status).toBe(401)
    expectDeadLink(
      await send('/reset-password', {
        token: mail.token,
        password: 'yet another password',
        password_again: 'yet another password',
      }),
    )
    expect((await service.login(user.email, app.code, { password: NEW_PASSWORD })).status).toBe(200)
  })

  test('a refused password shows the form again with the reason and without the password, and the link stays valid', async () => {
    const { user } = await build()
    const { token } = await ask('password/forgot', user.email)
    const long = `${'\u00e9'.repeat(512)}x`
    const refused: [string, string, string][] = [
      ['', '', 'New password must have at least 8 characters'],
      ['s3cret!', 's3cret!', 'New password must have at least 8 characters'],
      [user.email, user.email, 'New password must not be the e-mail address'],
      [long, long, 'New password must have at most 1024 bytes'],
      ['first "secret"', 'another secret', 'New password again does not match the first one'],
    ]
    for (const [password, again, fault] of refused) {
      const reply = await send('/reset-password', { token, password, password_again: again })
      expectPage(reply, 400, 'Choose a new password')
      expect(read(reply).alerts).toEqual([fault])
      expect(reply.body).not.toMatch(/s3cret|secret"|another secret|&#233;/)
      expect(reply.body).toMatch(/aria-describedby="[^"]*password(_again)?-fault" aria-invalid="true" autofocus>/)
      expect(reply.body.match(/type="password"[^>]*value=/)).toBeNull()
    }
    expect((await service.login(user.email, app.code)).status).toBe(200)
    const umlaut = 'p\u00e4ssw\u00f6rd & +100 % = x'
    expectPage(
      await send('/reset-password', { token, password: umlaut, password_again: umlaut }),
      200,
      'Your new password is set',
    )
    expect((await service.login(user.email, app.code, { password: umlaut })).status).toBe(200)
  })
})

describe('/magic-link', () => {
  const consume = (token: string) => service.call('POST', '/auth/magic-link/consume', { body: { token } })

  test('the page passes the unused token to the requested redirect URL', async () => {
    const { user } = await build()
    const { token } = await ask('magic-link', user.email, { redirect_url: `${CALLBACK}?next=%2Fcart` })
    const shown = await show('/magic-link', token)
    expectPage(shown, 200, 'Sign in to The Shop')
    expect(shown.headers.get('content-security-policy')).toContain("form-action 'self' https:;")
    const handed = await send('/magic-link', { token, redirect_url: 'https://evil.example/' })
    expect([handed.status, handed.body]).toEqual([303, ''])
    expect(handed.headers.get('location')).toBe(`${CALLBACK}?next=%2Fcart&token=${token}`)
    expect(handed.headers.get('referrer-policy')).toBe('no-referrer')
    expect(handed.headers.get('cache-control')).toBe('no-store')
    expect(await countRows(service, 'sessions', { user_id: user.id })).toBe(1)
    expect((await consume(token)).status).toBe(200)
    expectDeadLink(await show('/magic-link', token))
    expectDeadLink(await send('/magic-link', { token }))
  })

  test('the token of the mail replaces any token that somebody put into the redirect URL', async () => {
    const { user } = await build()
    const redirect_url = `${CALLBACK}?token=of-somebody-else&a=1&token=again`
    const { token } = await ask('magic-link', user.email, { redirect_url })
    const location = new URL((await send('/magic-link', { token })).headers.get('location')!)
    expect(location.searchParams.getAll('token')).toEqual([token])
    expect(location.searchParams.get('a')).toBe('1')
  })

  test('the page also leads to a private URL scheme of an app on a phone', async () => {
    const { user } = await build()
    const { token } = await ask('magic-link', user.email, { redirect_url: 'com.example.shop:/signed-in' })
    expect((await show('/magic-link', token)).headers.get('content-security-policy')).toContain(
      "'self' https: com.example.shop:;",
    )
    expect((await send('/magic-link', { token })).headers.get('location')).toBe(`com.example.shop:/signed-in?token=${token}`)
  })

  test('the page without a redirect URL shows the code to use in the app, and how long it is valid', async () => {
    const { user } = await build()
    const { token } = await ask('magic-link', user.email)
    service.advance(61)
    const shown = await send('/magic-link', { token })
    expectPage(shown, 200, 'Your sign-in code')
    expect(read(shown)).toMatchObject({ code: token, text: expect.stringContaining('for 14 more minutes') })
    expect((await consume(token)).status).toBe(200)
  })

  test('an expired magic link is dead', async () => {
    const { user } = await build()
    const { token } = await ask('magic-link', user.email)
    service.advance(15 * 60)
    expectDeadLink(await show('/magic-link', token))
    expectDeadLink(await send('/magic-link', { token }))
  })
})

describe('/accept-invitation', () => {
  const found = async (name = `Company ${randomUUID()}`, at = service): Promise<Json> =>
    (await at.admin('POST', '/admin/organizations', { body: { name } })).body
  const invite = async (body: Json = {}, organization?: Json, at = service) => {
    const of = organization ?? (await found(undefined, at))
    const reply = await at.admin('POST', `/admin/organizations/${of.id}/invitations`, {
      body: { role_codes: ['org_member'], app_code: app.code, ...body },
    })
    expect(reply.status).toBe(201)
    return { token: reply.body.token as string, organization: of }
  }
  const accept = (token: string, fields: Record<string, string> = {}) =>
    send('/accept-invitation', { token, password: PASSWORD, ...fields })
  const organizationsOf = async (email: string): Promise<string[]> => {
    const { body } = await service.admin('GET', `/admin/users?email=${encodeURIComponent(email)}`)
    const user = await service.admin('GET', `/admin/users/${body.items[0].id}`)
    return user.body.organizations.map(({ id }: Json) => id)
  }

  test('a person without an account gets one for the exact address of the invitation, whatever the form says', async () => {
    const email = anAddress()
    const { token, organization } = await invite({ email })
    const shown = await show('/accept-invitation', token)
    expectPage(shown, 200, `You are invited to ${organization.name}`)
    expect(read(shown).fields).toEqual(['token', 'email', 'password', 'first_name', 'last_name'])
    expect(shown.body).toMatch(new RegExp(`value="${email}"[^>]* readonly`))
    const done = await accept(token, { email: anAddress(), first_name: ' Ada ', last_name: '' })
    expectPage(done, 200, `You are a member of ${organization.name}`)
    expect(read(done).text).toContain('Your account is ready. You can sign in to The Shop now.')
    const { user } = (await service.login(email, app.code)).body
    expect(user).toMatchObject({ email_verified: true, first_name: 'Ada', last_name: null })
    expect(await organizationsOf(email)).toEqual([organization.id])
    for (const reply of [await show('/accept-invitation', token), await accept(token)]) expectDeadLink(reply)
  })

  test('new and known users join through a confidential app, and nobody gets its tokens', async () => {
    const wiki = await buildApp(service, { name: 'Wiki', client: 'confidential' })
    const { user } = await build()
    for (const email of [anAddress(), user.email]) {
      const { token, organization } = await invite({ email, app_code: wiki.code })
      expectPage(await accept(token, { email }), 200, `You are a member of ${organization.name}`)
      expect(await organizationsOf(email)).toEqual([organization.id])
    }
    expect(await countRows(service, 'sessions', { app_id: wiki.id, ended_at: null })).toBe(0)
  })

  test('the page keeps no session: the one that it opened has ended', async () => {
    const { user } = await build()
    const before = await countRows(service, 'sessions', { user_id: user.id, ended_at: null })
    const { token } = await invite()
    expect((await accept(token, { email: user.email })).status).toBe(200)
    expect(await countRows(service, 'sessions', { user_id: user.id, ended_at: null })).toBe(before)
    expect(await countRows(service, 'sessions', { user_id: user.id })).toBe(before + 1)
  })

  test('the page asks a known user for the password, and a wrong one joins nobody and is not shown again', async () => {
    const { user } = await build()
    const { token, organization } = await invite()
    const refused = await accept(token, { email: user.email, password: 'not my "password"', first_name: '"><b>Ada' })
    expectPage(refused, 401, `You are invited to ${organization.name}`)
    expect(read(refused).alerts).toEqual([expect.stringMatching(/^Password is wrong: there is an account with this address/)])
    expect(refused.body).not.toContain('not my')
    expect(refused.body).toContain(`value="${user.email}"`)
    expect(refused.body).toContain('value="&#34;&#62;&#60;b&#62;Ada"')
    expect(await organizationsOf(user.email)).toEqual([])
    expectPage(await accept(token, { email: ` ${user.email.toUpperCase()} ` }), 200, `You are a member of ${organization.name}`)
    expect(await organizationsOf(user.email)).toEqual([organization.id])
  })

  test('the page asks for a second factor as a second step, and nothing skips it', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const { token, organization } = await invite({ email: user.email })
    const asked = await accept(token)
    expectPage(asked, 401, `You are invited to ${organization.name}`)
    expect(read(asked).fields).toEqual(['token', 'email', 'password', 'two_factor_code', 'first_name', 'last_name'])
    expect(asked.body).toMatch(/<input id="two_factor_code"[^>]* autocomplete="one-time-code"/)
    expect(asked.body).toMatch(/<input id="password"[^>]* autofocus>/)
    const wrong = authenticator.wrongCode()
    const refused = await accept(token, { two_factor_code: wrong })
    expect(refused.status).toBe(401)
    expect(read(refused).alerts).toContain('Two-factor code is wrong or was already used')
    expect(refused.body).not.toContain(wrong)
    expect(await organizationsOf(user.email)).toEqual([])
    expectPage(await accept(token, { two_factor_code: authenticator.code() }), 200, `You are a member of ${organization.name}`)
  })

  test('each invalid field is reported at its place, and nothing is written', async () => {
    const { token } = await invite()
    const faults = async (fields: Record<string, string>) => {
      const reply = await accept(token, fields)
      return [reply.status, ...read(reply).alerts]
    }
    const email = anAddress()
    expect(await faults({ email: 'nobody' })).toEqual([400, 'E-mail address must be an e-mail address'])
    expect(await faults({ email, password: 'short' })).toEqual([400, 'Password must have at least 8 characters'])
    expect(await faults({ email, password: 'x'.repeat(1_025) })).toEqual([400, 'Password must have at most 1024 bytes'])
    expect(await faults({ email, first_name: 'x'.repeat(201), last_name: 'y'.repeat(201) })).toEqual([
      400,
      'First name must have at most 200 characters',
      'Last name must have at most 200 characters',
    ])
    expect(await countRows(service, 'users', { email })).toBe(0)
    expect((await accept(token, { email })).status).toBe(200)
  })

  test('wrong passwords count as failed logins and lock the account, also for the right password', async () => {
    const { user } = await build()
    const { token } = await invite()
    for (let count = 0; count < 3; count += 1) await accept(token, { email: user.email, password: 'a wrong guess' })
    const locked = await accept(token, { email: user.email })
    expect([locked.status, locked.headers.get('retry-after')]).toEqual([423, '900'])
    expect(read(locked).alerts).toEqual(['This account is locked after too many failed attempts. Try again in 15 minutes.'])
    expectError(await service.login(user.email, app.code), 'account_locked')
  })

  test('wrong passwords count against the limit of the account', async () => {
    const limited = await buildService({ AUTH_RATE_LIMIT_ACCOUNT: '1/120' })
    const place = await buildApp(limited, { auto_grant_on_signup: true })
    const { user } = await buildUser(limited, place)
    const { token } = await invite({ app_code: place.code }, undefined, limited)
    const guess = () => send('/accept-invitation', { token, email: user.email, password: 'a wrong guess' }, limited)
    expect((await guess()).status).toBe(401)
    const refused = await guess()
    expect([refused.status, read(refused).alerts]).toEqual([429, ['Too many attempts. Try again in 2 minutes.']])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
  })

  test('an app that admits nobody this way, or no app, leaves a code to use elsewhere', async () => {
    const closed = await buildApp(service, { sign_up: 'closed' })
    const inactive = await buildApp(service, { status: 'inactive' })
    const other = await buildApp(service, { allowed_auth_methods: ['google'] })
    for (const app_code of [closed.code, inactive.code, other.code, null]) {
      const { token, organization } = await invite({ app_code })
      for (const reply of [await show('/accept-invitation', token), await accept(token, { email: anAddress() })]) {
        expectPage(reply, 200, `You are invited to ${organization.name}`)
        expect(read(reply)).toMatchObject({ code: token, fields: [] })
      }
      const { user, access_token } = await build()
      const joined = await service.call('POST', '/auth/invitations/accept', { token: access_token, body: { token } })
      expect([joined.status, await organizationsOf(user.email)]).toEqual([200, [organization.id]])
    }
  })

  test('the page reports a policy of the app, and does not admit an account without access', async () => {
    const choosy = await buildApp(service, { name: 'Choosy', allowed_email_domains: ['corp.example'] })
    const policy = await accept((await invite({ app_code: choosy.code })).token, { email: anAddress() })
    expect([policy.status, read(policy).alerts]).toEqual([403, ['Choosy does not accept addresses of this domain.']])

    // An invitation from an org_admin does not give access to the app.
    const manual = await buildApp(service, { name: 'Manual' })
    const admin = await build()
    const member = await build()
    const organization = await found()
    await service.admin('PUT', `/admin/organizations/${organization.id}/members/${admin.user.id}`, {
      body: { role_codes: ['org_admin'] },
    })
    await markVerified(service, admin.user.id)
    const { body } = await service.call('POST', `/organizations/${organization.id}/invitations`, {
      token: admin.access_token,
      body: { role_codes: ['org_member'], app_code: manual.code },
    })
    const denied = await accept(body.token, { email: member.user.email })
    expect([denied.status, read(denied).alerts]).toEqual([
      403,
      ['This account has no access to Manual. Ask the person who invited you to give it access.'],
    ])
    await service.admin('PATCH', `/admin/users/${member.user.id}`, { body: { status: 'suspended' } })
    const suspended = await accept(body.token, { email: member.user.email })
    expect([suspended.status, read(suspended).alerts]).toEqual([
      403,
      [expect.stringMatching(/^This account is suspended\. Ask the people who run .+ what you can do\.$/)],
    ])
    expect(await organizationsOf(member.user.email)).toEqual([])
    const pending = await accept(body.token, { email: anAddress() })
    expect(read(pending).text).toContain('Your account is ready. You do not have access to Manual yet')
  })

  test('an expired invitation is dead', async () => {
    const { token } = await invite({ expires_in_seconds: 60 })
    service.advance(60)
    for (const reply of [await show('/accept-invitation', token), await accept(token, { email: anAddress() })])
      expectDeadLink(reply)
  })

  test('an invitation without an app uses AUTH_DEFAULT_APP_CODE', async () => {
    const other = await buildService({ AUTH_DEFAULT_APP_CODE: 'front' })
    await other.admin('POST', '/admin/apps', { body: { code: 'front', name: 'Front', auto_grant_on_signup: true } })
    const { token } = await invite({ app_code: null }, undefined, other)
    const email = anAddress()
    expect(read(await show('/accept-invitation', token, other)).text).toContain('your account for Front')
    expect((await send('/accept-invitation', { token, email, password: PASSWORD }, other)).status).toBe(200)
    expect((await other.login(email, 'front')).status).toBe(200)
  })
})

describe('names that others chose', () => {
  const hostile = '</title></h1><script>alert(1)</script> "onload=x \u202Egnp.exe\u200B & \u05D0\u05D1'

  test('hostile names appear in the pages as text on one line, with nothing hidden in it', async () => {
    const place = await buildApp(service, { name: hostile, auto_grant_on_signup: true })
    const organization = (await service.admin('POST', '/admin/organizations', { body: { name: hostile } })).body
    const { user } = await buildUser(service, place)
    const { token } = await mailbox.take(user.email)
    const invitation = await service.admin('POST', `/admin/organizations/${organization.id}/invitations`, {
      body: { role_codes: ['org_member'], app_code: place.code },
    })
    const replies = [
      await show('/verify-email', token),
      await send('/verify-email', { token }),
      await show('/accept-invitation', invitation.body.token),
      await send('/accept-invitation', { token: invitation.body.token, email: '"><script>', password: '"><script>' }),
    ]
    for (const reply of replies) {
      expect(reply.body).not.toMatch(/<script|<\/h1><|\u202e|\u200b|8238|8203/i)
      expect(reply.body).toContain('<bdi>&#60;/title&#62;&#60;/h1&#62;')
      expect(reply.body.match(/<title>/g)).toHaveLength(1)
    }
  })

  test('an app name without visible characters is replaced by the code of the app', async () => {
    const place = await buildApp(service, { name: '\u200B\u202E', auto_grant_on_signup: true })
    const { user } = await buildUser(service, place)
    const { token } = await mailbox.take(user.email)
    expect((await show('/verify-email', token)).body).toContain(`<bdi>${place.code}</bdi>`)
  })
})

describe('limits of the pages', () => {
  test('a POST counts against AUTH_RATE_LIMIT_IP together with API calls, and a GET does not', async () => {
    const limited = await buildService({ AUTH_RATE_LIMIT_IP: '3/60' })
    for (let count = 0; count < 5; count += 1) expectDeadLink(await show('/verify-email', 'x', limited))
    for (const path of ['/verify-email', '/accept-invitation']) expectDeadLink(await send(path, { token: 'x' }, limited))
    expect((await limited.call('POST', '/auth/login', { body: {} })).status).toBe(400)
    expectError(await limited.call('POST', '/auth/login', { body: {} }), 'rate_limited')
    for (const path of paths) {
      const refused = await send(path, { token: 'x' }, limited)
      expectPage(refused, 429, 'Too many requests')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expectDeadLink(await show('/verify-email', 'x', limited))
  })

  test('the page says so when there is no database, and gives no reason', async () => {
    const broken = await buildService()
    await broken.deps.db.destroy()
    for (const reply of await Promise.all(
      paths.flatMap((path) => [show(path, 'x', broken), send(path, { token: 'x' }, broken)]),
    )) {
      expectPage(reply, 503, 'The service cannot do this right now')
      expect(reply.headers.get('retry-after')).toBe('2')
      expect(read(reply).text).toContain(reply.headers.get('x-request-id'))
      expect(read(reply).text).not.toMatch(/connection|select|sqlite|postgres/i)
    }
  })
})

test('the audit contains no password and no token of a link', async () => {
  await allSent(service)
  expect(JSON.stringify(await service.deps.db('audit_events').select('details'))).not.toMatch(/horse battery|gmt_|gin_/)
})

describe('an app that requires verified addresses', () => {
  const asking = appFixture(service, { name: 'The Vault', auto_grant_on_signup: true, require_verified_email: true })
  const buildAsked = async (): Promise<{ user: Json; mail: Mail }> => {
    const { user } = (await service.register(anAddress(), asking.code)).body
    return { user, mail: await mailbox.take(user.email) }
  }

  test('/verify-email asks for the password of the account, and a wrong one does not use up the link', async () => {
    const { user, mail } = await buildAsked()
    const shown = await show('/verify-email', mail.token)
    expect(read(shown)).toMatchObject({ fields: ['token', 'email', 'password'], text: expect.stringContaining('someone else') })
    const blank = await send('/verify-email', { token: mail.token })
    expectPage(blank, 400, 'Confirm your e-mail address')
    expect(read(blank).alerts).toEqual(['Password is required'])
    const wrong = await send('/verify-email', { token: mail.token, password: 'a guess' })
    expectPage(wrong, 401, 'Confirm your e-mail address')
    expect(read(wrong).alerts[0]).toMatch(/^Password is wrong/)
    expect(wrong.body).not.toContain('a guess')
    expectPage(await send('/verify-email', { token: mail.token, password: PASSWORD }), 200, 'Your e-mail address is confirmed')
    expect((await service.login(user.email, asking.code)).status).toBe(200)
  })

  test('/verify-email asks for a code too if a second factor is active', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const { token: link } = await mailbox.take(user.email)
    const phone = await enableTwoFactor(service, token)
    const challenged = await send('/verify-email', { token: link, password: PASSWORD })
    expectPage(challenged, 401, 'Confirm your e-mail address')
    expect(read(challenged).fields).toEqual(['token', 'email', 'password', 'two_factor_code'])
    const wrong = await send('/verify-email', { token: link, password: PASSWORD, two_factor_code: phone.wrongCode() })
    expect(read(wrong).alerts).toContain('Two-factor code is wrong or was already used')
    service.advance(30)
    const sent = { token: link, password: PASSWORD, two_factor_code: phone.code() }
    expectPage(await send('/verify-email', sent), 200, 'Your e-mail address is confirmed')
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body).toMatchObject({ email_verified: true, two_factor: true })
  })

  test('/disown-email deletes the account that a stranger registered', async () => {
    const { user, mail } = await buildAsked()
    expect(mail.links[1]).toBe(`http://localhost:4000/disown-email?token=${mail.token}`)
    expect(read(await show('/disown-email', mail.token))).toMatchObject({
      ...{ title: 'Was this not you?', fields: ['token'], text: expect.stringContaining(user.email) },
    })
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.status).toBe('active')
    expectPage(await send('/disown-email', { token: mail.token }), 200, 'Thank you')
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.status).toBe('deleted')
    expectDeadLink(await send('/disown-email', { token: mail.token }))
  })
})
