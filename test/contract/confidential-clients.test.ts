// Apps that authenticate with a client secret: where it is asked for, where it may stand, and what it closes.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'
import { type AskedFor, askFor, exchange, signInOnPage, visit } from '../support/sign-in-page.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_IP: 'off' }, { frozen: true })
const redirect = 'https://charts.example/callback'
const settings = { auto_grant_on_signup: true, allowed_redirect_urls: [redirect] }

async function newSecret(app: Json): Promise<{ id: string; secret: string }> {
  const { status, body } = await service.admin('POST', `/admin/apps/${app.code}/client-secrets`)
  expect(status).toBe(201)
  return body
}

async function buildConfidential(changes: Json = {}) {
  const app = await buildApp(service, { ...settings, client: 'confidential', ...changes })
  const { secret } = await newSecret(app)
  return { app, secret }
}
const charts = fixture(buildConfidential)

/** A code for a new user, without its exchange. */
async function codeFor(app: Json, parameters: Record<string, string | undefined> = {}) {
  const { user } = await buildUser(service, app)
  const asked = askFor(app, parameters)
  const { app: at } = await signInOnPage(visit(service), asked, user.email)
  return { asked, at: at!, user }
}

interface Sent {
  form?: Record<string, string | undefined>
  basic?: [user: string, password: string]
  headers?: Record<string, string>
}

async function post(path: string, { form = {}, basic, headers = {} }: Sent) {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(form)) if (value !== undefined) body.append(name, value)
  const authorization = basic && { authorization: `Basic ${Buffer.from(basic.join(':')).toString('base64')}` }
  const reply = await fetch(`${service.url}${path}`, { method: 'POST', body, headers: { ...authorization, ...headers } })
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Json }
}

const grant = (asked: AskedFor, at: URL, extra: Record<string, string | undefined> = {}) => ({
  grant_type: 'authorization_code',
  redirect_uri: asked.redirectUri,
  code: at.searchParams.get('code')!,
  code_verifier: asked.verifier,
  ...extra,
})

async function tokensOf({ app, secret }: { app: Json; secret: string }) {
  const { asked, at, user } = await codeFor(app)
  const { status, body } = await post('/oauth/token', { form: grant(asked, at), basic: [app.code, secret] })
  expect(status).toBe(200)
  return { tokens: body, user }
}

describe('the exchange of a code by a confidential app', () => {
  test('the app sends its secret in HTTP Basic or in the body, form-encoded or not', async () => {
    const { app, secret } = charts
    const encoded = secret.replace(/[^a-z0-9]/gi, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    const ways: Sent[] = [
      { basic: [app.code, secret] },
      { basic: [app.code.replaceAll('-', '%2D'), encoded] },
      { form: { client_id: app.code, client_secret: secret } },
      { basic: [app.code, secret], form: { client_id: app.code } },
    ]
    for (const { basic, form } of ways) {
      const { asked, at } = await codeFor(app)
      expect(await post('/oauth/token', { basic, form: grant(asked, at, form) })).toMatchObject({ status: 200 })
    }
  })

  test('a missing or wrong secret is refused, and does not use up the code', async () => {
    const { app, secret } = charts
    const other = await buildConfidential()
    const { asked, at } = await codeFor(app)
    const wrong: Sent[] = [
      { form: { client_id: app.code } },
      { form: { client_id: app.code, client_secret: '' } },
      { form: { client_id: app.code, client_secret: 'gcs_wrong' } },
      { form: { client_id: app.code, client_secret: other.secret } },
      { basic: [app.code, ''] },
      { basic: [app.code, secret.toUpperCase()] },
      { basic: ['nobody', secret] },
      { headers: { authorization: 'Basic !' } },
      { headers: { authorization: `Basic ${btoa(app.code)}` }, form: { client_id: app.code } },
    ]
    for (const { form, ...sent } of wrong) {
      const { status, headers, body } = await post('/oauth/token', { ...sent, form: grant(asked, at, form) })
      expect([status, body.error, body.code]).toEqual([401, 'invalid_client', 'invalid_client'])
      expect(headers.get('www-authenticate')).toMatch(/^Basic /)
    }
    expect(await post('/oauth/token', { form: grant(asked, at), basic: [app.code, secret] })).toMatchObject({ status: 200 })
  })

  test('secrets in two places, and two names, are refused', async () => {
    const { app, secret } = charts
    const { asked, at } = await codeFor(app)
    const both: Sent[] = [
      { basic: [app.code, secret], form: { client_secret: secret } },
      { basic: [app.code, secret], form: { client_id: 'other' } },
      { headers: { authorization: 'Bearer x' }, form: { client_id: app.code, client_secret: secret } },
      { form: { client_secret: secret } },
    ]
    for (const { basic, form, headers } of both) {
      const { status, body } = await post('/oauth/token', { basic, headers, form: grant(asked, at, form) })
      expect([status, body.error]).toEqual([400, 'invalid_request'])
    }
    const inQuery = `/oauth/token?client_id=${app.code}&client_secret=${secret}`
    expect((await post(inQuery, { form: grant(asked, at) })).status).not.toBe(200)
  })

  test('the code of another app is refused, and is used up by that', async () => {
    const other = await buildConfidential()
    const { asked, at } = await codeFor(charts.app)
    const stolen = await post('/oauth/token', { form: grant(asked, at), basic: [other.app.code, other.secret] })
    expect(stolen).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    const late = await post('/oauth/token', { form: grant(asked, at), basic: [charts.app.code, charts.secret] })
    expect(late).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })
})

describe('a code without PKCE', () => {
  const none = { code_challenge: undefined, code_challenge_method: undefined }

  test('a confidential app gets a code for openid with a nonce, and exchanges it without a verifier', async () => {
    const { app, secret } = charts
    const { asked, at } = await codeFor(app, { ...none, scope: 'openid', nonce: 'n' })
    const sent = { form: grant(asked, at, { code_verifier: undefined }), basic: [app.code, secret] } satisfies Sent
    expect(await post('/oauth/token', sent)).toMatchObject({ status: 200 })
  })

  test('a verifier for such a code is refused, and so is a missing one for a code with a challenge', async () => {
    const { app, secret } = charts
    for (const [parameters, verifier] of [
      [{ ...none, scope: 'openid', nonce: 'n' }, 'v'.repeat(43)],
      [{}, undefined],
    ] as const) {
      const { asked, at } = await codeFor(app, parameters)
      const sent = { form: grant(asked, at, { code_verifier: verifier }), basic: [app.code, secret] } satisfies Sent
      expect(await post('/oauth/token', sent)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    }
  })

  test.each([
    ['without openid', { nonce: 'n' }],
    ['without a nonce', { scope: 'openid' }],
    ['with a method alone', { scope: 'openid', nonce: 'n', code_challenge_method: 'S256' }],
  ])('a confidential app gets no code %s', async (_, parameters) => {
    const { app } = await visit(service).get(askFor(charts.app, { ...none, ...parameters }).path)
    expect(app?.searchParams.get('error')).toBe('invalid_request')
  })

  test('a public app never gets a code without PKCE', async () => {
    const app = await buildApp(service, settings)
    const { app: at } = await visit(service).get(askFor(app, { ...none, scope: 'openid', nonce: 'n' }).path)
    expect(at?.searchParams.get('error_description')).toBe('code_challenge is required (PKCE)')
  })
})

describe('the tokens of a confidential app', () => {
  test('the tokens open nothing in the API, and the app can end the session', async () => {
    const { tokens } = await tokensOf(charts)
    const token = tokens.access_token
    for (const [method, path] of [
      ['GET', '/auth/me'],
      ['PATCH', '/auth/me'],
      ['GET', '/auth/sessions'],
      ['POST', '/auth/password/change'],
      ['GET', '/admin/apps'],
    ] as const)
      expectError(await service.call(method, path, { token, ...(method === 'GET' ? {} : { body: {} }) }), 'token_invalid')
    expect((await service.call('POST', '/auth/logout', { body: { refresh_token: tokens.refresh_token } })).status).toBe(204)
    const refreshed = await post('/oauth/token', {
      form: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
      basic: [charts.app.code, charts.secret],
    })
    expect(refreshed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })

  test('the tokens are active at introspection', async () => {
    const { tokens } = await tokensOf(charts)
    const account = { name: `asks-${charts.app.code}`, service: 'x', scopes: ['tokens:introspect'], app_codes: [charts.app.code] }
    const { body: asking } = await service.admin('POST', '/admin/service-accounts', { body: account })
    const reply = await service.call('POST', '/auth/introspect', { token: asking.token, body: { token: tokens.access_token } })
    expect(reply.body.active).toBe(true)
  })

  test('the token endpoint alone refreshes the tokens, with the secret, and a refusal uses up nothing', async () => {
    const { tokens } = await tokensOf(charts)
    const refresh_token = tokens.refresh_token
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token } }), 'invalid_refresh_token')
    const form = { grant_type: 'refresh_token', refresh_token }
    const unauthenticated = await post('/oauth/token', { form: { ...form, client_id: charts.app.code } })
    expect(unauthenticated).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    const other = await buildConfidential()
    const foreign = await post('/oauth/token', { form, basic: [other.app.code, other.secret] })
    expect(foreign).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    const renewed = await post('/oauth/token', { form, basic: [charts.app.code, charts.secret] })
    expect(renewed.status).toBe(200)
  })

  test('a reused refresh token ends the session only if the app presents it', async () => {
    const { tokens } = await tokensOf(charts)
    const basic: [string, string] = [charts.app.code, charts.secret]
    const refresh = (refresh_token: string, sent: Sent = { basic }) =>
      post('/oauth/token', { ...sent, form: { grant_type: 'refresh_token', refresh_token, ...sent.form } })
    const other = await buildConfidential()
    let newest = tokens.refresh_token
    for (let renewals = 0; renewals < 6; renewals += 1) {
      service.advance(60)
      newest = (await refresh(newest)).body.refresh_token
    }
    expectError(
      await service.call('POST', '/auth/refresh', { body: { refresh_token: tokens.refresh_token } }),
      'invalid_refresh_token',
    )
    const foreign = await refresh(tokens.refresh_token, { basic: [other.app.code, other.secret] })
    expect(foreign.body.code).toBe('invalid_refresh_token')
    newest = (await refresh(newest)).body.refresh_token
    expect((await refresh(tokens.refresh_token)).body.code).toBe('refresh_token_reused')
    expect((await refresh(newest)).body.code).toBe('invalid_refresh_token')
  })

  test.each(['refresh_token', 'access_token'])('only the app that the tokens are for revokes them, by the %s', async (kind) => {
    const { tokens } = await tokensOf(charts)
    const form = { token: tokens[kind] }
    const revoke = (sent: Sent) => post('/oauth/revoke', { ...sent, form: { ...form, ...sent.form } })
    expect(await revoke({ form: { client_id: charts.app.code } })).toMatchObject({
      status: 401,
      body: { code: 'invalid_client' },
    })
    // The token alone ends nothing, whether or not they name an app.
    const own = await buildApp(service, settings)
    const nameless = await revoke({})
    expect([nameless.status, nameless.body.error, nameless.body.code]).toEqual([401, 'invalid_client', 'invalid_client'])
    expect((await revoke({ form: { client_id: own.code } })).status).toBe(200)
    const other = await buildConfidential()
    const refresh = () =>
      post('/oauth/token', {
        form: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
        basic: [charts.app.code, charts.secret],
      })
    expect((await revoke({ basic: [other.app.code, other.secret] })).status).toBe(200)
    const userinfo = () => post('/oauth/userinfo', { form: { access_token: tokens.access_token } })
    expect((await userinfo()).body.code).toBe('insufficient_scope')
    const owner: Sent = { basic: [charts.app.code, charts.secret] }
    expect((await revoke(owner)).status).toBe(200)
    expect((await userinfo()).body.code).toBe('token_revoked')
    expect((await refresh()).status).toBe(400)
    // Nothing is left to end.
    expect((await revoke(owner)).status).toBe(200)
  })
})

test('an app that becomes confidential keeps its sessions, which then need the secret', async () => {
  const app = await buildApp(service, settings)
  const { secret } = await newSecret(app)
  const { asked, at } = await codeFor(app)
  const early = await post('/oauth/token', { form: grant(asked, at), basic: [app.code, secret] })
  expect(early.status).toBe(200)
  const next = await codeFor(app)
  const wrong = await exchange(service, app, next.asked, next.at, { client_secret: 'gcs_wrong' })
  expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { client: 'confidential' } })
  expect(await exchange(service, app, next.asked, next.at)).toMatchObject({ status: 401 })
  const { refresh_token } = early.body
  expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token } }), 'invalid_refresh_token')
  const form = { grant_type: 'refresh_token', refresh_token }
  expect((await post('/oauth/token', { form, basic: [app.code, secret] })).status).toBe(200)
})

describe('client secrets', () => {
  test('an app has at most two secrets, also if they are made at once, and a revoked one is dead at once', async () => {
    const app = await buildApp(service, { ...settings, client: 'confidential' })
    const replies = await atOnce(5, () => service.admin('POST', `/admin/apps/${app.code}/client-secrets`))
    const made = replies.filter(({ status }) => status === 201)
    expect(made).toHaveLength(2)
    for (const reply of replies) if (reply.status !== 201) expectError(reply, 'client_secret_limit')
    const [first, second] = made.map(({ body }) => body)
    const { asked, at } = await codeFor(app)
    const used = await post('/oauth/token', { form: grant(asked, at), basic: [app.code, first.secret] })
    const { body } = await service.admin('GET', `/admin/apps/${app.code}/client-secrets`)
    expect(body.items).toHaveLength(2)
    const lastUsed = Object.fromEntries(body.items.map((each: Json) => [each.id, each.last_used_at]))
    expect(lastUsed).toEqual({ [first.id]: expect.any(String), [second.id]: null })
    expect((await service.admin('DELETE', `/admin/apps/${app.code}/client-secrets/${first.id}`)).status).toBe(204)
    expectError(await service.admin('DELETE', `/admin/apps/${app.code}/client-secrets/${first.id}`), 'not_found')
    const form = { grant_type: 'refresh_token', refresh_token: used.body.refresh_token }
    expect((await post('/oauth/token', { form, basic: [app.code, first.secret] })).status).toBe(401)
    expect((await post('/oauth/token', { form, basic: [app.code, second.secret] })).status).toBe(200)
    const events = await auditEvents(service, { event: 'client_secret.revoked' })
    expect(events.map(({ app_id }) => app_id)).toContain(app.id)
  })

  test('a secret is stored as its SHA-256 and shown once', async () => {
    const app = await buildApp(service, settings)
    const { id, secret } = await newSecret(app)
    const row = await service.deps.db('client_secrets').where({ id }).first()
    expect(row.hash).toBe(createHash('sha256').update(secret).digest('base64url'))
    const shown = [
      await service.admin('GET', `/admin/apps/${app.code}/client-secrets`),
      await service.admin('GET', `/admin/apps/${app.code}`),
      await service.admin('GET', `/admin/audit-events?app_id=${app.id}`),
    ]
    expect(JSON.stringify(shown.map(({ body }) => body))).not.toContain(secret)
  })

  test('an app has no access to the secrets of another one, and authctl has no secret', async () => {
    const [one, other] = [await buildApp(service, settings), await buildApp(service, settings)]
    const { id } = await newSecret(one)
    expectError(await service.admin('DELETE', `/admin/apps/${other.code}/client-secrets/${id}`), 'not_found')
    expectError(await service.admin('POST', '/admin/apps/authctl/client-secrets'), 'built_in')
    expectError(await service.admin('PATCH', '/admin/apps/authctl', { body: { client: 'confidential' } }), 'built_in')
  })

  test('the secrets are deleted with their app', async () => {
    const app = await buildApp(service, settings)
    const { id } = await newSecret(app)
    expect((await service.admin('DELETE', `/admin/apps/${app.code}`)).status).toBe(204)
    expect(await service.deps.db('client_secrets').where({ id }).first()).toBeUndefined()
  })
})
