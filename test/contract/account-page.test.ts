// The account page, as a browser without scripts sees it. It stands on the browser session alone: no app, no token.
import { describe, expect, test } from 'vitest'
import { sealField } from '../../packages/server/src/flows/sign-in/sealed-fields.ts'
import { type AccountSection, accountSections } from '../../packages/server/src/lib/account-sections.ts'
import { addMember, buildInvitation, buildOrganization, closeAccount } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { type Arrival, askFor, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor, totpAt } from '../support/totp.ts'

const origin = 'https://login.example.com'
const { service, mailbox } = mailingFixture({ PUBLIC_URL: origin }, { frozen: true })
const shop = appFixture(service, {
  name: 'The Shop',
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example/callback', 'https://shop.example/deep/*'],
  trust_device_days: 7,
})
const vault = appFixture(service, { name: 'The Vault', allowed_redirect_urls: ['https://vault.example/cb'] })
const tenMinutes = 10 * 60

interface Owner {
  user: Json
  access_token: string
  visitor: Visitor
}

/** Somebody who has just signed in in a browser. */
async function owner(app = shop): Promise<Owner> {
  const { user, access_token } = await buildUser(service, app)
  await markVerified(service, user.id)
  const visitor = visit(service)
  await signInOnPage(visitor, askFor(app), user.email)
  return { user, access_token, visitor }
}

const open = (visitor: Visitor, section = '', query: Record<string, string> = {}) =>
  visitor.get(`/account${section && `/${section}`}?${new URLSearchParams({ app: shop.code, ...query })}`)
const sessionOf = ({ cookies }: Visitor) => cookies.get('__Host-gatehouse_session')
const isFresh = (page: Arrival) => !page.html.includes('Confirm that it is you')
const formOf = (page: Arrival, step: string) => page.forms.find(({ values }) => values.step === step)
const rowOf = (id: string): Promise<Json> => service.deps.db('users').where({ id }).first()
const sections = [
  'profile',
  'email',
  'password',
  'two-factor',
  'passkeys',
  'sessions',
  'identities',
  'organizations',
  'apps',
  'delete',
]

describe('access to the account page', () => {
  test('the page asks a visitor who is not signed in to sign in, and returns to the section', async () => {
    const { user } = await owner()
    for (const section of ['', ...sections]) {
      const visitor = visit(service)
      const first = await open(visitor, section)
      expect(first.title).toBe('Sign in')
      const page = await visitor.send(first, 'Sign in', { email: user.email, password: PASSWORD })
      expect([page.status, new URL(page.url).pathname]).toEqual([200, `/account${section && `/${section}`}`])
      expect(page.html).toContain(`You are signed in as <bdi>${user.email}</bdi>`)
    }
  })

  test('the page shows no app to a stranger who names none, and no inactive app', async () => {
    for (const path of ['/account', '/account/password', '/account?app=no-such-app']) {
      const page = await visit(service).get(path)
      expect([page.status, page.title]).toEqual([400, 'Open this page from one of your apps'])
    }
    const closed = await buildApp(service, { status: 'inactive' })
    expect((await visit(service).get(`/account?app=${closed.code}`)).status).toBe(400)
  })

  test('the first page leads to every section and to the sign-out', async () => {
    const { visitor } = await owner()
    const page = await open(visitor)
    for (const section of sections) expect(page.html).toContain(`href="/account/${section}?app=${shop.code}"`)
    expect(page.html).toContain('/oauth/logout?client_id=')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('x-frame-options')).toBe('DENY')
    const policy = page.headers.get('content-security-policy')
    expect(policy).toMatch(/frame-ancestors 'none'/)
    expect(policy).not.toMatch(/script-src|unsafe/)
  })

  test('the page gives an admin no administration rights', async () => {
    const { user, visitor } = await owner()
    await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: 'system_admin' } })
    const { visitor: other, user: victim } = await owner()
    const page = await open(visitor, 'sessions')
    const { id } = await service.deps.db('browser_sessions').where({ user_id: victim.id }).first()
    await visitor.post(`${service.url}/account/sessions`, { ...formOfAny(page), step: 'end', id })
    expect((await open(other)).title).toBe('Your account')
    // The cookie opens nothing of the API.
    const cookie = `__Host-gatehouse_session=${sessionOf(visitor)}`
    for (const path of ['/api/v1/admin/users', '/api/v1/auth/me'])
      expect((await fetch(service.url + path, { headers: { cookie } })).status).toBe(401)
  })

  test.each(['suspended', 'deleted'] as const)(
    'the page is closed to a %s user, and so is a form that is already open',
    async (state) => {
      const { user, visitor } = await owner()
      const page = await open(visitor, 'profile')
      await closeAccount(service, user.id, state)
      expect((await open(visitor)).title).toBe('Sign in')
      expect((await visitor.send(page, 'Save', { first_name: 'Eve' })).title).toBe('Sign in')
      expect((await rowOf(user.id)).first_name).not.toBe('Eve')
    },
  )

  test('the page is closed to a user who was signed out everywhere or erased', async () => {
    const { user, visitor } = await owner()
    await service.admin('POST', `/admin/users/${user.id}/logout`)
    expect((await open(visitor)).title).toBe('Sign in')
    const second = await owner()
    await service.admin('DELETE', `/admin/users/${second.user.id}?erase=true`)
    expect((await open(second.visitor, 'apps')).title).toBe('Sign in')
  })
})

/** The hidden fields of a form of the page, for one that a person makes up. */
function formOfAny(page: Arrival): Record<string, string> {
  const { field = '', app = '' } = page.forms[0]!.values
  return { field, app }
}

/** The same for a section that shows the person no form. */
function formOfSection({ user, visitor }: Owner, section: AccountSection): Record<string, string> {
  const sealed = { section, userId: user.id, sealedAt: service.deps.clock() }
  const browser = visitor.cookies.get('__Host-gatehouse_browser')!
  return { field: sealField(service.deps, 'account', browser, sealed), app: shop.code }
}

/** One form of each section, with which somebody could do something. */
const changes: [string, string, Record<string, string>][] = [
  ['profile', 'save', { first_name: 'Eve', last_name: '', locale: 'de' }],
  ['email', 'change', { email: 'eve@example.com' }],
  ['password', 'set', { password: 'another long password', password_again: 'another long password' }],
  ['two-factor', 'set_up', {}],
  ['sessions', 'end_elsewhere', {}],
  ['delete', 'delete', { confirmed: 'yes' }],
]

describe('a change on the account page', () => {
  test.each(changes)('a change of %s (%s) needs a proof of the last ten minutes', async (section, step, values) => {
    const { user, visitor } = await owner()
    await signInOnPage(visit(service), askFor(shop), user.email)
    const page = await open(visitor, section)
    expect(isFresh(page)).toBe(true)
    const before = await snapshot(user.id)
    service.advance(tenMinutes)
    const url = `${service.url}/account/${section}`
    const reply = await visitor.post(url, { ...formOfAny(page), step, ...values })
    expect(reply.status).toBe(303)
    const after = await visitor.get(reply.headers.get('location')!)
    expect(after.html).toContain('Nothing has changed. Confirm first that it is you.')
    expect(isFresh(after)).toBe(false)
    expect(formOf(after, step)).toBeUndefined()
    expect(await snapshot(user.id)).toEqual(before)
    // In place, and then it can be done.
    const fresh = await visitor.send(after, 'Confirm', { password: PASSWORD })
    expect([isFresh(fresh), new URL(fresh.url).pathname]).toEqual([true, `/account/${section}`])
    await visitor.post(url, { ...formOfAny(fresh), step, ...values })
    expect(await snapshot(user.id)).not.toEqual(before)
  })

  /** What any of the changes would change. */
  const snapshot = async (id: string) => [
    (({ first_name, status, password_hash, min_token_version }: Json) => [first_name, status, password_hash, min_token_version])(
      await rowOf(id),
    ),
    await countRows(service, 'second_factors', { user_id: id }),
    await countRows(service, 'audit_events', { user_id: id, event: 'email.change_requested' }),
  ]

  test.each(changes)('a change of %s (%s) accepts no form of another site or another browser', async (section, step, values) => {
    const { user, visitor } = await owner()
    const page = await open(visitor, section)
    const before = await snapshot(user.id)
    const url = `${service.url}/account/${section}`
    const sent = { ...formOfAny(page), step, ...values }
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'null' },
      {},
    ] as Record<string, string>[])
      expect((await visitor.post(url, sent, headers)).status).toBe(403)
    expect((await visitor.post(url, { ...sent, field: '' })).status).toBe(400)
    const { visitor: other } = await owner()
    expect((await other.post(url, sent)).status).toBe(400)
    // A field that another section has shown, also right before.
    const { field: foreign = '' } = formOfAny(await open(visitor, section === 'profile' ? 'password' : 'profile'))
    expect((await visitor.post(url, { ...sent, field: foreign })).status).toBe(400)
    // Another person has signed in in the same browser meanwhile.
    const second = await buildUser(service, shop)
    service.advance(1)
    await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), second.user.email)
    expect((await visitor.post(url, sent)).status).toBe(303)
    expect(await snapshot(user.id)).toEqual(before)
    expect((await rowOf(second.user.id)).first_name).not.toBe('Eve')
  })

  test('a user with a second factor needs both factors: half a proof, an old half and a trusted browser do not count', async () => {
    const { user, visitor, access_token } = await owner()
    const page = await open(visitor, 'profile')
    const authenticator = await enableTwoFactor(service, access_token)
    const save = (with_: Visitor, from: Arrival) =>
      with_.post(`${service.url}/account/profile`, {
        ...formOfAny(from),
        step: 'save',
        first_name: 'Eve',
        last_name: '',
        locale: '',
      })
    // The proof is from before the factor.
    await save(visitor, page)
    const asks = await open(visitor, 'profile')
    expect(isFresh(asks)).toBe(false)
    // The password alone.
    const half = await visitor.send(asks, 'Confirm', { password: PASSWORD })
    expect([isFresh(half), half.html.includes('Two-factor code is required.')]).toEqual([false, true])
    const wrong = await visitor.send(half, 'Confirm', { password: PASSWORD, two_factor_code: authenticator.wrongCode() })
    expect(wrong.html).toContain('Two-factor code is wrong or was already used')
    const bad = await visitor.send(wrong, 'Confirm', { password: 'not the password', two_factor_code: authenticator.code() })
    expect(bad.html).toContain('The password is wrong.')
    expect((await rowOf(user.id)).first_name).not.toBe('Eve')
    const whole = await visitor.send(bad, 'Confirm', { password: PASSWORD, two_factor_code: authenticator.code() })
    expect(isFresh(whole)).toBe(true)
    // A browser that is trusted shows an old factor.
    service.advance(30)
    const trusting = visit(service)
    const code = await signInOnPage(trusting, askFor(shop), user.email)
    await trusting.send(code, 'Continue', { two_factor_code: authenticator.code(), trust: 'yes' })
    // Not even right after it was shown.
    trusting.cookies.delete('__Host-gatehouse_session')
    expect((await signInOnPage(trusting, askFor(shop), user.email)).app).toBeDefined()
    expect(isFresh(await open(trusting, 'profile'))).toBe(false)
    service.advance(tenMinutes)
    trusting.cookies.delete('__Host-gatehouse_session')
    expect((await signInOnPage(trusting, askFor(shop), user.email)).app).toBeDefined()
    const later = await open(trusting, 'profile')
    expect(isFresh(later)).toBe(false)
    await save(trusting, later)
    expect((await rowOf(user.id)).first_name).not.toBe('Eve')
  })

  test('a fresh proof gives the browser session another secret', async () => {
    const { user, visitor } = await owner()
    service.advance(tenMinutes)
    const before = sessionOf(visitor)
    await visitor.send(await open(visitor, 'profile'), 'Confirm', { password: PASSWORD })
    expect(sessionOf(visitor)).not.toBe(before)
    expect(await countRows(service, 'browser_sessions', { user_id: user.id })).toBe(1)
    const thief = visit(service)
    thief.cookies.set('__Host-gatehouse_session', before!)
    expect((await open(thief)).title).toBe('Sign in')
  })

  test('wrong passwords lock the session, so that guessing changes nothing, and block no login elsewhere', async () => {
    const { user, visitor } = await owner()
    service.advance(tenMinutes)
    let page = await open(visitor, 'profile')
    for (let count = 0; count < 10; count += 1) page = await visitor.send(page, 'Confirm', { password: `wrong ${count}` })
    page = await visitor.send(page, 'Confirm', { password: PASSWORD })
    expect(page.html).toMatch(/locked after too many failed attempts/)
    expect(isFresh(page)).toBe(false)
    expect((await service.login(user.email, shop.code)).status).toBe(200)
    expect(await auditEvents(service, { user_id: user.id, event: 'reauthentication.failed' })).not.toEqual([])
  })

  test('a form that is an hour old starts again', async () => {
    const { visitor } = await owner()
    const page = await open(visitor, 'profile')
    service.advance(60 * 60 + 1)
    expect((await visitor.send(page, 'Save')).title).toBe('This page is too old')
  })

  test('a saved change is confirmed only on the page of its own section', async () => {
    const { visitor } = await owner()
    const saved = await visitor.send(await open(visitor, 'profile'), 'Save', { first_name: 'Ada', locale: '' })
    expect(saved.html).toContain('Saved.')
    const { search } = new URL(saved.url)
    for (const section of accountSections) {
      const path = section === 'overview' ? '/account' : `/account/${section}`
      expect((await visitor.get(path + search)).html.includes('Saved.')).toBe(section === 'profile')
    }
  })

  test('a step that the section does not know changes nothing', async () => {
    const { visitor } = await owner()
    const page = await open(visitor, 'profile')
    for (const step of ['', 'constructor', 'toString', '__proto__', 'end_elsewhere'])
      expect((await visitor.post(`${service.url}/account/profile`, { ...formOfAny(page), step })).status).toBe(303)
  })
})

describe('names and language', () => {
  test('saved names and language take effect, and the page continues in that language', async () => {
    const { user, visitor } = await owner()
    const page = await open(visitor, 'profile')
    const saved = await visitor.send(page, 'Save', { first_name: ' Ada ', last_name: 'Lovelace', locale: 'de' })
    expect([saved.title, saved.html.includes('Gespeichert.')]).toEqual(['Name und Sprache', true])
    expect(await rowOf(user.id)).toMatchObject({ first_name: 'Ada', last_name: 'Lovelace', locale: 'de' })
    const [event] = await auditEvents(service, { user_id: user.id, event: 'user.updated' })
    expect(event).toMatchObject({ actor_id: user.id })
    const cleared = await visitor.send(saved, 'Speichern', { first_name: '', last_name: 'Lovelace', locale: '' })
    expect(cleared.html).toContain('Saved.')
    expect(await rowOf(user.id)).toMatchObject({ first_name: null, last_name: 'Lovelace', locale: null })
  })

  test('a name that is too long is reported at its field', async () => {
    const { visitor } = await owner()
    const page = await visitor.send(await open(visitor, 'profile'), 'Save', { first_name: 'x'.repeat(201), locale: '' })
    expect(page.html).toContain('First name must have at most 200 characters')
  })
})

describe('the password', () => {
  const next = 'a new and long password'

  test('a changed password ends every other session, and a mail reports it', async () => {
    const { user, visitor, access_token } = await owner()
    const elsewhere = visit(service)
    await signInOnPage(elsewhere, askFor(shop), user.email)
    const page = await visitor.send(await open(visitor, 'password'), 'Set the password', { password: next, password_again: next })
    expect(page.html).toContain('Your new password is set. You are signed out everywhere else.')
    expect((await open(visitor)).title).toBe('Your account')
    expect((await open(elsewhere)).title).toBe('Sign in')
    expect((await service.call('GET', '/auth/me', { token: access_token })).status).toBe(401)
    expect((await service.login(user.email, shop.code)).status).toBe(401)
    expect((await service.login(user.email, shop.code, { password: next })).status).toBe(200)
    expect((await mailbox.take(user.email, /password/i)).text).toContain('password')
    expect(await auditEvents(service, { user_id: user.id, event: 'password.changed' })).toHaveLength(1)
    // The same browser enters an app silently: the proof of its session still holds.
    const asked = askFor(shop)
    expect((await exchange(service, shop, asked, (await visitor.get(asked.path)).app)).status).toBe(200)
  })

  test('a user without a password sets the first one', async () => {
    const { user, visitor } = await owner()
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    const page = await open(visitor, 'password')
    expect(page.html).toContain('You have no password yet.')
    await visitor.send(page, 'Set the password', { password: next, password_again: next })
    expect((await service.login(user.email, shop.code, { password: next })).status).toBe(200)
  })

  test.each([
    [{ password: next, password_again: 'x' }, 'does not match the first one'],
    [{ password: 'short', password_again: 'short' }, 'must have at least 8 characters'],
    [{ password: '', password_again: '' }, 'New password is required'],
  ])('the password %j is refused at its field, and no session ends', async (values, fault) => {
    const { user, visitor } = await owner()
    const page = await visitor.send(await open(visitor, 'password'), 'Set the password', values)
    expect(page.html).toContain(fault)
    expect((await service.login(user.email, shop.code)).status).toBe(200)
  })

  test('two forms at the same time set one password', async () => {
    const { user, visitor } = await owner()
    const page = await open(visitor, 'password')
    const set = (password: string) =>
      visitor.post(`${service.url}/account/password`, { ...formOfAny(page), step: 'set', password, password_again: password })
    await Promise.all([set('the first of two'), set('the second of two')])
    const logins = await Promise.all(
      ['the first of two', 'the second of two'].map((password) => service.login(user.email, shop.code, { password })),
    )
    expect(logins.map(({ status }) => status).sort()).toEqual([200, 401])
  })
})

describe('the address', () => {
  test('the link sent to the new address changes the address', async () => {
    const { user, visitor } = await owner()
    const email = someEmail()
    const page = await visitor.send(await open(visitor, 'email'), 'Change the address', { email })
    expect(page.html).toContain('A mail is on its way to the new address.')
    const link = new URL(/https:\/\/\S+confirm-email\S+/.exec((await mailbox.take(email, /address/i)).text)?.[0] ?? '')
    const anywhere = visit(service)
    const confirm = await anywhere.get(link.pathname + link.search)
    await anywhere.send(confirm, confirm.forms[0]!.buttons.keys().next().value!, { password: PASSWORD })
    expect((await rowOf(user.id)).email).toBe(email)
    expect((await open(visitor, 'email')).html).toContain(`Your address is <bdi>${email}</bdi>`)
  })

  test('a user without a password allows the change from the present address and confirms it with a code', async () => {
    const { user, visitor } = await owner()
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    const email = someEmail()
    const asked = await visitor.send(await open(visitor, 'email'), 'Change the address', { email })
    expect(asked.html).toContain('to your present address')
    const linkIn = (text: string) => new URL(/https?:\/\/\S+confirm-email\S+/.exec(text)?.[0] ?? text)
    const allow = linkIn((await mailbox.take(user.email, /^Allow another/)).text)
    const page = await visitor.get(allow.pathname + allow.search)
    await visitor.send(page, 'Allow the change')
    const token = linkIn((await mailbox.take(email, /address/i)).text).searchParams.get('token')!
    const stranger = await owner()
    const theirs = await open(stranger.visitor, 'email')
    await stranger.visitor.post(`${service.url}/account/email`, { ...formOfAny(theirs), step: 'confirm', token })
    expect((await rowOf(user.id)).email).toBe(user.email)
    const done = await visitor.send(await open(visitor, 'email'), 'Confirm the new address', { token })
    expect(done.html).toContain('Your e-mail address has changed.')
    expect((await rowOf(user.id)).email).toBe(email)
  })

  test.each([
    ['no address', 'must be an e-mail address'],
    ['', 'must be an e-mail address'],
  ])('the address %j is refused at its field', async (email, fault) => {
    const { visitor } = await owner()
    expect((await visitor.send(await open(visitor, 'email'), 'Change the address', { email })).html).toContain(fault)
  })
})

describe('the second factor', () => {
  const secretIn = ({ html }: Arrival) => /id="secret"[^>]*>([^<]+)</.exec(html)?.[1]?.replaceAll(' ', '') ?? ''
  const codesIn = ({ html }: Arrival) => /id="recovery-codes"[^>]*>([^<]+)</.exec(html)?.[1]?.split('\n') ?? []

  async function enrol(visitor: Visitor) {
    const page = await visitor.send(await open(visitor, 'two-factor'), 'Set up a second factor')
    const secret = secretIn(page)
    expect([page.title, page.html.includes('<svg class="qr"')]).toEqual(['Set up your authenticator app', true])
    const refused = await visitor.send(page, 'Turn on', { code: '000000' })
    expect(refused.html).toContain('is wrong or was already used')
    const codes = await visitor.send(refused, 'Turn on', { code: totpAt(secret, service.deps.clock()) })
    return { secret, page: codes, codes: codesIn(codes) }
  }

  test('a user sets up a second factor with a picture, sees recovery codes once, and counts as having shown it', async () => {
    const { user, visitor } = await owner()
    const { page, codes, secret } = await enrol(visitor)
    expect([page.title, codes.length]).toEqual(['Your recovery codes', 10])
    expect(await auditEvents(service, { user_id: user.id, event: 'two_factor.activated' })).toHaveLength(1)
    expect((await mailbox.take(user.email, /factor/i)).text).toContain('factor')
    // They are not shown a second time to somebody who finds the address of the page later, nor in another browser.
    const { visitor: other } = await owner()
    expect((await other.get(page.url)).html).not.toContain(codes[0])
    service.advance(5 * 60 + 1)
    const again = await visitor.get(page.url)
    expect([isFresh(again), again.html.includes(codes[0]!), again.html.includes('You have 10 recovery codes left.')]).toEqual([
      true,
      false,
      true,
    ])
    expect((await service.login(user.email, shop.code)).body).toEqual({ requires_2fa: true })
    const login = await service.login(user.email, shop.code, { two_factor_code: totpAt(secret, service.deps.clock()) })
    expect(login.body.access_token).toBeDefined()
    // A proof in place works with a recovery code.
    service.advance(tenMinutes)
    const stale = await open(visitor, 'two-factor')
    expect(isFresh(stale)).toBe(false)
    expect(isFresh(await visitor.send(stale, 'Confirm', { password: PASSWORD, two_factor_code: codes[0]! }))).toBe(true)
    const off = await visitor.send(await open(visitor, 'two-factor'), 'Turn off the second factor')
    expect(off.html).toContain('The second factor is turned off.')
    expect(await countRows(service, 'second_factors', { user_id: user.id })).toBe(0)
  })

  test('the recovery codes are not shown to another user who signs in in the same browser', async () => {
    const { visitor } = await owner()
    const { page, codes } = await enrol(visitor)
    const { user: second } = await buildUser(service, shop)
    service.advance(1)
    await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), second.email)
    const seen = await visitor.get(page.url)
    expect([seen.html.includes(second.email), seen.html.includes(codes[0]!)]).toEqual([true, false])
  })

  test('a replaced second factor has to be shown again in browsers that showed the old one', async () => {
    const { user, visitor } = await owner()
    const { secret } = await enrol(visitor)
    service.advance(30)
    const other = visit(service)
    const code = await signInOnPage(other, askFor(shop), user.email)
    await other.send(code, 'Continue', { two_factor_code: totpAt(secret, service.deps.clock()) })
    const before = await open(other, 'profile')
    expect(isFresh(before)).toBe(true)
    await visitor.send(await open(visitor, 'two-factor'), 'Turn off the second factor')
    await enrol(visitor)
    expect(isFresh(await open(other, 'profile'))).toBe(false)
    await other.post(`${service.url}/account/profile`, {
      ...formOfAny(before),
      step: 'save',
      first_name: 'Eve',
      last_name: '',
      locale: '',
    })
    expect((await rowOf(user.id)).first_name).not.toBe('Eve')
  })

  test('new recovery codes are shown once and reported by mail, and the old ones stop working at once', async () => {
    const { user, visitor } = await owner()
    const { secret, codes: old } = await enrol(visitor)
    const page = await open(visitor, 'two-factor')
    const shown = await visitor.send(page, 'Get new recovery codes')
    const codes = codesIn(shown)
    expect([shown.title, codes.length, codes.filter((code) => old.includes(code))]).toEqual(['Your recovery codes', 10, []])
    expect((await mailbox.take(user.email, /^New recovery codes/)).text).toContain('The old ones no longer work.')
    expect(await auditEvents(service, { user_id: user.id, event: 'two_factor.recovery_codes_renewed' })).toMatchObject([
      { actor_id: user.id },
    ])
    const logIn = async (two_factor_code: string) => (await service.login(user.email, shop.code, { two_factor_code })).status
    expect([await logIn(old[0]!), await logIn(codes[0]!), await logIn(codes[0]!)]).toEqual([401, 200, 401])
    service.advance(30)
    expect(await logIn(totpAt(secret, service.deps.clock()))).toBe(200)
    expect((await open(visitor, 'two-factor')).html).toContain('You have 9 recovery codes left.')
    // Of two requests at the same time one set is left.
    const url = `${service.url}/account/two-factor`
    const again = { ...formOfAny(page), step: 'renew_codes' }
    await Promise.all([visitor.post(url, again), visitor.post(url, again)])
    expect((await open(visitor, 'two-factor')).html).toContain('You have 10 recovery codes left.')
    service.advance(5 * 60 + 1)
    expect((await visitor.get(shown.url)).html).not.toContain(codes[1])
  })

  test('new recovery codes need an active second factor that was shown recently', async () => {
    const { user, visitor } = await owner()
    const renew = async (from: Arrival) => {
      const url = `${service.url}/account/two-factor`
      const reply = await visitor.post(url, { ...formOfAny(from), step: 'renew_codes' })
      return visitor.get(reply.headers.get('location')!)
    }
    const { db } = service.deps
    const hashes = () => db('recovery_codes').where({ user_id: user.id }).orderBy('code_hash').pluck('code_hash')
    expect((await renew(await open(visitor, 'two-factor'))).html).toContain('This is gone already.')
    await enrol(visitor)
    const before = await hashes()
    const page = await open(visitor, 'two-factor')
    service.advance(tenMinutes)
    const stale = await renew(page)
    expect([stale.html.includes('Nothing has changed.'), formOf(stale, 'renew_codes')]).toEqual([true, undefined])
    // The password alone is half a proof.
    await visitor.send(stale, 'Confirm', { password: PASSWORD })
    await renew(page)
    expect(await hashes()).toEqual(before)
  })

  test('the page never shows a seed that this browser has not asked for', async () => {
    const { user, visitor } = await owner()
    const stolen = (await service.login(user.email, shop.code)).body.access_token
    const planted = await service.call('POST', '/auth/2fa/setup', { token: stolen, body: { password: PASSWORD } })
    expect(planted.status).toBe(200)
    expect(secretIn(await open(visitor, 'two-factor'))).toBe('')
    const own = await visitor.send(await open(visitor, 'two-factor'), 'Set up a second factor')
    expect(secretIn(own)).not.toBe(planted.body.secret)
    // Planted again while the page is open: the person's code does not fit, and the page asks to start again.
    await service.call('POST', '/auth/2fa/setup', { token: stolen, body: { password: PASSWORD } })
    const refused = await visitor.send(own, 'Turn on', { code: totpAt(secretIn(own), service.deps.clock()) })
    expect([secretIn(refused), refused.html.includes('You have no second factor yet.')]).toEqual(['', true])
  })

  test('the seed is hidden without a fresh proof', async () => {
    const { visitor } = await owner()
    const page = await visitor.send(await open(visitor, 'two-factor'), 'Set up a second factor')
    const secret = secretIn(page)
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    service.advance(tenMinutes)
    const later = await open(visitor, 'two-factor')
    expect([secretIn(later), later.html.includes('<svg')]).toEqual(['', false])
    await visitor.post(`${service.url}/account/two-factor`, {
      ...formOfAny(page),
      step: 'activate',
      code: totpAt(secret, service.deps.clock()),
    })
    expect((await open(visitor, 'two-factor')).html).toContain('You have no second factor yet.')
  })
})

describe('sessions and trusted browsers', () => {
  test('the page lists sessions and ends them one by one, or all but this one', async () => {
    const { user, visitor } = await owner()
    const [second, third] = [visit(service), visit(service)]
    for (const other of [second, third]) await signInOnPage(other, askFor(shop), user.email)
    const page = await open(visitor, 'sessions')
    expect(page.html).toContain('This browser.')
    const { id } = await service.deps.db('browser_sessions').where({ user_id: user.id }).orderBy('id').offset(1).first()
    const ended = await visitor.post(`${service.url}/account/sessions`, { ...formOfAny(page), step: 'end', id })
    expect((await visitor.get(ended.headers.get('location')!)).html).toContain('That session has ended.')
    expect([(await open(second)).title, (await open(third)).title]).toEqual(['Sign in', 'Your account'])
    const all = await visitor.send(await open(visitor, 'sessions'), 'Sign out everywhere else')
    expect(all.html).toContain('You are signed out everywhere else.')
    expect([(await open(visitor)).title, (await open(third)).title]).toEqual(['Your account', 'Sign in'])
    expect(await auditEvents(service, { user_id: user.id, event: 'logout.all' })).toHaveLength(1)
  })

  test('a user cannot see or end the sessions and trusted browsers of another user', async () => {
    const { visitor } = await owner()
    const other = await owner()
    const authenticator = await enableTwoFactor(service, other.access_token)
    const code = await signInOnPage(other.visitor, askFor(shop, { prompt: 'login' }), other.user.email)
    await other.visitor.send(code, 'Continue', { two_factor_code: authenticator.code(), trust: 'yes' })
    const page = await open(visitor, 'sessions')
    const { db } = service.deps
    const { id: session } = await db('browser_sessions').where({ user_id: other.user.id }).whereNull('ended_at').first()
    const { id: app } = await db('sessions').where({ user_id: other.user.id }).first()
    for (const id of [session, app, 'x', '']) {
      const reply = await visitor.post(`${service.url}/account/sessions`, { ...formOfAny(page), step: 'end', id })
      expect((await visitor.get(reply.headers.get('location')!)).html).toContain('This is gone already.')
    }
    expect((await open(other.visitor)).title).toBe('Your account')
  })

  test('only its owner can forget a trusted browser', async () => {
    const { user, visitor, access_token } = await owner()
    const authenticator = await enableTwoFactor(service, access_token)
    visitor.cookies.delete('__Host-gatehouse_session')
    const code = await signInOnPage(visitor, askFor(shop), user.email)
    await visitor.send(code, 'Continue', { two_factor_code: authenticator.code(), trust: 'yes' })
    const { id } = await service.deps.db('trusted_browsers').where({ user_id: user.id }).first()
    const thief = await owner()
    const theirs = await open(thief.visitor, 'sessions')
    await thief.visitor.post(`${service.url}/account/sessions`, { ...formOfAny(theirs), step: 'forget', id })
    expect(await countRows(service, 'trusted_browsers', { user_id: user.id })).toBe(1)
    const page = await open(visitor, 'sessions')
    expect(page.html).toContain('Trusted browsers')
    const done = await visitor.post(`${service.url}/account/sessions`, { ...formOfAny(page), step: 'forget', id })
    expect((await visitor.get(done.headers.get('location')!)).html).toContain('asks for the second factor again')
    expect(await countRows(service, 'trusted_browsers', { user_id: user.id })).toBe(0)
  })
})

describe('connected accounts', () => {
  test('only its owner disconnects an account, and not the last sign-in method', async () => {
    const { user, visitor } = await owner()
    const provider = await buildSsoProvider(service, 'acme', { issuer: 'https://id.example.com' })
    const identity = {
      id: '0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
      user_id: user.id,
      provider_id: provider.id,
      subject: 'ada',
      created_at: 1,
    }
    await service.deps.db('user_identities').insert(identity)
    const thief = await owner()
    const theirs = await open(thief.visitor, 'identities')
    expect(theirs.html).toContain('No account of another provider is connected.')
    await thief.visitor.post(`${service.url}/account/identities`, {
      ...formOfSection(thief, 'identities'),
      step: 'unlink',
      id: identity.id,
    })
    expect(await countRows(service, 'user_identities', { user_id: user.id })).toBe(1)
    const { password_hash } = await rowOf(user.id)
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    const last = await visitor.send(await open(visitor, 'identities'), 'Disconnect Acme')
    expect(last.html).toContain('your only way to sign in')
    await service.deps.db('users').where({ id: user.id }).update({ password_hash })
    const done = await visitor.send(last, 'Disconnect Acme')
    expect(done.html).toContain('The account is no longer connected.')
    expect(await countRows(service, 'user_identities', { user_id: user.id })).toBe(0)
  })
})

describe('organizations', () => {
  test('a member leaves an organization, but the last admin cannot while others are there', async () => {
    const { user, visitor } = await owner()
    const organization = await buildOrganization(service)
    const other = await owner()
    await addMember(service, organization.id, user.id, ['org_admin'])
    await addMember(service, organization.id, other.user.id, ['org_member'])
    const refused = await visitor.send(await open(visitor, 'organizations'), `Leave ${organization.name}`)
    expect(refused.html).toContain('Nobody else administers this organization.')
    const left = await other.visitor.send(await open(other.visitor, 'organizations'), `Leave ${organization.name}`)
    expect(left.html).toContain('You have left the organization.')
    expect(await countRows(service, 'organization_memberships', { organization_id: organization.id })).toBe(1)
    // Nobody puts out another member, nor leaves what they are not in.
    await other.visitor.post(`${service.url}/account/organizations`, {
      ...formOfSection(other, 'organizations'),
      step: 'leave',
      id: organization.id,
    })
    expect(await countRows(service, 'organization_memberships', { organization_id: organization.id })).toBe(1)
  })

  test('only a user whose proven address was invited joins an organization', async () => {
    const ada = await owner()
    const { user, visitor } = ada
    const organization = await buildOrganization(service)
    await buildInvitation(service, { organizationId: organization.id, email: user.email })
    const { id } = await service.deps.db('invitations').where({ email: user.email }).first()
    const join = (as: Owner) =>
      as.visitor.post(`${service.url}/account/organizations`, { ...formOfSection(as, 'organizations'), step: 'join', id })
    const thief = await owner()
    await join(thief)
    // Somebody else registered the address, and has not shown that it is theirs.
    await service.deps
      .db('users')
      .where({ id: user.id })
      .update({ email_verified_at: null, first_verified_at: null, mailbox_proven_at: null })
    expect((await open(visitor, 'organizations')).html).not.toContain(organization.name)
    await join(ada)
    expect(await countRows(service, 'organization_memberships', { organization_id: organization.id })).toBe(0)
    await markVerified(service, user.id)
    const page = await visitor.send(await open(visitor, 'organizations'), `Join ${organization.name}`)
    expect(page.html).toContain('You are a member of the organization.')
    expect(page.forms.some(({ buttons }) => buttons.has(`Leave ${organization.name}`))).toBe(true)
  })
})

describe('apps', () => {
  test('the page lists the apps that a person was let into, and asks for access to a closed one of them and no other', async () => {
    const { user, visitor } = await owner()
    await service.admin('POST', `/admin/users/${user.id}/apps/${vault.id}`)
    expect((await open(visitor, 'apps')).html).toContain('<h2><bdi>The Vault</bdi></h2>')
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${vault.id}`)
    const hidden = await buildApp(service, { name: 'The Secret' })
    const page = await open(visitor, 'apps')
    expect(page.html).not.toContain('The Secret')
    await visitor.post(`${service.url}/account/apps`, { ...formOfAny(page), step: 'ask', id: hidden.id })
    expect(await countRows(service, 'access_requests', { user_id: user.id })).toBe(0)
    const asked = await visitor.send(page, 'Ask for access to The Vault')
    expect(asked.html).toContain('You have asked for access. You get a mail')
    expect(asked.forms.some(({ values }) => values.step === 'ask')).toBe(false)
    expect(await countRows(service, 'access_requests', { user_id: user.id, app_id: vault.id, status: 'open' })).toBe(1)
  })

  test('the page also lists apps that let the person in without a grant, in their own pools only', async () => {
    const { user, visitor } = await owner()
    const names = ({ html }: Arrival) => [...html.matchAll(/<h2><bdi>([^<]*)<\/bdi><\/h2>/g)].map(([, name]) => name)
    const grants = { auto_grant_on_signup: true }
    const build = (name: string, settings: Json) => buildApp(service, { name, ...settings })
    await build('Open to all', { ...grants, frontend_url: 'https://open.example' })
    await build('Open elsewhere', { ...grants, registration_namespace: 'account-elsewhere' })
    await build('Open to a domain', { ...grants, auto_grant_follows_policy: true, allowed_email_domains: ['corp.example'] })
    await build('Switched off', { ...grants, status: 'inactive' })
    const revoked = await build('Revoked', grants)
    await service.admin('POST', `/admin/users/${user.id}/apps/${revoked.id}`)
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${revoked.id}`)
    const page = await open(visitor, 'apps')
    expect(names(page)).toEqual(expect.arrayContaining(['The Shop', 'Open to all', 'Revoked']))
    for (const name of ['Open elsewhere', 'Open to a domain', 'Switched off', 'authctl']) expect(page.html).not.toContain(name)
    expect(page.html).toContain('<a class="button quiet" href="https://open.example">Open Open to all</a>')
    const asking = page.forms.filter(({ values }) => values.step === 'ask')
    expect(asking.map(({ values }) => values.id)).toEqual([revoked.id])
    // An admin enters the app of the command line by right.
    await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: 'system_admin' } })
    const { name } = await service.deps.db('apps').where({ code: 'authctl' }).first()
    expect(names(await open(visitor, 'apps'))).toContain(name)
    // Nobody asks for what is open, nor through a page of an app of other pools.
    const elsewhere = await buildApp(service, { name: 'Far away', registration_namespace: 'account-elsewhere' })
    expect(names(await open(visitor, 'apps', { app: elsewhere.code }))).not.toContain('Far away')
  })

  test('a user whose address is not verified cannot ask for access', async () => {
    const { user, access_token: _ } = await buildUser(service, shop)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    const page = await open(visitor, 'apps', { app: vault.code })
    expect((await visitor.send(page, 'Ask for access to The Vault')).html).toContain('Verify your e-mail address first')
  })
})

describe('the way back', () => {
  test.each([
    ['https://shop.example/callback', true],
    ['https://shop.example/deep/link', false],
    ['https://shop.example/deep/*', false],
    ['https://shop.example/callback?x=1', false],
    ['https://shop.example/callback/', false],
    ['https://vault.example/cb', false],
    ['https://evil.example/', false],
    ['//evil.example', false],
    ['javascript:alert(1)', false],
  ])('the way back to %s is offered: %s', async (returnTo, isOffered) => {
    const { visitor } = await owner()
    const page = await open(visitor, '', { return_to: returnTo })
    expect(page.html.includes('Go to <bdi>The Shop</bdi>')).toBe(isOffered)
    expect(page.html.includes(`href="${returnTo}"`)).toBe(isOffered)
  })

  test('the way back also leads to an app that lets the person in without a grant', async () => {
    const { visitor } = await owner()
    const at = (name: string) => `https://${name}.example/back`
    const build = (name: string, settings: Json = {}) =>
      buildApp(service, { name, auto_grant_on_signup: true, allowed_redirect_urls: [at(name)], ...settings })
    await build('garden')
    await build('abroad', { registration_namespace: 'account-abroad' })
    expect((await open(visitor, '', { return_to: at('garden') })).html).toContain('Go to <bdi>garden</bdi>')
    expect((await open(visitor, '', { return_to: at('abroad') })).html).not.toContain(at('abroad'))
  })

  test('the way back is kept across the sections and a sign-in', async () => {
    const { user } = await owner()
    const returnTo = 'https://shop.example/callback'
    const visitor = visit(service)
    const first = await open(visitor, 'profile', { return_to: returnTo })
    const page = await visitor.send(first, 'Sign in', { email: user.email, password: PASSWORD })
    const saved = await visitor.send(page, 'Save', { first_name: 'Ada', locale: '' })
    const back =
      /href="([^"]+)">Back to your account/.exec(saved.html)?.[1]?.replaceAll('&#38;', '&').replaceAll('&amp;', '&') ?? ''
    expect((await visitor.get(back)).html).toContain(`href="${returnTo}"`)
  })

  test('the page offers no way back to an app that the person can no longer enter', async () => {
    const { user, visitor } = await owner()
    await service.admin('POST', `/admin/users/${user.id}/apps/${vault.id}`)
    const query = { return_to: 'https://vault.example/cb' }
    expect((await open(visitor, '', query)).html).toContain('Go to <bdi>The Vault</bdi>')
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${vault.id}`)
    expect((await open(visitor, '', query)).html).not.toContain('vault.example/cb"')
  })
})

describe('deleting the account', () => {
  test('deletion needs a checked box, ends every session and token, and is reported by mail', async () => {
    const { user, visitor, access_token } = await owner()
    const page = await open(visitor, 'delete')
    expect((await visitor.send(page, 'Delete my account')).html).toContain('Nothing was deleted.')
    expect((await rowOf(user.id)).status).toBe('active')
    const gone = await visitor.send(page, 'Delete my account', { confirmed: 'yes' })
    expect([gone.title, sessionOf(visitor)]).toEqual(['Your account is deleted', undefined])
    expect((await rowOf(user.id)).status).toBe('deleted')
    expect((await service.call('GET', '/auth/me', { token: access_token })).status).toBe(401)
    expect((await mailbox.take(user.email, /deleted/i)).text).toContain('deleted')
    expect((await open(visitor)).title).toBe('Sign in')
  })

  test('a user without a password deletes the account, since the proof is fresh', async () => {
    const { user, visitor } = await owner()
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    await visitor.send(await open(visitor, 'delete'), 'Delete my account', { confirmed: 'yes' })
    expect((await rowOf(user.id)).status).toBe('deleted')
  })
})
