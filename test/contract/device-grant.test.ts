// Sign-ins on devices without a browser (RFC 8628), which a person allows at /device.
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildClient, buildProven, sendForm, userinfo } from '../support/openid.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { type Arrival, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_IP: 'off', AUTH_TRUST_PROXY: '1' }, { frozen: true })
const tv = appFixture(service, { auto_grant_on_signup: true, device_grant: true })
const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

async function begin(app: Json = tv, more: Record<string, string> = {}): Promise<Json> {
  const { status, body } = await sendForm(service, '/oauth/device_authorization', { client_id: app.code, ...more })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

function poll(begun: Json, app: Json = tv, more: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const form = { grant_type: grantType, device_code: begun.device_code, client_id: app.code, ...more }
  return sendForm(service, '/oauth/token', form, headers)
}

/** Signs in at /device, and types the code. */
async function enter(
  visitor: Visitor,
  begun: Pick<Json, 'user_code'>,
  { email, app = tv }: { email?: string; app?: Json } = {},
): Promise<Arrival> {
  let page = await visitor.get(`/device?app=${app.code}`)
  if (page.title !== 'Sign in on a device') page = await visitor.send(page, 'Sign in', { email: email!, password: PASSWORD })
  expect(page.title).toBe('Sign in on a device')
  return visitor.send(page, 'Continue', { user_code: begun.user_code })
}

async function buildPerson(app: Json = tv) {
  const { user } = await buildUser(service, app)
  return { user, visitor: visit(service) }
}

describe('a device', () => {
  test('a device signs in the person who types its code and allows it, once', async () => {
    const begun = await begin(tv, { scope: 'openid profile' })
    expect(begun).toEqual({
      ...{
        device_code: expect.stringMatching(/^gdc_/),
        user_code: expect.stringMatching(/^[BCDFGHJ-NP-TV-XZ]{4}-[BCDFGHJ-NP-TV-XZ]{4}$/),
      },
      ...{ verification_uri: `${service.deps.config.publicUrl}/device?app=${tv.code}`, expires_in: 600, interval: 5 },
    })
    expect((await poll(begun)).body).toMatchObject({ error: 'authorization_pending', code: 'authorization_pending' })
    const { user, visitor } = await buildPerson()
    const page = await enter(visitor, { user_code: begun.user_code.toLowerCase().replace('-', ' ') }, { email: user.email })
    expect(page.title).toBe(`Allow sign-in to ${tv.name}?`)
    expect(page.html).toContain('127.0.0.1')
    expect((await poll(begun)).status).toBe(400)
    expect((await visitor.send(page, 'Allow')).title).toBe('The device is signed in')
    const { status, body } = await poll(begun)
    expect(status).toBe(200)
    expect(body).toMatchObject({ scope: 'openid profile', id_token: expect.any(String) })
    expect(claimsOf(body.access_token)).toMatchObject({ uid: user.id, aud: tv.code, amr: ['pwd'] })
    expect((await userinfo(service, body.access_token)).body.sub).toBe(user.id)
    expect((await auditEvents(service, { event: 'device_grant.approved', user_id: user.id })).length).toBe(1)
  })

  test('a device that polls again together with the successful poll stays signed in, and later its code ends the session', async () => {
    const signedIn = async (at: Record<string, string> = {}) => {
      const begun = await begin(tv, { scope: 'openid' })
      const { user, visitor } = await buildPerson()
      await visitor.send(await enter(visitor, begun, { email: user.email }), 'Allow')
      const replies = await atOnce(5, () => poll(begun, tv, {}, at))
      const [first, ...more] = replies.filter(({ status }) => status === 200)
      expect(more).toEqual([])
      for (const reply of replies) if (reply !== first) expect([reply.status, reply.body.error]).toEqual([400, 'invalid_grant'])
      return { begun, user, token: first!.body.access_token as string }
    }
    const stateOf = async (token: string) => (await userinfo(service, token)).body.code ?? 'alive'
    const { begun, user, token } = await signedIn()
    expect(await stateOf(token)).toBe('alive')
    expect(await auditEvents(service, { event: 'code.reused', user_id: user.id })).toEqual([])

    // A device changes its address within the network of its household.
    const inNetwork = (host: number) => ({ 'x-forwarded-for': `2001:db8:1:2::${host}` })
    const moved = await signedIn(inNetwork(1))
    expect((await poll(moved.begun, tv, {}, inNetwork(2))).body.error).toBe('invalid_grant')
    expect(await stateOf(moved.token)).toBe('alive')

    // A second use from elsewhere may be an attacker's at any time, and so may the first.
    const elsewhere = { 'x-forwarded-for': '203.0.113.77' }
    const other = await signedIn()
    expect((await poll(other.begun, tv, {}, elsewhere)).body.error).toBe('invalid_grant')
    expect(await stateOf(other.token)).toBe('token_revoked')

    service.advance(30)
    expect((await poll(begun)).body.error).toBe('invalid_grant')
    expect(await stateOf(token)).toBe('alive')
    service.advance(1)
    expect((await poll(begun)).body.error).toBe('invalid_grant')
    expect(await stateOf(token)).toBe('token_revoked')
    expect(await auditEvents(service, { event: 'code.reused', user_id: user.id })).toHaveLength(1)
  })

  test('a device learns that the person denied it, that its code expired, and that it polls too often', async () => {
    const { user, visitor } = await buildPerson()
    const denied = await begin()
    const page = await enter(visitor, denied, { email: user.email })
    expect((await visitor.send(page, 'Deny')).title).toBe('The device is not signed in')
    expect((await poll(denied)).body).toMatchObject({ error: 'access_denied', code: 'device_grant_denied' })
    expect((await visitor.send(page, 'Allow')).title).toBe('Sign in on a device')
    expect((await poll(denied)).body.error).toBe('access_denied')
    expect((await auditEvents(service, { event: 'device_grant.denied', user_id: user.id })).length).toBe(1)

    const waiting = await begin()
    expect((await poll(waiting)).body.error).toBe('authorization_pending')
    expect((await poll(waiting)).body.error).toBe('slow_down')
    service.advance(5)
    expect((await poll(waiting)).body.error).toBe('authorization_pending')
    service.advance(596)
    expect((await poll(waiting)).body).toMatchObject({ error: 'expired_token', code: 'device_code_expired' })
    const late = await enter(visitor, waiting)
    expect(late.html).toContain('No device waits with this code')
  })

  test('a code works only for the app that it was made for, and a made-up code never', async () => {
    const other = await buildApp(service, { auto_grant_on_signup: true, device_grant: true })
    const begun = await begin()
    // Not even whether it waits.
    expect((await poll(begun, other)).body.error).toBe('invalid_grant')
    const { user, visitor } = await buildPerson()
    await visitor.send(await enter(visitor, begun, { email: user.email }), 'Allow')
    expect((await poll(begun, other)).body.error).toBe('invalid_grant')
    expect((await poll({ device_code: 'gdc_made_up' })).body.error).toBe('invalid_grant')
    const asCode = {
      grant_type: 'authorization_code',
      code: begun.device_code,
      client_id: tv.code,
      redirect_uri: 'x',
      code_verifier: 'x',
    }
    expect((await sendForm(service, '/oauth/token', asCode)).body.error).toBe('invalid_grant')
  })

  test('a device gets no code if the app has no device grant or is inactive', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const refused = await sendForm(service, '/oauth/device_authorization', { client_id: app.code })
    expect([refused.status, refused.body.error, refused.body.code]).toEqual([400, 'unauthorized_client', 'device_grant_disabled'])
    const unknown = await sendForm(service, '/oauth/device_authorization', { client_id: 'nobody' })
    expect([unknown.status, unknown.body.error]).toEqual([401, 'invalid_client'])
    expect((await sendForm(service, '/oauth/device_authorization', {})).status).toBe(400)
    const own = await buildApp(service, { auto_grant_on_signup: true, device_grant: true })
    const begun = await begin(own)
    await service.admin('PATCH', `/admin/apps/${own.code}`, { body: { device_grant: false } })
    expect((await poll(begun, own)).body.code).toBe('device_grant_disabled')
    await service.admin('PATCH', `/admin/apps/${own.code}`, { body: { device_grant: true, status: 'inactive' } })
    expect((await sendForm(service, '/oauth/device_authorization', { client_id: own.code })).body.code).toBe('app_inactive')
  })

  test('a device of a confidential app needs the client secret', async () => {
    const { app, secret } = await buildClient(service, { device_grant: true })
    const without = await sendForm(service, '/oauth/device_authorization', { client_id: app.code })
    expect([without.status, without.body.error]).toEqual([401, 'invalid_client'])
    const begun = await begin(app, { client_secret: secret })
    const { user, visitor } = await buildPerson(app)
    await visitor.send(await enter(visitor, begun, { email: user.email, app }), 'Allow')
    expect((await poll(begun, app)).status).toBe(401)
    expect((await poll(begun, app, { client_secret: secret })).status).toBe(200)
  })

  test('a device is not signed in if its user has lost access or signed out in the meantime', async () => {
    for (const end of [
      (user: Json) => service.admin('DELETE', `/admin/users/${user.id}/apps/${tv.id}`),
      (user: Json) => service.admin('POST', `/admin/users/${user.id}/logout`),
      (user: Json) => service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } }),
    ]) {
      const begun = await begin()
      const { user, visitor } = await buildPerson()
      await visitor.send(await enter(visitor, begun, { email: user.email }), 'Allow')
      await end(user)
      expect((await poll(begun)).body.error).toBe('invalid_grant')
    }
  })
})

describe('device phishing', () => {
  test('the person has to type the code: a link from another browser opens nothing', async () => {
    const begun = await begin()
    const attacker = await buildPerson()
    await enter(attacker.visitor, begun, { email: attacker.user.email })
    const field = (await attackersLink(attacker.visitor, begun))!
    const victim = await buildPerson()
    await enter(victim.visitor, await begin(), { email: victim.user.email })
    const page = await victim.visitor.get(field)
    expect(page.title).toBe('Sign in on a device')
    expect(page.html).toContain('The device no longer waits')
    expect((await poll(begun)).body.error).toBe('authorization_pending')
  })

  /** Where the browser is led to once the code was typed. */
  async function attackersLink(visitor: Visitor, begun: Json): Promise<string | null> {
    const page = await visitor.get(`/device?app=${tv.code}`)
    const form = page.forms.find(({ buttons }) => buttons.has('Continue'))!
    const reply = await visitor.post(`${service.url}/device`, { ...form.values, user_code: begun.user_code })
    return reply.headers.get('location')
  }

  test('a form that another person was shown in the same browser allows no device', async () => {
    const [ada, eve] = [await buildPerson(), await buildPerson()]
    const { visitor } = ada
    const signIn = (email: string, page: Arrival) => visitor.send(page, 'Sign in', { email, password: PASSWORD })
    const shown = await signIn(ada.user.email, await visitor.get(`/device?app=${tv.code}`))
    expect(shown.title).toBe('Sign in on a device')
    await visitor.send(await visitor.get('/oauth/logout'), 'Sign out')
    await signIn(eve.user.email, await visitor.get(`/device?app=${tv.code}`))
    const page = await visitor.send(shown, 'Continue', { user_code: (await begin()).user_code })
    expect(page.title).toBe('This page is too old')
  })

  test('a person and an address have five tries, and a right code is not counted', async () => {
    service.advance(601)
    const { user, visitor } = await buildPerson()
    const right = await begin()
    expect((await enter(visitor, right, { email: user.email })).title).toContain('Allow')
    for (let wrong = 0; wrong < 5; wrong += 1)
      expect((await enter(visitor, { user_code: 'BBBB-BBBB' })).html).toContain('No device waits')
    expect((await enter(visitor, right)).html).toContain('Too many wrong codes')
    const other = await buildPerson()
    expect((await enter(other.visitor, right, { email: other.user.email })).html).toContain('Too many wrong codes')
    service.advance(601)
    expect((await enter(visitor, await begin())).title).toContain('Allow')
  })

  test('moving about in one IPv6 network gives no more tries', async () => {
    service.advance(601)
    const typeFrom = async ({ user, visitor }: Awaited<ReturnType<typeof buildPerson>>, host: number) => {
      let page = await visitor.get(`/device?app=${tv.code}`)
      if (page.title !== 'Sign in on a device')
        page = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
      const from = { 'x-forwarded-for': `2001:db8:5:6::${host}` }
      return (await visitor.send(page, 'Continue', { user_code: 'BBBB-BBBB' }, from)).html
    }
    const [one, two] = [await buildPerson(), await buildPerson()]
    for (const [host, person] of [one, two, one, two, one].entries())
      expect(await typeFrom(person, host + 1)).toContain('No device waits')
    expect(await typeFrom(two, 6)).toContain('Too many wrong codes')
  })

  test('a form from another site is refused', async () => {
    const { user, visitor } = await buildPerson()
    const begun = await begin()
    const page = await enter(visitor, begun, { email: user.email })
    const form = page.forms.find(({ buttons }) => buttons.has('Allow'))!
    const foreign = await visitor.post(`${service.url}/oauth/authorize`, form.values, { 'sec-fetch-site': 'cross-site' })
    expect(foreign.status).toBe(403)
    const typed = await visitor.post(`${service.url}/device`, { user_code: begun.user_code }, { origin: 'https://evil.example' })
    expect(typed.status).toBe(403)
    const unsealed = await visitor.post(`${service.url}/device`, { user_code: begun.user_code })
    expect(unsealed.status).toBe(400)
    expect((await poll(begun)).body.error).toBe('authorization_pending')
  })

  test('authctl asks for new proofs of both factors, so that phishing gives no administration', async () => {
    const admins = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token } = await buildUser(service, admins)
    await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role: 'system_admin' } })
    await service.admin('POST', `/admin/users/${user.id}/apps/authctl`)
    const authctl = { code: 'authctl', name: 'authctl' }
    const visitor = visit(service)
    const begun = await begin(authctl)
    expect(begun.verification_uri).toBe(`${service.deps.config.publicUrl}/device`)
    const without = await enter(visitor, begun, { email: user.email, app: authctl })
    expect(without.forms.some(({ buttons }) => buttons.has('Allow'))).toBe(false)
    const { code } = await enableTwoFactor(service, access_token)
    service.advance(31)
    const fresh = visit(service)
    let page = await fresh.get('/device')
    page = await fresh.send(page, 'Sign in', { email: user.email, password: PASSWORD })
    page = await fresh.send(page, 'Continue', { two_factor_code: code() })
    page = await fresh.send(page, 'Continue', { user_code: begun.user_code })
    expect(page.title).toBe('Allow sign-in to authctl?')
    service.advance(601)
    const again = await begin(authctl)
    page = await enter(fresh, again, { app: authctl })
    expect(page.title).toContain('Sign in')
    expect((await poll(again, authctl)).body.error).toBe('authorization_pending')
  })
})

test('codes are stored as digests, and the answers are not cached', async () => {
  const begun = await begin()
  const rows = JSON.stringify(await service.deps.db('device_codes'))
  for (const secret of [begun.device_code, begun.user_code, begun.user_code.replace('-', '')]) expect(rows).not.toContain(secret)
  const reply = await sendForm(service, '/oauth/device_authorization', { client_id: tv.code })
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.headers.get('access-control-allow-origin')).toBeNull()
})

test('a person whom the app does not admit cannot allow a device', async () => {
  const closed = await buildApp(service, { device_grant: true })
  const begun = await begin(closed)
  const user = await buildProven(service, tv)
  const page = await enter(visit(service), begun, { email: user.email, app: closed })
  expect(page.title).toBe('You don’t have access yet')
  expect((await poll(begun, closed)).body.error).toBe('authorization_pending')
})

test('the page of an app that does not exist is 404', async () => {
  expect((await visit(service).get('/device?app=nobody')).status).toBe(404)
})
