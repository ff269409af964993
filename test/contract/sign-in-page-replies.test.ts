// What the routes of the sign-in page answer when a request or the service is at fault, and each refusal of the token endpoint.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { listRootRoutes } from '../../packages/server/src/app.ts'
import type { ErrorCode } from '../../packages/server/src/errors.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'
import type { Route } from '../../packages/server/src/http/route.ts'
import { oauthStatusOf } from '../../packages/server/src/http/speak/oauth.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildApp, buildService, buildUser, type Json, type Reply, type TestService } from '../support/service.ts'
import { askFor, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'

const service = serviceFixture({}, { frozen: true })
const allowed_redirect_urls = ['https://shop.example/callback']
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls })

/** A service whose address has a path, so that it has no pages. */
const hidden = serviceFixture({ PUBLIC_URL: 'http://127.0.0.1/auth' })
const shopThere = appFixture(hidden, { auto_grant_on_signup: true, device_grant: true })

const formType = 'application/x-www-form-urlencoded'
const isOfAccount = (path: string) => path.startsWith('/account') && !path.endsWith('.js')
const routes = listRootRoutes().filter(({ path }) => path.startsWith('/oauth/') || isOfAccount(path) || path === '/device')
const declaring = (code: ErrorCode) =>
  routes.filter((route) => [...errorsOf(route).values()].flat().includes(code)).map((route) => ({ name: nameOf(route), route }))
const changePassword = listRootRoutes().find(({ path }) => path === '/.well-known/change-password')!
const nameOf = ({ method, path }: Route) => `${method} ${path}`

/** Sends a body as a page of ours would. */
const post = ({ path }: Route, body: string | Uint8Array, type = formType, at: TestService = service): Promise<Reply> =>
  rawCall(at.url, 'POST', path, { headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' }, chunks: [body] })

/** An error as the route shows it: a page, or JSON for OAuth clients. */
function expectFault(route: Route, reply: Reply, code: ErrorCode, status: number): void {
  if (route.speaks === 'oauth') {
    expectError(reply, code)
    return
  }
  expect(reply.status).toBe(status)
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.body).toContain('<h1>')
}

describe('a request that cannot be read', () => {
  test.each(declaring('payload_too_large'))('$name takes 64 KiB and no byte more', async ({ route }) => {
    const most = `x=${'x'.repeat(64 * 1024 - 2)}`
    expect((await post(route, most)).status).not.toBe(413)
    expectFault(route, await post(route, `${most}x`), 'payload_too_large', 413)
  })

  test.each(declaring('unsupported_media_type'))('$name refuses a body of another type', async ({ route }) => {
    for (const type of ['text/plain', 'multipart/form-data; boundary=x', `${formType}; charset=latin1`])
      expectFault(route, await post(route, 'x=1', type), 'unsupported_media_type', 415)
  })

  test.each(declaring('invalid_json'))(
    '$name refuses a form that is not UTF-8, or has a NUL or too many fields',
    async ({ route }) => {
      const unsound = route.speaks === 'page' ? ['x=%ff', 'x=%00'] : ['x=%00']
      for (const body of [...unsound, 'x=1&'.repeat(60)]) expectFault(route, await post(route, body), 'invalid_json', 400)
    },
  )

  test.each(declaring('validation_failed'))('$name has no dry run', async ({ route }) => {
    const headers = { 'content-type': formType, 'sec-fetch-site': 'same-origin' }
    const reply = await rawCall(service.url, route.method, `${route.path}?dry_run=true`, {
      headers,
      ...(route.method === 'POST' ? { chunks: ['x=1'] } : {}),
    })
    expectFault(route, reply, 'validation_failed', 400)
  })
})

test.each(declaring('rate_limited'))('$name answers 429 past AUTH_RATE_LIMIT_IP and says when to retry', async ({ route }) => {
  const limited = await buildService({ AUTH_RATE_LIMIT_IP: '2/60' })
  for (let i = 0; i < 2; i += 1) expect((await post(route, 'x=1', formType, limited)).status).not.toBe(429)
  const refused = await post(route, 'x=1', formType, limited)
  expectFault(route, refused, 'rate_limited', 429)
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
  limited.advance(60)
  expect((await post(route, 'x=1', formType, limited)).status).not.toBe(429)
})

const hiding = [...declaring('not_found'), { name: 'GET /.well-known/change-password', route: changePassword }]
test.each(hiding)('$name does not exist if PUBLIC_URL has a path', async ({ route }) => {
  const url = `${hidden.url}${route.path}`
  const method = route.method
  const headers = { 'content-type': formType, 'sec-fetch-site': 'same-origin' }
  const sent = { client_id: shopThere.code }
  const reply = await fetch(url, { method, redirect: 'manual', headers, ...(method === 'POST' ? { body: body(sent) } : {}) })
  expect(reply.status).toBe(404)
})

test.each(declaring('foreign_form'))('$name refuses a form of another site', async ({ route }) => {
  const headers = { 'content-type': formType, 'sec-fetch-site': 'cross-site' }
  expectFault(route, await rawCall(service.url, 'POST', route.path, { headers, chunks: ['x=1'] }), 'foreign_form', 403)
})

describe('a section of the account page', () => {
  const shown = routes.filter(({ method, path, responses }) => method === 'GET' && isOfAccount(path) && 200 in responses)
  const ofSections = shown.filter(({ path }) => !path.includes('.')).map((route) => ({ path: route.path }))

  test.each(ofSections)('$path leads to the sign-in page of the named app, and is 400 without one', async ({ path }) => {
    const bare = await buildService()
    const named = await buildApp(bare)
    const ask = (query: string) => fetch(`${bare.url}${path}${query}`, { redirect: 'manual' })
    expect((await ask('')).status).toBe(400)
    const led = await ask(`?app=${named.code}`)
    expect([led.status, led.headers.get('location')]).toEqual([303, expect.stringContaining('/oauth/authorize?')])
  })
})

test('a wrong password on the page of the export is audited', async () => {
  const { user } = await buildUser(service, shop)
  const visitor = visit(service)
  await signInOnPage(visitor, askFor(shop), user.email)
  service.advance(601)
  const page = await visitor.get(`/account/data?app=${shop.code}`)
  const form = page.forms.find(({ values }) => values.step === 'prove')!
  await visitor.post(new URL(form.action, service.url).href, { ...form.values, password: 'wrong' })
  const failed = await service.deps.db('audit_events').where({ user_id: user.id }).orderBy('id', 'desc').first('event')
  expect(failed?.event).toMatch(/failed/)
})

test('every route reports in its own form that it cannot answer without its database', async () => {
  const own = await buildService()
  const app = await buildApp(own, { auto_grant_on_signup: true, allowed_redirect_urls })
  const { user, access_token } = await buildUser(own, app)
  const visitor = visit(own)
  await signInOnPage(visitor, askFor(app), user.email)
  const page = await visitor.get(askFor(app, { prompt: 'login' }).path)
  const device = await visitor.get(`/device?app=${app.code}`)
  const leaving = await visitor.get(`/oauth/logout?client_id=${app.code}`)
  const { field = '' } = (await visitor.get(`/account/passkeys?app=${app.code}`)).forms[0]!.values
  const { request_id } = (await own.call('POST', '/auth/email-code', { body: { email: user.email, app_code: app.code } })).body
  await own.deps.db.destroy()
  expectError(await own.call('POST', '/auth/email-code/consume', { body: { request_id, code: '123456' } }), 'unavailable')
  expectError(await rawCall(own.url, 'GET', `/logos/${'0'.repeat(64)}`, {}), 'unavailable')
  const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ')
  const sent: Record<string, string> = {
    'GET /oauth/authorize': askFor(app).path,
    'POST /oauth/authorize': body({ ...page.forms[0]!.values, email: user.email, password: 'x' }),
    'GET /oauth/return': '/oauth/return?state=x&code=x',
    'GET /oauth/mail': '/oauth/mail?token=x',
    'POST /oauth/token': body({ ...codeGrant, client_id: app.code }),
    'POST /oauth/revoke': body({ token: 'x' }),
    'POST /oauth/device_authorization': body({ client_id: app.code }),
    'GET /oauth/userinfo': '/oauth/userinfo',
    'POST /oauth/userinfo': body({ access_token }),
    'GET /oauth/jwks': '/oauth/jwks',
    'GET /device': `/device?app=${app.code}`,
    'POST /device': body({ ...device.forms[0]!.values, user_code: 'BCDF-GHJK' }),
    'GET /oauth/logout': `/oauth/logout?client_id=${app.code}`,
    'POST /oauth/logout': body(leaving.forms[0]!.values),
  }
  for (const { method, path } of routes.filter(({ path }) => isOfAccount(path)))
    sent[`${method} ${path}`] =
      method === 'GET' ? `${path}?app=${app.code}` : body({ field, app: app.code, step: 'prove', password: 'x' })
  expect(Object.keys(sent).sort()).toEqual(routes.map(nameOf).sort())
  for (const route of routes) {
    const given = sent[nameOf(route)]!
    const headers = { 'content-type': formType, 'sec-fetch-site': 'same-origin', cookie }
    const reply =
      route.method === 'GET'
        ? await rawCall(own.url, 'GET', given, {
            headers: { cookie, ...(given === '/oauth/userinfo' ? { authorization: `Bearer ${access_token}` } : {}) },
          })
        : await rawCall(own.url, 'POST', route.path, { headers, chunks: [given] })
    expectFault(route, reply, 'unavailable', 503)
  }
})
const body = (values: Record<string, string>) => new URLSearchParams(values).toString()
const codeGrant = { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://x.example', code_verifier: 'x' }

describe('an app that is switched off during a sign-in', () => {
  async function buildOpen() {
    const app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls })
    const close = () => service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    return { app, close, visitor: visit(service), user: (await buildUser(service, app)).user }
  }

  test('the page and the answer to its form say that the app is switched off', async () => {
    const { app, close, visitor, user } = await buildOpen()
    const page = await visitor.get(askFor(app).path)
    await close()
    const arrivals = [
      await visitor.get(askFor(app).path),
      await visitor.send(page, 'Sign in', { email: user.email, password: 'any' }),
    ]
    for (const { status, title, app: at } of arrivals)
      expect([status, title, at]).toEqual([403, 'This app is switched off', undefined])
  })
})

test('a link that was never mailed does not work', async () => {
  for (const token of ['', 'x', 'gmt_x']) {
    const page = await visit(service).get(`/oauth/mail?token=${token}`)
    expect([page.status, page.title]).toEqual([400, 'This link does not work'])
  }
})

describe('the token endpoint', () => {
  const ask = async (values: Record<string, string>, headers: Record<string, string> = {}): Promise<Reply> => {
    const reply = await fetch(`${service.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(values), headers })
    return { status: reply.status, headers: reply.headers, body: await reply.json() }
  }
  /** Somebody who is signed in in a browser and has a session of an app that came from a code. */
  async function buildSession(): Promise<{ app: Json; user: Json; visitor: Visitor; tokens: Json }> {
    const app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls })
    const { user } = await buildUser(service, app)
    const visitor = visit(service)
    const asked = askFor(app)
    const { app: at } = await signInOnPage(visitor, asked, user.email)
    return { app, user, visitor, tokens: (await exchange(service, app, asked, at)).body }
  }
  const refresh = ({ app, tokens }: { app: Json; tokens: Json }, more: Record<string, string> = {}) =>
    ask({ grant_type: 'refresh_token', client_id: app.code, refresh_token: tokens.refresh_token, ...more })

  /** An error of RFC 6749, with our code. */
  function expectRefusal(reply: Reply, code: ErrorCode, error: string): void {
    expectError(reply, code)
    expect([reply.status, reply.body.error]).toEqual([oauthStatusOf(code), error])
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.body.access_token).toBeUndefined()
  }

  test('the token endpoint gives nothing for an address that the app has since required to be verified', async () => {
    const { app, visitor, tokens } = await buildSession()
    const asked = askFor(app)
    const { app: at } = await visitor.get(asked.path)
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { require_verified_email: true } })
    const refused = await exchange(service, app, asked, at)
    expectRefusal(refused, 'email_unverified', 'invalid_grant')
    expectRefusal(await refresh({ app, tokens }), 'email_unverified', 'invalid_grant')
  })

  test('the token endpoint answers a session of a suspended user with account_suspended', async () => {
    const { app, user, tokens } = await buildSession()
    // A suspension also ends the sessions; the gate stands behind it.
    await service.deps.db('users').where({ id: user.id }).update({ status: 'suspended' })
    expectRefusal(await refresh({ app, tokens }), 'account_suspended', 'invalid_grant')
  })

  test('the token endpoint ends the session of a refresh token that is used again', async () => {
    const { app, tokens } = await buildSession()
    const next = await refresh({ app, tokens })
    expect(next.status).toBe(200)
    service.advance(service.deps.config.refreshLeewaySeconds + 1)
    expectRefusal(await refresh({ app, tokens }), 'refresh_token_reused', 'invalid_grant')
    expectRefusal(await refresh({ app, tokens: next.body }), 'invalid_refresh_token', 'invalid_grant')
  })

  test('the token endpoint refuses an organization that the user is not in, and the session goes on', async () => {
    const session = await buildSession()
    const refused = await refresh(session, { organization_id: randomUUID() })
    expectRefusal(refused, 'organization_membership_required', 'invalid_grant')
    expect((await refresh(session)).status).toBe(200)
  })

  describe('a request of a service account', () => {
    const accountOf = async (settings: Json): Promise<Json> => {
      const fields = { name: randomUUID(), service: 'caller', scopes: ['tokens:issue'], ...settings }
      const { status, body } = await service.admin('POST', '/admin/service-accounts', { body: fields })
      expect(status, JSON.stringify(body)).toBe(201)
      return body
    }
    const grant = (app: Json) => ({ grant_type: 'client_credentials', app_code: app.code })
    const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(`caller:${token}`).toString('base64')}` })

    test('a service account gets a machine token by Basic, by Bearer and with the token in the body', async () => {
      const app = await buildApp(service, { machine_tokens: true })
      const { token } = await accountOf({ app_codes: [app.code] })
      for (const [values, headers] of [
        [{}, basic(token)],
        [{}, { authorization: `Bearer ${token}` }],
        [{ client_secret: token }, {}],
      ] as const) {
        const { status, body } = await ask({ ...grant(app), ...values }, headers)
        expect([status, body.token_type, body.refresh_token]).toEqual([200, 'Bearer', undefined])
      }
    })

    test('a request without a token, or with one that is made up, of a person or expired, is refused', async () => {
      const app = await buildApp(service, { machine_tokens: true, auto_grant_on_signup: true })
      const { id, token } = await accountOf({ app_codes: [app.code] })
      const { access_token } = await buildUser(service, app)
      expectRefusal(await ask(grant(app)), 'token_missing', 'invalid_client')
      for (const bearer of ['gsa_made_up', access_token])
        expectRefusal(await ask(grant(app), { authorization: `Bearer ${bearer}` }), 'token_invalid', 'invalid_client')
      await service.deps.db('service_accounts').where({ id }).update({ expires_at: 1 })
      expectRefusal(await ask(grant(app), basic(token)), 'token_expired', 'invalid_client')
    })

    test('a service account without the scope, and an app that takes no machine tokens, are refused', async () => {
      const app = await buildApp(service, { machine_tokens: true })
      const closed = await buildApp(service)
      const { token } = await accountOf({ app_codes: [app.code], scopes: ['tokens:introspect'] })
      expectRefusal(await ask(grant(app), basic(token)), 'scope_required', 'unauthorized_client')
      const other = await accountOf({ app_codes: [app.code, closed.code] })
      expectRefusal(await ask(grant(closed), basic(other.token)), 'machine_tokens_disabled', 'unauthorized_client')
    })
  })
})

test('revoking an unknown token or one of another app ends nothing', async () => {
  const { user, refresh_token } = await buildUser(service, shop)
  const revoke = (token: string, client_id: string) =>
    fetch(`${service.url}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token, client_id }) })
  for (const [token, client] of [
    ['grt_made_up', shop.code],
    [refresh_token, 'another-app'],
  ] as const)
    expect((await revoke(token, client)).status).toBe(200)
  const alive = () => service.deps.db('sessions').where({ user_id: user.id }).whereNull('ended_at')
  expect(await alive()).toHaveLength(1)
  expect((await revoke(refresh_token, shop.code)).status).toBe(200)
  expect(await alive()).toHaveLength(0)
})
