// Passkeys: on the sign-in page, and on the account page where people add them. The authenticator is one in software.
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { accountSections } from '../../packages/server/src/lib/account-sections.ts'
import { Authenticator, askedIn, type Ways } from '../support/authenticator.ts'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json, PASSWORD, type TestService } from '../support/service.ts'
import { type Arrival, askFor, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor, totpAt } from '../support/totp.ts'

const origin = 'https://login.example.com'
const { service, mailbox } = mailingFixture({ PUBLIC_URL: origin }, { frozen: true })
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
const forum = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://forum.example/cb'] })

async function build(app = shop, extra: Json = {}): Promise<Json> {
  const built = await buildUser(service, app, extra)
  await markVerified(service, built.user.id)
  return built
}

const pagePath = () => `/account/passkeys?app=${shop.code}`

const vault = appFixture(service, { require_two_factor: 'everyone', allowed_redirect_urls: ['https://vault.example/cb'] })
/** Lets somebody into an app that requires a second factor. */
const letIntoVault = ({ id }: Json) => service.admin('POST', `/admin/users/${id}/apps/${vault.id}`)

/** Signs in for the account page, and returns the page. */
async function open(visitor: Visitor, email: string, app = shop): Promise<Arrival> {
  const first = await visitor.get(`/account/passkeys?app=${app.code}`)
  return visitor.send(first, 'Sign in', { email, password: PASSWORD })
}

const postOf = (page: Arrival, step: string) => page.forms.find(({ values }) => values.step === step)!.values

async function add(visitor: Visitor, page: Arrival, device: Authenticator, ways: Partial<Ways> = {}): Promise<Arrival> {
  const passkey = device.create(askedIn(page)!, ways)
  return visitor.send(page, 'Add a passkey', { passkey, name: 'Laptop' })
}

/** A user with a passkey. */
async function buildWithPasskey({ app = shop, isSynced = false, count = 0 } = {}) {
  const built = await build(app)
  const device = new Authenticator(origin, { isSynced })
  device.count = count
  const visitor = visit(service)
  const page = await add(visitor, await open(visitor, built.user.email, app), device)
  expect(page.html).toContain('Laptop')
  return { ...built, device, visitor, page }
}

/** Answers the page of an authorization request with a passkey. */
async function signInBy(device: Authenticator, visitor: Visitor, asked = askFor(shop), ways: Partial<Ways> = {}) {
  const page = await visitor.get(asked.path)
  return visitor.send(page, 'Sign in', { passkey: device.get(askedIn(page)!, ways) })
}

const isSignedIn = ({ cookies }: Visitor) => cookies.has('__Host-gatehouse_session')
const passkeysOf = async (userId: string, of: TestService = service) =>
  (await of.admin('GET', `/admin/users/${userId}/passkeys`)).body.items as Json[]

describe('signing in with a passkey', () => {
  test('a passkey is added on the account page, mailed, audited, and signs in to two apps without a password', async () => {
    const { user, device } = await buildWithPasskey()
    expect((await mailbox.take(user.email, /passkey was added/)).text).toContain('A passkey was added')
    const [added] = await auditEvents(service, { user_id: user.id, event: 'passkey.added' })
    expect(added).toMatchObject({ actor_id: user.id, details: { id: expect.any(String) } })
    const visitor = visit(service)
    const asked = askFor(shop)
    const arrival = await signInBy(device, visitor, asked)
    const { body } = await exchange(service, shop, asked, arrival.app)
    expect(body.user.id).toBe(user.id)
    expect(claimsOf(body.access_token)).toMatchObject({ amr: ['swk', 'mfa'] })
    const other = askFor(forum)
    const agreed = await visitor.send(await visitor.get(other.path), 'Continue')
    const entered = await exchange(service, forum, other, agreed.app)
    expect(claimsOf(entered.body.access_token)).toMatchObject({ uid: user.id, amr: ['swk', 'mfa'] })
    const [passkey] = await passkeysOf(user.id)
    expect(passkey).toMatchObject({ name: 'Laptop', rp_id: 'login.example.com', backed_up: false })
    expect(passkey?.last_used_at).not.toBeNull()
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.passkeys).toBe(1)
    const events = await auditEvents(service, { user_id: user.id, event: 'login.success' })
    expect(events.map(({ details }) => details?.auth_method)).toContain('passkey')
  })

  test('a passkey replaces an active second factor, and a factor that is activated later is asked for', async () => {
    const { user, device, access_token } = await buildWithPasskey()
    const before = visit(service)
    await signInBy(device, before)
    const authenticator = await enableTwoFactor(service, access_token)
    expect((await before.get(askFor(shop).path)).title).toBe('Sign in')
    const visitor = visit(service)
    const asked = askFor(shop)
    const { body } = await exchange(service, shop, asked, (await signInBy(device, visitor, asked)).app)
    expect(body.user.id).toBe(user.id)
    expect((await visitor.get(pagePath())).html).toContain('Add a passkey')
    service.advance(1)
    // The other way still works, with the device token that the passkey has brought.
    const asksCode = await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), user.email)
    expect((await visitor.send(asksCode, 'Continue', { two_factor_code: authenticator.code() })).app).toBeDefined()
  })

  test('a passkey signs in while a thief with the password has locked the codes, and clears the failures', async () => {
    const { user, device, access_token } = await buildWithPasskey()
    const authenticator = await enableTwoFactor(service, access_token)
    for (let count = 0; count < 10; count += 1)
      await service.login(user.email, shop.code, { two_factor_code: authenticator.wrongCode() })
    expectError(await service.login(user.email, shop.code, { two_factor_code: authenticator.code() }), 'account_locked')
    expect((await signInBy(device, visit(service))).app).toBeDefined()
    service.advance(30)
    expect((await service.login(user.email, shop.code, { two_factor_code: authenticator.code() })).status).toBe(200)
  })

  test('the e-mail field offers passkeys, and the page loads one script of ours for them', async () => {
    const page = await visit(service).get(askFor(shop).path)
    expect(page.html).toContain('autocomplete="username webauthn"')
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("script-src 'self'; connect-src 'self'")
    expect(policy).not.toContain('unsafe')
    const [, src = ''] = /<script src="([^"]+)" defer>/.exec(page.html) ?? []
    const script = await fetch(new URL(src.replace('&#61;', '='), service.url))
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    const elsewhere = await visit(service)
      .send(page, 'E-mail me a code')
      .catch(() => undefined)
    expect(elsewhere?.headers.get('content-security-policy') ?? '').not.toContain('script-src')
  })

  test('a passkey enters an app only for the user whom its address names there', async () => {
    const pool = `pool-${Date.now()}`
    const other = await buildApp(service, {
      ...{ auto_grant_on_signup: true, registration_namespace: pool, read_namespaces: [pool] },
      allowed_redirect_urls: ['https://other.example/cb'],
    })
    const { user, device } = await buildWithPasskey()
    await service.register(user.email, other.code)
    const asked = askFor(other)
    const arrival = await signInBy(device, visit(service), asked)
    expect([arrival.title, arrival.app]).toEqual(['This account is not known here', undefined])
  })

  test('a passkey of a suspended or deleted user opens nothing, and deletion removes it', async () => {
    const { user, device } = await buildWithPasskey()
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    const visitor = visit(service)
    expect((await signInBy(device, visitor)).html).toContain('suspended')
    expect(isSignedIn(visitor)).toBe(false)
    await service.admin('DELETE', `/admin/users/${user.id}`)
    expect(await countRows(service, 'passkeys', { user_id: user.id })).toBe(0)
    expect((await signInBy(device, visitor)).html).toContain('does not work here')
  })
})

describe('wrong answers of a passkey', () => {
  test.each<[string, Partial<Ways>, string]>([
    ['of another origin', { origin: 'https://evil.example' }, 'origin'],
    ['of a subdomain', { origin: 'https://a.login.example.com' }, 'origin'],
    ['of our host by http', { origin: 'http://login.example.com' }, 'origin'],
    ['of a frame on another site', { crossOrigin: true }, 'cross_origin'],
    ['of a frame whose top is another site', { topOrigin: 'https://evil.example' }, 'cross_origin'],
    ['for another relying party', { rpId: 'evil.example' }, 'signature'],
    ['to another challenge', { challenge: 'a'.repeat(43) }, 'challenge'],
    ['made as a registration', { type: 'webauthn.create' }, 'malformed'],
    ['of a device that did not verify the person', { isVerified: false }, 'signature'],
    ['of a device without user presence', { isPresent: false }, 'signature'],
    ['of a passkey that can be synchronized by now', { isEligible: true, isBackedUp: true }, 'backup_eligibility'],
    ['that names another user', { userHandle: 'b'.repeat(43) }, 'user_handle'],
    ['of an unknown credential', { credentialId: 'c'.repeat(22) }, 'unknown'],
  ])('an answer %s signs nobody in, and the fault is audited', async (_, ways, fault) => {
    const { device, user } = await buildWithPasskey()
    const visitor = visit(service)
    const page = await signInBy(device, visitor, askFor(shop), ways)
    expect([page.title, page.app, isSignedIn(visitor)]).toEqual(['Sign in', undefined, false])
    expect(page.html).toContain('This passkey does not work here')
    // Of this user alone: an event that counts refusals of nobody has an id of its own, which may sort after it.
    const failed = (await service.admin('GET', `/admin/audit?event=login.failed&user_id=${user.id}`)).body.items
    if (fault !== 'unknown' && fault !== 'user_handle')
      expect(failed[0]).toMatchObject({ reason: 'invalid_passkey', user_id: user.id, details: { fault } })
    expect((await signInBy(device, visitor)).app).toBeDefined()
  })

  test.each(['', '{}', 'null', '[]', '{"id":1}', 'x'.repeat(20_000), '"__proto__"'])(
    'an invented answer signs nobody in: %j',
    async (passkey) => {
      const visitor = visit(service)
      const page = await visitor.get(askFor(shop).path)
      const after = await visitor.send(page, 'Sign in', { passkey: passkey || ' ' })
      expect([after.status, isSignedIn(visitor)]).toEqual([200, false])
    },
  )

  test('a challenge works once, in one browser, within five minutes', async () => {
    const { device } = await buildWithPasskey()
    const visitor = visit(service)
    const page = await visitor.get(askFor(shop).path)
    const passkey = device.get(askedIn(page)!)
    const values: Record<string, string> = { ...postOf(page, 'sign_in'), passkey }
    const thief = visit(service)
    const own = await thief.get(askFor(shop).path)
    await thief.send(own, 'Sign in', { passkey, passkey_challenge: values.passkey_challenge ?? '' })
    expect(isSignedIn(thief)).toBe(false)
    await atOnce(20, () => visitor.post(`${service.url}/oauth/authorize`, values))
    const { user_id } = await service.deps.db('passkeys').where({ credential_id: device.credentialId }).first()
    // The one that added it, and one of the twenty.
    expect(await countRows(service, 'browser_sessions', { user_id })).toBe(2)
    visitor.cookies.delete('__Host-gatehouse_session')
    expect((await visitor.send(page, 'Sign in', { passkey })).html).toContain('That took too long')
    const late = await visitor.get(askFor(shop).path)
    service.advance(5 * 60 + 1)
    expect((await visitor.send(late, 'Sign in', { passkey: device.get(askedIn(late)!) })).html).toContain('That took too long')
    expect(isSignedIn(visitor)).toBe(false)
  })

  test('an answer whose counter does not grow is refused and audited, so only one of two copies signs in', async () => {
    const { device, user } = await buildWithPasskey({ count: 5 })
    expect((await signInBy(device, visit(service), askFor(shop), { count: 9 })).app).toBeDefined()
    for (const count of [9, 8, 0]) {
      const visitor = visit(service)
      expect((await signInBy(device, visitor, askFor(shop), { count })).html).toContain('does not work here')
      expect(isSignedIn(visitor)).toBe(false)
    }
    expect(await auditEvents(service, { user_id: user.id, event: 'passkey.counter_mismatch' })).toHaveLength(3)
    const copies = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const visitor = visit(service)
        await visitor.get(askFor(shop).path)
        return visitor
      }),
    )
    const arrivals = await atOnce(4, (index) => signInBy(device, copies[index]!, askFor(shop), { count: 20 }))
    expect(arrivals.filter(({ app }) => app !== undefined)).toHaveLength(1)
  })

  test('a challenge for adding a passkey cannot be used for signing in', async () => {
    const { user, device, visitor } = await buildWithPasskey()
    const account = await visitor.get(pagePath())
    const { passkey_challenge = '' } = postOf(account, 'add')
    const stranger = visit(service)
    for (const [name, value] of visitor.cookies) if (name !== '__Host-gatehouse_session') stranger.cookies.set(name, value)
    const page = await stranger.get(askFor(shop).path)
    const passkey = device.get({ ...askedIn(page)!, challenge: askedIn(account)!.challenge })
    expect((await stranger.send(page, 'Sign in', { passkey, passkey_challenge })).html).toContain('That took too long')
    expect(isSignedIn(stranger)).toBe(false)
    const made = new Authenticator(origin)
    const sent = made.create({ ...askedIn(account)!, challenge: askedIn(page)!.challenge })
    await visitor.send(account, 'Add a passkey', {
      passkey: sent,
      passkey_challenge: postOf(page, 'sign_in').passkey_challenge ?? '',
    })
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })

  test('wrong answers of strangers do not block the owner of the passkey', async () => {
    const { device } = await buildWithPasskey()
    for (let count = 0; count < 30; count += 1) await signInBy(device, visit(service), askFor(shop), { challenge: 'x' })
    expect((await signInBy(device, visit(service))).app).toBeDefined()
  })
})

describe('the page of passkeys', () => {
  test('the page asks a stranger to sign in, comes back afterwards, and must be opened from an app', async () => {
    const { user } = await build()
    const visitor = visit(service)
    const first = await visitor.get(pagePath())
    expect(first.title).toBe('Sign in')
    expect((await visitor.get('/account/passkeys')).title).toBe('Open this page from one of your apps')
    const page = await visitor.send(first, 'Sign in', { email: user.email, password: PASSWORD })
    expect([page.title, page.url]).toEqual(['Your passkeys', expect.stringContaining('/account/passkeys')])
    expect(page.html).toContain('You have no passkey yet')
  })

  test('the page renames and removes a passkey, and reports the removal by mail', async () => {
    const { user, visitor, page } = await buildWithPasskey()
    const renamed = await visitor.send(page, 'Rename', { name: 'Work laptop' })
    expect(renamed.html).toContain('Remove Work laptop')
    expect((await visitor.send(renamed, 'Rename', { name: ' ' })).html).toContain('Name is required.')
    const removed = await visitor.send(renamed, 'Remove Work laptop')
    expect(removed.html).toContain('You have no passkey yet')
    expect((await mailbox.take(user.email, /passkey was removed/)).text).toContain('was removed')
    expect(await auditEvents(service, { user_id: user.id, event: 'passkey.removed' })).toHaveLength(1)
  })

  test('the page accepts a change only within ten minutes of a proof, by passkey if an app requires one', async () => {
    const { user, visitor, page, device } = await buildWithPasskey()
    await letIntoVault(user)
    const values = postOf(page, 'remove')
    const remove = () => visitor.post(`${service.url}/account/passkeys`, values)
    service.advance(10 * 60)
    await remove()
    const stale: Arrival = await visitor.get(pagePath())
    expect(stale.html).toContain('To change something, use your passkey.')
    expect(stale.forms.flatMap(({ buttons }) => [...buttons.keys()])).toEqual(['Use a passkey'])
    expect(await passkeysOf(user.id)).toHaveLength(1)
    const other = await buildWithPasskey()
    const foreign: Arrival = await visitor.send(stale, 'Use a passkey', { passkey: other.device.get(askedIn(stale)!) })
    expect(foreign.html).not.toContain('Add a passkey')
    const fresh = await visitor.send(foreign, 'Use a passkey', { passkey: device.get(askedIn(foreign)!) })
    expect(fresh.html).toContain('Add a passkey')
    await visitor.post(`${service.url}/account/passkeys`, postOf(fresh, 'remove'))
    expect(await passkeysOf(user.id)).toHaveLength(0)
  })

  test('a thief with the password can change no section if an app requires the passkey', async () => {
    const { user } = await buildWithPasskey()
    await letIntoVault(user)
    service.advance(1)
    const thief = visit(service)
    await open(thief, user.email)
    for (const section of accountSections.filter((section) => section !== 'overview')) {
      const page = await thief.get(`/account/${section}?app=${shop.code}`)
      expect([section, page.forms.flatMap(({ buttons }) => [...buttons.keys()])]).toEqual([section, ['Use a passkey']])
    }
    // Nor with the form by which others prove who they are.
    const page = await thief.get(`/account/two-factor?app=${shop.code}`)
    const url = `${service.url}/account/two-factor`
    const { field = '', app = '' } = page.forms[0]!.values
    for (const sent of [
      { step: 'prove', password: PASSWORD },
      { step: 'set_up', password: '' },
    ])
      await thief.post(url, { field, app, ...sent })
    expect((await thief.get('/account/data.json')).title).toBe('Download your data')
    // Nor over the API, which cannot ask for a passkey.
    const token = (await service.login(user.email, shop.code)).body.access_token
    for (const body of [{}, { password: PASSWORD }]) {
      const refused = await service.call('POST', '/auth/2fa/setup', { token, body })
      expectError(refused, 'fresh_login_required')
      expect(refused.body.detail).toContain(`${origin}/account/two-factor?app=${shop.code}`)
    }
    expect(await countRows(service, 'second_factors', { user_id: user.id })).toBe(0)
  })

  test('the password alone does not activate a second factor that was set up before the passkey', async () => {
    const { user, access_token } = await build()
    await letIntoVault(user)
    const { secret } = (await service.call('POST', '/auth/2fa/setup', { token: access_token })).body
    service.advance(1)
    const visitor = visit(service)
    await add(visitor, await open(visitor, user.email), new Authenticator(origin))
    service.advance(1)
    const token = (await service.login(user.email, shop.code)).body.access_token
    const activate = (token: string, more: Json = {}) =>
      service.call('POST', '/auth/2fa/activate', { token, body: { code: totpAt(secret, service.deps.clock()), ...more } })
    expectError(await activate(token), 'fresh_login_required')
    expectError(await activate(token, { password: PASSWORD }), 'fresh_login_required')
    // Whose session is older than the passkey could not have shown it, and is in the midst of setting both up.
    expect((await activate(access_token)).status).toBe(200)
  })

  test('the page accepts a change with the password if no app requires more, so a second device gets a passkey', async () => {
    const { user, visitor } = await buildWithPasskey()
    service.advance(10 * 60)
    const stale = await visitor.get(pagePath())
    const fresh = await visitor.send(stale, 'Confirm', { password: PASSWORD })
    expect(fresh.html).toContain('Add a passkey')
    const second = visit(service)
    await add(second, await open(second, user.email), new Authenticator(origin))
    expect(await passkeysOf(user.id)).toHaveLength(2)
    const token = (await service.login(user.email, shop.code)).body.access_token
    expect((await service.call('POST', '/auth/2fa/setup', { token })).status).toBe(200)
    // From an announcement on, it takes the passkey.
    service.advance(1)
    const soon = await buildApp(service, {
      require_two_factor: 'everyone',
      require_two_factor_from: new Date(service.deps.clock() + 86_400_000).toISOString(),
      allowed_redirect_urls: ['https://soon.example/cb'],
    })
    await service.admin('POST', `/admin/users/${user.id}/apps/${soon.id}`)
    const third = visit(service)
    const page = await open(third, user.email)
    expect(page.forms.flatMap(({ buttons }) => [...buttons.keys()])).toEqual(['Use a passkey'])
  })

  test('the page asks a user with a second factor for it before a change, even right after the password', async () => {
    const { user, visitor, page, access_token } = await buildWithPasskey()
    await enableTwoFactor(service, access_token)
    await visitor.post(`${service.url}/account/passkeys`, postOf(page, 'remove'))
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })

  test('a password alone or a mailbox cannot add a passkey while a second factor is active', async () => {
    const { user, access_token } = await build()
    const [before, half] = [visit(service), visit(service)]
    const page = await open(before, user.email)
    const authenticator = await enableTwoFactor(service, access_token)
    // A session from before the factor, and one that waits for it.
    await add(before, page, new Authenticator(origin))
    const asksCode = await open(half, user.email)
    expect(asksCode.title).toBe('Enter your code')
    expect(isSignedIn(half)).toBe(false)
    await half.post(`${service.url}/account/passkeys`, {
      ...postOf(page, 'add'),
      passkey: new Authenticator(origin).create(askedIn(page)!),
    })
    // A code by e-mail is one factor.
    const byMail = visit(service)
    const asks = await byMail.send(await byMail.get(pagePath()), 'E-mail me a code')
    const sent = await byMail.send(asks, 'Send the code', { email: user.email })
    const [, code = ''] = /: (\d{6})$/m.exec((await mailbox.take(user.email, /^Sign in to/)).text) ?? []
    expect((await byMail.send(sent, 'Sign in', { code })).title).toBe('Enter your code')
    expect((await byMail.get(pagePath())).title).toBe('Sign in')
    expect(await passkeysOf(user.id)).toEqual([])
    service.advance(30)
    const own = await half.send(asksCode, 'Continue', { two_factor_code: authenticator.code() })
    expect((await add(half, own, new Authenticator(origin))).html).toContain('Laptop')
  })

  test('the page refuses a form from another site, another browser or a former user', async () => {
    const { user, visitor, page } = await buildWithPasskey()
    const values = postOf(page, 'remove')
    const url = `${service.url}/account/passkeys`
    expect((await visitor.post(url, values, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await visitor.post(url, { ...values, field: '' })).status).toBe(400)
    const second = await buildWithPasskey()
    expect((await second.visitor.post(url, values)).status).toBe(400)
    await second.visitor.post(url, { ...postOf(second.page, 'remove'), id: values.id ?? '' })
    expect(await passkeysOf(user.id)).toHaveLength(1)
    // Another person signs in in the same browser.
    const other = await build()
    service.advance(1)
    await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), other.user.email)
    await visitor.post(url, values)
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })

  test.each<[string, Partial<Ways>]>([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of a frame on another site', { crossOrigin: true }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['to another challenge', { challenge: 'a'.repeat(43) }],
    ['made as a sign-in', { type: 'webauthn.get' }],
    ['of a device that did not verify the person', { isVerified: false }],
    ['that cannot be found without an address', { isResident: false }],
    ['with an attestation that was not requested', { format: 'fido-u2f' }],
    ['whose id is longer than an id may be', { credentialId: randomBytes(1_024).toString('base64url') }],
    ['whose id is too long for the index', { credentialId: randomBytes(8_000).toString('base64url') }],
  ])('the page does not add a passkey %s', async (_, ways) => {
    const { user } = await build()
    const visitor = visit(service)
    const page = await add(visitor, await open(visitor, user.email), new Authenticator(origin), ways)
    expect(page.html).toContain('This passkey cannot be used here')
    expect(await passkeysOf(user.id)).toEqual([])
  })

  test('a challenge adds one passkey, no credential is added twice, and a user has at most ten', async () => {
    const { device } = await buildWithPasskey()
    const { user } = await build()
    const visitor = visit(service)
    let page = await open(visitor, user.email)
    page = await add(visitor, page, new Authenticator(origin), { credentialId: device.credentialId })
    expect(page.html).toContain('in use here already')
    const own = new Authenticator(origin)
    const values = { ...postOf(page, 'add'), passkey: own.create(askedIn(page)!), name: 'Twice' }
    await atOnce(10, () => visitor.post(`${service.url}/account/passkeys`, values))
    expect(await passkeysOf(user.id)).toHaveLength(1)
    for (let count = 1; count < 9; count += 1) {
      page = await visitor.get(pagePath())
      page = await add(visitor, page, new Authenticator(origin))
    }
    const pages = await Promise.all([1, 2, 3].map(() => visitor.get(pagePath())))
    await Promise.all(pages.map((page) => add(visitor, page, new Authenticator(origin))))
    page = await visitor.get(pagePath())
    expect(await passkeysOf(user.id)).toHaveLength(10)
    expect(page.html).not.toContain('Add a passkey')
    expect(new Set(await service.deps.db('passkeys').where({ user_id: user.id }).pluck('user_handle')).size).toBe(1)
  })

  test('two tabs that add a first passkey at once add one, so that the devices know one id of the user', async () => {
    const { user } = await build()
    const visitor = visit(service)
    const [one, two] = [await open(visitor, user.email), await visitor.get(pagePath())]
    const sent = [one, two].map((page) => ({
      ...postOf(page, 'add'),
      passkey: new Authenticator(origin).create(askedIn(page)!),
      name: 'x',
    }))
    await Promise.all(sent.map((values) => visitor.post(`${service.url}/account/passkeys`, values)))
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })

  test('the last sign-in method is kept, even if two passkeys are removed at once', async () => {
    const { user, visitor } = await buildWithPasskey()
    const page = await add(visitor, await visitor.get(pagePath()), new Authenticator(origin))
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    const removals = page.forms.filter(({ values }) => values.step === 'remove')
    expect(removals).toHaveLength(2)
    await Promise.all(removals.map(({ values }) => visitor.post(`${service.url}/account/passkeys`, values)))
    expect(await passkeysOf(user.id)).toHaveLength(1)
    const last = await visitor.get(pagePath())
    expect((await visitor.send(last, 'Remove Laptop')).html).toContain('your only way to sign in')
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })

  test('the last sign-in method is kept, even if a passkey and a provider are removed at once', async () => {
    const { user, page, visitor, access_token: token } = await buildWithPasskey()
    await buildSsoProvider(service, 'acme', { issuer: 'https://id.example.com' })
    const { id: provider_id } = await service.deps.db('sso_providers').where({ code: 'acme' }).first()
    const identity = { id: randomUUID(), user_id: user.id, provider_id, subject: 'ada', created_at: 1 }
    await service.deps.db('user_identities').insert(identity)
    const unlink = () => service.call('DELETE', `/auth/identities/${identity.id}`, { token })
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    await atOnce(2, (index) => (index === 0 ? visitor.post(`${service.url}/account/passkeys`, postOf(page, 'remove')) : unlink()))
    const left = async () => [
      await countRows(service, 'passkeys', { user_id: user.id }),
      await countRows(service, 'user_identities', { user_id: user.id }),
    ]
    expect((await left()).sort()).toEqual([0, 1])
    const [passkeys] = await left()
    if (passkeys === 1)
      expect((await visitor.send(await visitor.get(pagePath()), 'Remove Laptop')).html).toContain('your only way')
    else expectError(await unlink(), 'last_sign_in_method')
    expect((await left()).sort()).toEqual([0, 1])
  })

  test('a provider can be removed while a passkey of this host is left, not one of another host', async () => {
    const { user, access_token: token } = await buildWithPasskey()
    await buildSsoProvider(service, 'corp', { issuer: 'https://corp.example.com' })
    const { id: provider_id } = await service.deps.db('sso_providers').where({ code: 'corp' }).first()
    const identity = { id: randomUUID(), user_id: user.id, provider_id, subject: 'ada', created_at: 1 }
    await service.deps.db('user_identities').insert(identity)
    const unlink = () => service.call('DELETE', `/auth/identities/${identity.id}`, { token })
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    await service.deps.db('passkeys').where({ user_id: user.id }).update({ rp_id: 'old.example.com' })
    expectError(await unlink(), 'last_sign_in_method')
    await service.deps.db('passkeys').where({ user_id: user.id }).update({ rp_id: 'login.example.com' })
    expect((await unlink()).status).toBe(204)
  })

  test('a passkey gives no admin rights, and allowed_auth_methods does not restrict it', async () => {
    const own = await buildApp(service, {
      ...{ auto_grant_on_signup: true, allowed_auth_methods: ['password'] },
      allowed_redirect_urls: ['https://own.example/cb'],
    })
    const { user } = await build(own)
    const visitor = visit(service)
    await add(visitor, await open(visitor, user.email, own), new Authenticator(origin))
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })
})

describe('passkeys after a recovery of the account', () => {
  test('a takeover by magic link removes the passkeys, and a reset of a proven account keeps them', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const device = new Authenticator(origin)
    await add(visitor, await open(visitor, user.email), device)
    await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: shop.code } })
    const { token } = await mailbox.take(user.email, /^Sign in to/)
    expect((await service.call('POST', '/auth/magic-link/consume', { body: { token } })).status).toBe(200)
    expect(await passkeysOf(user.id)).toEqual([])
    const [removed] = await auditEvents(service, { user_id: user.id, event: 'credentials.removed' })
    expect(removed?.details).toMatchObject({ passkeys: 1 })

    const proven = await buildWithPasskey()
    await service.call('POST', '/auth/password/forgot', { body: { email: proven.user.email, app_code: shop.code } })
    const reset = await mailbox.take(proven.user.email, /^Set a new password/)
    const body = { token: reset.token, password: 'another long passphrase' }
    expect((await service.call('POST', '/auth/password/reset', { body })).status).toBe(204)
    expect(await passkeysOf(proven.user.id)).toHaveLength(1)
    await service.admin('DELETE', `/admin/users/${proven.user.id}/2fa`)
    expect((await signInBy(proven.device, visit(service))).app).toBeDefined()
  })

  test('undoing a change of address removes the passkeys that are newer than the change', async () => {
    const { user, visitor, device } = await buildWithPasskey()
    service.advance(60)
    const changed = `new-${user.email}`
    const token = (await service.login(user.email, shop.code)).body.access_token
    await service.call('POST', '/auth/email/change', { token, body: { email: changed, password: PASSWORD } })
    const link = await mailbox.take(changed, /./)
    await service.call('POST', '/auth/email/change/confirm', { token, body: { token: link.token } })
    service.advance(1)
    // Somebody at the browser of the person, who is still fresh there.
    await add(visitor, await visitor.get(pagePath()), new Authenticator(origin))
    expect(await passkeysOf(user.id)).toHaveLength(2)
    const undo = await mailbox.take(user.email, /changed|undo/i)
    expect((await service.call('POST', '/auth/email/change/undo', { body: { token: undo.token } })).status).toBe(200)
    expect(await passkeysOf(user.id)).toHaveLength(1)
    expect(isSignedIn(visitor)).toBe(true)
    expect((await signInBy(device, visit(service))).app).toBeDefined()
  })
})

describe('passkeys and admins', () => {
  test('an admin lists and removes the passkeys of a user, even the last one', async () => {
    const { user, device } = await buildWithPasskey({ isSynced: true })
    const [passkey] = await passkeysOf(user.id)
    expect(Object.keys(passkey ?? {}).sort()).toEqual(['backed_up', 'created_at', 'id', 'last_used_at', 'name', 'rp_id'])
    expect(passkey).toMatchObject({ backed_up: true })
    const path = `/admin/users/${user.id}/passkeys/${passkey?.id}`
    const other = await build()
    expectError(await service.admin('DELETE', `/admin/users/${other.user.id}/passkeys/${passkey?.id}`), 'not_found')
    expect((await service.admin('DELETE', `${path}?dry_run=true`)).status).toBe(204)
    expect(await passkeysOf(user.id)).toHaveLength(1)
    expect((await service.admin('DELETE', path)).status).toBe(204)
    expectError(await service.admin('DELETE', path), 'not_found')
    expect((await mailbox.take(user.email, /passkey was removed/)).text).not.toContain('Address:')
    expect((await signInBy(device, visit(service))).html).toContain('does not work here')
  })

  test('an admin sees how many passkeys belong to a former host, where they do not work', async () => {
    const { user, device, page, visitor } = await buildWithPasskey()
    await service.deps.db('passkeys').where({ user_id: user.id }).update({ rp_id: 'old.example.com' })
    expect((await service.admin('GET', '/admin/settings')).body.passkeys_elsewhere).toBe(1)
    expect((await signInBy(device, visit(service))).html).toContain('does not work here')
    expect((await visitor.get(pagePath())).html).toContain('belongs to')
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
    const added = await add(visitor, await visitor.get(pagePath()), new Authenticator(origin))
    const ids = added.forms.flatMap(({ values }) => (values.step === 'remove' ? [values.id] : []))
    const last = ids.find((id) => id !== postOf(page, 'remove').id)
    await visitor.post(`${service.url}/account/passkeys`, { ...postOf(added, 'remove'), id: last ?? '' })
    expect(await passkeysOf(user.id)).toHaveLength(2)
  })
})
