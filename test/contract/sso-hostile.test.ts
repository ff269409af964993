import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ProviderClients } from '../../packages/server/src/adapters/provider-clients.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { CLIENT_SECRET, newKey, type SigningKey, signToken } from '../support/oidc-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import {
  answerOf,
  arrive,
  type Begun,
  beginSso,
  buildSsoProvider,
  callbackOf,
  comeBack,
  exchange,
  get,
  REDIRECT_URL,
  startProvider,
} from '../support/provider.ts'
import { rawCall } from '../support/raw-http.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, claimsOf, type Json, someEmail } from '../support/service.ts'

const provider = fixture(() => startProvider([callbackOf('acme')], onFileEnd))
const other = fixture(() => startProvider([callbackOf('other')], onFileEnd))
let strangersKey: SigningKey
let app: Json
const service = serviceFixture()
beforeAll(async () => {
  strangersKey = newKey()
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
  await buildSsoProvider(service, 'other', { issuer: other.issuer })
  app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL] })
})
beforeEach(() => {
  Object.assign(provider, { tamper: {}, broken: {}, hanging: new Set() })
  forget()
})

/** Forgets all providers, like a server that has just started. Set `timeoutMs` if a provider will hang. */
function forget(timeoutMs?: number): void {
  const clients = new ProviderClients({ allowHttp: true, mayBePrivate: () => true, clock: service.deps.clock, timeoutMs })
  service.deps.providerClients = async () => clients
}

const someone = (from = provider) => from.addAccount({ email: someEmail(), email_verified: true })

interface Returning extends Begun {
  back: URL
}

/** Runs a login up to where the browser comes back. */
async function goThere(code = 'acme', from = provider, subject = someone(from)): Promise<Returning> {
  const begun = await beginSso(service, code, app)
  return { ...begun, back: await from.logIn(begun.reply.headers.get('location')!, subject) }
}

/** A login that fails at the provider. Returns what the client is told. */
async function failedLogin(returning?: Returning): Promise<Json> {
  const { back, state } = returning ?? (await goThere())
  const before = await countRows(service, 'users')
  const { state: returned, ...answer } = answerOf(await comeBack(service, back))
  expect(returned).toBe(state)
  expect(await countRows(service, 'users')).toBe(before)
  expect(answer).not.toHaveProperty('code')
  // A failed login is used up: it cannot be answered again.
  expectError(await comeBack(service, back), 'invalid_sso_state')
  return answer
}

/** Changes the claims of the ID token and signs it with `key`. With null, it has no signature. */
function withIdToken(change: (claims: Json) => Json, key: SigningKey | null = provider.key) {
  provider.tamper.token = (body) => ({ ...body, id_token: signToken(change(claimsOf(body.id_token)), key) })
}

describe('an ID token', () => {
  test('a correct ID token passes, so the tests below fail for their own fault only', async () => {
    withIdToken((claims) => claims)
    expect(answerOf(await comeBack(service, (await goThere()).back)).code).toMatch(/^gsc_/)
  })

  test.each<[string, (claims: Json) => Json]>([
    ['another issuer', (claims) => ({ ...claims, iss: other.issuer })],
    ['another audience', (claims) => ({ ...claims, aud: 'another-client' })],
    ['several audiences and another party', (claims) => ({ ...claims, aud: ['gatehouse', 'x'], azp: 'x' })],
    ['another nonce', (claims) => ({ ...claims, nonce: 'of another login' })],
    ['no nonce', ({ nonce: _, ...claims }) => claims],
    ['no subject', ({ sub: _, ...claims }) => claims],
    ['no end', ({ exp: _, ...claims }) => claims],
    ['its end an hour ago', (claims) => ({ ...claims, exp: Math.floor(Date.now() / 1000) - 3_600 })],
  ])('an ID token with %s is refused', async (_, change) => {
    withIdToken(change)
    expect(await failedLogin()).toEqual({
      error: 'server_error',
      error_description: 'The answer from the provider is not valid',
    })
    const [event] = (await auditEvents(service, { event: 'login.failed', app_id: app.id })).slice(-1)
    expect(event).toMatchObject({ reason: 'provider_refused', details: { provider: 'acme', error: 'server_error' } })
  })

  test('an ID token without an algorithm is refused, even if the provider says that it uses none', async () => {
    withIdToken((claims) => claims, null)
    provider.tamper.discovery = (body) => ({ ...body, id_token_signing_alg_values_supported: ['none', 'RS256'] })
    expect((await failedLogin()).error).toBe('server_error')
  })

  test('an ID token signed with a key of a stranger is refused, under any key id', async () => {
    for (const kid of [strangersKey.kid, provider.key.kid]) {
      withIdToken((claims) => claims, { ...strangersKey, kid })
      expect((await failedLogin()).error).toBe('server_error')
    }
  })

  test('a missing ID token is refused', async () => {
    provider.tamper.token = ({ id_token: _, ...body }) => body
    expect((await failedLogin()).error).toBe('server_error')
  })
})

describe('userinfo', () => {
  test('userinfo of another subject is refused', async () => {
    provider.tamper.userinfo = (body) => ({ ...body, sub: 'somebody else' })
    expect((await failedLogin()).error).toBe('server_error')
  })

  test('userinfo is not fetched if the ID token has an e-mail address, which is verified only if the token says so', async () => {
    withIdToken((claims) => ({ ...claims, email: someEmail() }))
    const asked = provider.asked.userinfo
    const arrived = await arrive(service, { provider, code: 'acme', app, subject: someone() })
    expect((await exchange(service, arrived)).body.user.email_verified).toBe(false)
    expect(provider.asked.userinfo).toBe(asked)
  })

  test('userinfo that is too long is not read to its end', async () => {
    provider.tamper.userinfo = (body) => ({ ...body, more: 'x'.repeat(600_000) })
    expect((await failedLogin()).error).toBe('server_error')
  })

  test('userinfo with a name that cannot be stored loses only the name', async () => {
    provider.tamper.userinfo = (body) => ({ ...body, given_name: 'x'.repeat(201), family_name: 'a\u0000b' })
    const arrived = await arrive(service, { provider, code: 'acme', app, subject: someone() })
    expect((await exchange(service, arrived)).body.user).toMatchObject({ first_name: null, last_name: null })
  })
})

describe('the discovery document', () => {
  test('a discovery document of another issuer is refused, and the start is 503', async () => {
    provider.tamper.discovery = (body) => ({ ...body, issuer: other.issuer })
    const { reply } = await beginSso(service, 'acme', app)
    expectError(reply, 'unavailable')
    expect(reply.headers.get('location')).toBeNull()
  })

  test('a discovery document is read once for many logins and again after ten minutes, and serves during an outage', async () => {
    const asked = provider.asked.discovery
    const many = await Promise.all(Array.from({ length: 20 }, () => beginSso(service, 'acme', app)))
    for (const { reply } of many) expect(reply.status).toBe(302)
    expect(provider.asked.discovery).toBe(asked + 1)
    service.advance(601)
    await beginSso(service, 'acme', app)
    expect(provider.asked.discovery).toBe(asked + 2)
    service.advance(601)
    provider.broken.discovery = 500
    expect((await beginSso(service, 'acme', app)).reply.status).toBe(302)
    service.advance(24 * 3_600)
    expectError((await beginSso(service, 'acme', app)).reply, 'unavailable')
  })
})

test('a provider is not called over http where http is not allowed, as in production', async () => {
  const asked = provider.asked.discovery
  const clients = new ProviderClients({ allowHttp: false, mayBePrivate: () => true, clock: service.deps.clock })
  service.deps.providerClients = async () => clients
  expectError((await beginSso(service, 'acme', app)).reply, 'unavailable')
  expect(provider.asked.discovery).toBe(asked)
})

describe('the keys of a provider', () => {
  test('changed keys of a provider are noticed by the next login', async () => {
    for (let round = 0; round < 3; round += 1) {
      const arrived = await arrive(service, { provider, code: 'acme', app, subject: someone() })
      expect((await exchange(service, arrived)).status).toBe(200)
      provider.rotateKeys()
    }
  })

  test('unchanged keys of a provider are read once', async () => {
    const asked = provider.asked.jwks
    for (let round = 0; round < 3; round += 1) await arrive(service, { provider, code: 'acme', app, subject: someone() })
    expect(provider.asked.jwks).toBe(asked + 1)
  })
})

describe('a provider that fails', () => {
  const unreachable = { error: 'temporarily_unavailable', error_description: 'The provider cannot be reached' }

  test('a provider that is down makes the start 503, leaves other providers alone, and is found again', async () => {
    await provider.close()
    expectError((await beginSso(service, 'acme', app)).reply, 'unavailable')
    const arrived = await arrive(service, { provider: other, code: 'other', app, subject: someone(other) })
    expect((await exchange(service, arrived)).status).toBe(200)
    await provider.open()
    expect((await beginSso(service, 'acme', app)).reply.status).toBe(302)
  })

  test('a provider that goes down during a login is reported to the client', async () => {
    const returning = await goThere()
    await provider.close()
    expect(await failedLogin(returning)).toEqual(unreachable)
    await provider.open()
  })

  test.each(['token', 'jwks', 'userinfo'] as const)(
    'a login fails with temporarily_unavailable if the provider hangs or fails at %s',
    async (endpoint) => {
      const returning = await goThere()
      // One of the endpoints gets the real time-out of a server.
      if (endpoint !== 'token') forget(500)
      provider.hanging.add(endpoint)
      expect(await failedLogin(returning)).toEqual(unreachable)
      provider.hanging.clear()
      provider.broken[endpoint] = 503
      forget()
      expect(await failedLogin()).toEqual(unreachable)
    },
  )

  test('a provider that hangs at its discovery document makes the start 503', async () => {
    forget(300)
    provider.hanging.add('discovery')
    const replies = await Promise.all(Array.from({ length: 5 }, () => beginSso(service, 'acme', app)))
    for (const { reply } of replies) expectError(reply, 'unavailable')
  })

  test('a provider that no longer accepts our client signs nobody in', async () => {
    await service.admin('PATCH', '/admin/sso-providers/acme', { body: { client_secret: 'no longer right' } })
    expect((await failedLogin()).error).toBe('server_error')
    await service.admin('PATCH', '/admin/sso-providers/acme', { body: { client_secret: CLIENT_SECRET } })
  })

  test('a provider that does not sign the user in is reported to the client in our words', async () => {
    const { back } = await goThere('acme', provider, 'nobody there')
    back.searchParams.set('error_description', '<a href="https://evil.example.com">your account was closed</a>')
    expect(back.searchParams.get('error')).toBe('access_denied')
    const answer = answerOf(await comeBack(service, back))
    expect(answer).toMatchObject({ error: 'access_denied', error_description: 'The provider did not log the user in' })
  })

  test.each([
    ['temporarily_unavailable', 'temporarily_unavailable'],
    ['server_error', 'server_error'],
    ['consent_required', 'access_denied'],
    ['"><script>', 'access_denied'],
  ])('the error %s of a provider reaches the client as %s', async (theirs, ours) => {
    const { back, state } = await goThere()
    back.searchParams.delete('code')
    back.searchParams.set('error', theirs)
    expect(answerOf(await comeBack(service, back))).toMatchObject({ error: ours, state })
  })
})

test('a HEAD request, as programs send it to look at a link, begins no login and spends no answer', async () => {
  const { back } = await goThere()
  const before = await countRows(service, 'sso_logins')
  const query = { app_code: app.code, redirect_url: REDIRECT_URL, code_challenge: 'c'.repeat(43), state: 'of the client' }
  for (const path of [`/api/v1/auth/sso/acme/start?${new URLSearchParams(query)}`, back.pathname + back.search]) {
    const { status, headers } = await rawCall(service.url, 'HEAD', path)
    expect([status, headers.get('allow'), headers.get('location')]).toEqual([405, 'GET', null])
  }
  expect(await countRows(service, 'sso_logins')).toBe(before)
  expect(answerOf(await comeBack(service, back)).code).toBeDefined()
})

describe('a browser that comes back', () => {
  test('one answer that a browser brings twenty times at once is accepted once', async () => {
    const { back } = await goThere()
    const replies = await Promise.all(Array.from({ length: 20 }, () => comeBack(service, back)))
    expect(replies.filter(({ status }) => status === 302)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 302) expectError(reply, 'invalid_sso_state')
  })

  test('an answer with the code of another login is refused, since the verifier is another', async () => {
    const [own, stolen] = [await goThere(), await goThere()]
    own.back.searchParams.set('code', stolen.back.searchParams.get('code')!)
    expect((await failedLogin(own)).error).toBe('server_error')
  })

  test('an answer with a code that was redeemed is refused', async () => {
    const first = await goThere()
    expect(answerOf(await comeBack(service, first.back)).code).toBeDefined()
    const second = await goThere()
    second.back.searchParams.set('code', first.back.searchParams.get('code')!)
    expect((await failedLogin(second)).error).toBe('server_error')
  })

  test('an answer of one provider at the callback of another is refused, and its login is not spent', async () => {
    const { back } = await goThere('other', other)
    expectError(await get(service, `/auth/sso/acme/callback${back.search}`), 'invalid_sso_state')
    expect(answerOf(await comeBack(service, back)).code).toBeDefined()
  })

  test('an answer with the issuer of another provider, or without one that was promised, is refused (RFC 9207)', async () => {
    const mixed = await goThere()
    mixed.back.searchParams.set('iss', other.issuer)
    expect((await failedLogin(mixed)).error).toBe('server_error')
    const bare = await goThere()
    expect(bare.back.searchParams.get('iss')).toBe(provider.issuer)
    bare.back.searchParams.delete('iss')
    expect((await failedLogin(bare)).error).toBe('server_error')
  })

  test('an answer with no state, an unknown one or two is refused without a redirect', async () => {
    const { back, state } = await goThere()
    expectError(await get(service, '/auth/sso/acme/callback?code=x&state=unknown'), 'invalid_sso_state')
    expectError(await get(service, `/auth/sso/acme/callback?code=x&state=${state}`), 'invalid_sso_state')
    const none = await get(service, '/auth/sso/acme/callback?code=x')
    expect(faultsOf(none)).toEqual(['state: required'])
    expect(faultsOf(await get(service, `/auth/sso/acme/callback${back.search}&state=x`))).toEqual(['state: invalid_type'])
    expectError(await get(service, `/auth/sso/nobody/callback${back.search}`), 'not_found')
  })

  test('a browser with a bad answer gets a page that says what went wrong and how to go on', async () => {
    const { back } = await goThere()
    await comeBack(service, back)
    const headers = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'x-request-id': 'r-1' }
    const open = (path: string) => rawCall(service.url, 'GET', path, { headers })
    const again = await open(back.pathname + back.search)
    expect([again.status, again.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
    expect([again.headers.get('cache-control'), again.headers.get('vary')]).toEqual(['no-store', expect.stringMatching('Accept')])
    expect(again.headers.get('content-security-policy')).toMatch(/^default-src 'none'/)
    for (const text of ['answered before', 'Start the login again', 'r-1']) expect(again.body).toContain(text)
    // The only error that repeats what the caller wrote.
    const hostile = await open('/api/v1/auth/sso/acme/start?%3Cscript%3E=%00')
    expect([hostile.status, hostile.body]).toEqual([400, expect.stringContaining('&#60;script&#62;: contains a NUL')])
    expect(hostile.body).not.toContain('<script')
    const bare = await open('/api/v1/auth/sso/acme/start')
    expect([bare.status, bare.body]).toEqual([400, expect.stringContaining('code_challenge: is required')])
  })

  test('a browser is not sent to a redirect URL that the app has stopped allowing', async () => {
    const moved = await buildApp(service, { allowed_redirect_urls: [REDIRECT_URL] })
    const begun = await beginSso(service, 'acme', moved)
    const back = await provider.logIn(begun.reply.headers.get('location')!, someone())
    const body = { allowed_redirect_urls: ['https://app.example.com/new'] }
    await service.admin('PATCH', `/admin/apps/${moved.id}`, { body })
    const reply = await comeBack(service, back)
    expectError(reply, 'validation_failed')
    expect(reply.headers.get('location')).toBeNull()
  })

  test('answers and codes from before the provider changed its issuer are refused', async () => {
    const code = 'moving'
    const [before, after] = [await startProvider([callbackOf(code)]), await startProvider([callbackOf(code)])]
    await buildSsoProvider(service, code, { issuer: before.issuer })
    const { back } = await goThere(code, before)
    const arrived = await arrive(service, { provider: before, code, app, subject: someone(before) })
    await service.admin('PATCH', `/admin/sso-providers/${code}`, { body: { issuer: after.issuer } })
    expectError(await comeBack(service, back), 'invalid_sso_state')
    expectError(await exchange(service, arrived), 'invalid_sso_code')
  })
})
