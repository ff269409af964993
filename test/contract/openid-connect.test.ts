// OpenID Connect: ID tokens, their keys, userinfo and the metadata.
import { createHash, createHmac, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { buildClient, buildProven, type Client, jwks, partsOf, redeem, sendForm, signInAs, userinfo } from '../support/openid.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, someEmail } from '../support/service.ts'
import { askFor, signInOnPage, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_IP: 'off' }, { frozen: true })
const wiki: Client = fixture(() => buildClient(service))
const publicUrl = () => service.deps.config.publicUrl

/** Whether the published key that the token names signed it. */
async function isSigned(token: string): Promise<boolean> {
  const [head, payload, signature] = token.split('.')
  const key = (await jwks(service)).find(({ kid }) => kid === partsOf(token).header.kid)
  if (!key) return false
  const text = Buffer.from(`${head}.${payload}`)
  return verify('sha256', text, createPublicKey({ key, format: 'jwk' }), Buffer.from(signature!, 'base64url'))
}

describe('ID tokens', () => {
  test('an ID token of a silent entry has the time of the sign-in, not of the entry', async () => {
    const { visitor, user, claims: first } = await signInAs(service, wiki)
    service.advance(60)
    const { claims } = await signInAs(service, wiki, {}, { user, visitor })
    expect([claims.auth_time, claims.iat]).toEqual([first.auth_time, first.iat + 60])
  })

  test('an ID token says who signed in, when and how, and is bound to the access token and the nonce', async () => {
    const { tokens, user, claims, header } = await signInAs(service, wiki)
    const now = Math.floor(service.deps.clock() / 1000)
    expect(header).toEqual({ alg: 'RS256', typ: 'JWT', kid: expect.any(String) })
    expect(await isSigned(tokens.id_token)).toBe(true)
    const access = claimsOf(tokens.access_token)
    const half = createHash('sha256').update(tokens.access_token).digest().subarray(0, 16)
    expect(claims).toEqual({
      ...{ iss: publicUrl(), sub: user.id, aud: wiki.app.code, azp: wiki.app.code, exp: now + 600, iat: now },
      ...{ auth_time: access.auth_time, nonce: 'a nonce', amr: ['pwd'], acr: '0', sid: access.sid },
      at_hash: half.toString('base64url'),
    })
    expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'openid', refresh_token: expect.any(String) })
  })

  test('an ID token is issued only for the scope openid, and has a nonce only if one was sent', async () => {
    expect((await signInAs(service, wiki, { scope: 'profile email' })).tokens).not.toHaveProperty('id_token')
    expect((await signInAs(service, wiki, { nonce: undefined })).claims).not.toHaveProperty('nonce')
  })

  test('an ID token says that two factors were shown', async () => {
    const { user, access_token } = await buildUser(service, await appWithoutSecret())
    const { code } = await enableTwoFactor(service, access_token)
    service.advance(60)
    const client = wiki
    const asked = askFor(client.app, { scope: 'openid', nonce: 'n' })
    const visitor = visit(service)
    let page = await signInOnPage(visitor, asked, user.email)
    page = await visitor.send(page, 'Continue', { two_factor_code: code() })
    if (!page.app) page = await visitor.send(page, 'Continue')
    const { body } = await redeem(service, client, asked, page.app!)
    expect(partsOf(body.id_token).claims).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: 'mfa' })
  })

  test('claims of name, role and organization follow the scope, and the address requires a proven mailbox', async () => {
    const scope = 'openid profile email roles groups'
    const extra = { first_name: 'Ada', last_name: 'Lovelace', organization_name: `Engines ${Date.now()}` }
    const proven = await buildProven(service, wiki.app, extra)
    const known = await signInAs(service, wiki, { scope }, { user: proven })
    const told = {
      ...{ name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace', email: proven.email, email_verified: true },
      ...{ roles: claimsOf(known.tokens.access_token).roles, groups: [expect.stringMatching(/^engines-/)] },
    }
    expect(known.claims).toMatchObject(told)
    expect((await userinfo(service, known.tokens.access_token)).body).toEqual({ sub: proven.id, ...told })
    const { user } = await buildUser(service, wiki.app)
    // Verified by a click alone: it may be a stranger's account.
    await service.deps
      .db('users')
      .where({ id: user.id })
      .update({ email_verified_at: 1, link_verified_at: 1, first_verified_at: 1 })
    const unproven = await signInAs(service, wiki, { scope }, { user })
    for (const claims of [unproven.claims, (await userinfo(service, unproven.tokens.access_token)).body]) {
      expect(claims).not.toHaveProperty('email')
      expect(claims).not.toHaveProperty('email_verified')
      expect(claims).not.toHaveProperty('name')
    }
    const least = await signInAs(service, wiki, { scope: 'openid' }, { user: proven })
    expect(Object.keys((await userinfo(service, least.tokens.access_token)).body)).toEqual(['sub'])
  })
})

async function appWithoutSecret(): Promise<Json> {
  return (await buildClient(service, { client: 'public' })).app
}

describe('userinfo', () => {
  test('userinfo answers GET and POST with the token in the header or in a form, not in both or in the query', async () => {
    const { tokens, user } = await signInAs(service, wiki)
    const token = tokens.access_token
    expect((await userinfo(service, token)).body.sub).toBe(user.id)
    expect((await userinfo(service, token, { method: 'POST' })).body.sub).toBe(user.id)
    expect((await sendForm(service, '/oauth/userinfo', { access_token: token })).body.sub).toBe(user.id)
    const both = await sendForm(service, '/oauth/userinfo', { access_token: token }, { authorization: `Bearer ${token}` })
    expect(both).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    const inQuery = await fetch(`${service.url}/oauth/userinfo?access_token=${token}`)
    expect(inQuery.status).toBe(401)
    expect(inQuery.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"')
  })

  test.each(['GET', 'POST'])(
    'userinfo by %s refuses an ID token, garbage, an expired token and a session without openid',
    async (method) => {
      const { tokens } = await signInAs(service, wiki)
      for (const bad of [tokens.id_token, 'garbage', `${tokens.access_token}x`]) {
        const { status, headers, body } = await userinfo(service, bad, { method })
        expect([status, body.error, body.code]).toEqual([401, 'invalid_token', 'token_invalid'])
        expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
      }
      const plain = await signInAs(service, wiki, { scope: 'profile' })
      const refused = await userinfo(service, plain.tokens.access_token, { method })
      expect(refused).toMatchObject({ status: 403, body: { error: 'insufficient_scope', code: 'insufficient_scope' } })
      expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="openid"')
      const app = await appWithoutSecret()
      const { access_token } = await buildUser(service, app)
      expect((await userinfo(service, access_token, { method })).status).toBe(403)
      service.advance(3_601)
      expect((await userinfo(service, tokens.access_token, { method })).body.code).toBe('token_expired')
    },
  )

  test('userinfo and refresh stop at once when the grant, the session or the account ends', async () => {
    const ends: ((of: { user: Json; tokens: Json }) => Promise<unknown>)[] = [
      ({ user }) => service.admin('DELETE', `/admin/users/${user.id}/apps/${wiki.app.id}`),
      ({ user }) => service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } }),
      ({ tokens }) =>
        sendForm(service, '/oauth/revoke', {
          ...{ token: tokens.refresh_token, client_id: wiki.app.code, client_secret: wiki.secret },
        }),
    ]
    for (const end of ends) {
      const signedIn = await signInAs(service, wiki)
      expect((await userinfo(service, signedIn.tokens.access_token)).status).toBe(200)
      await end(signedIn)
      for (const method of ['GET', 'POST'])
        expect((await userinfo(service, signedIn.tokens.access_token, { method })).body).toMatchObject({
          error: 'invalid_token',
          code: 'token_revoked',
        })
      const { refresh_token } = signedIn.tokens
      const form = { grant_type: 'refresh_token', refresh_token, client_id: wiki.app.code, client_secret: wiki.secret }
      expect(await sendForm(service, '/oauth/token', form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    }
  })

  test('userinfo returns the current values', async () => {
    const { tokens, user } = await signInAs(service, wiki, { scope: 'openid profile email' })
    await service.deps.db('users').where({ id: user.id }).update({ mailbox_proven_at: null, first_name: 'Grace' })
    const { body } = await userinfo(service, tokens.access_token)
    expect(body).toEqual({ sub: user.id, name: 'Grace', given_name: 'Grace' })
  })
})

describe('the keys of ID tokens', () => {
  test('the keys are made once, by the first server that needs them, and private halves are never in the clear', async () => {
    const fresh = await buildService({ AUTH_RATE_LIMIT_IP: 'off' })
    const lists = await atOnce(20, () => jwks(fresh))
    expect(new Set(lists.map((keys) => keys.map(({ kid }) => kid).join())).size).toBe(1)
    expect(await countRows(fresh, 'signing_keys')).toBe(2)
    for (const key of lists[0]!) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
      expect(key).toMatchObject({ kty: 'RSA', use: 'sig', alg: 'RS256' })
    }
    const rows = await fresh.deps.db('signing_keys')
    expect(JSON.stringify(rows)).not.toMatch(/PRIVATE|"d"/)
    const reply = await fetch(`${fresh.url}/oauth/jwks`)
    expect(reply.headers.get('cache-control')).toBe('public, max-age=300')
  })

  test('a rotation fails no request, because old tokens verify and the next key was published before', async () => {
    const before = await jwks(service)
    const old = await signInAs(service, wiki)
    const { body } = await service.admin('POST', '/admin/signing-keys/rotate', { body: {} })
    expect(body.items.slice(0, 3).map(({ stage }: Json) => stage)).toEqual(['next', 'current', 'retired'])
    const renewed = await signInAs(service, wiki)
    expect(renewed.header.kid).not.toBe(old.header.kid)
    expect(before.map(({ kid }) => kid)).toContain(renewed.header.kid)
    expect(await isSigned(old.tokens.id_token)).toBe(true)
    expect(await isSigned(renewed.tokens.id_token)).toBe(true)
    const row = await service.deps.db('signing_keys').where({ id: old.header.kid }).first()
    expect(row).toMatchObject({ stage: 'retired', private_box: null })
    expect((await auditEvents(service, { event: 'signing_key.rotated' })).at(-1)).toMatchObject({
      details: { before: old.header.kid, after: renewed.header.kid },
    })
    service.advance(3_601)
    expect((await jwks(service)).map(({ kid }) => kid)).not.toContain(old.header.kid)
  })

  test('one of several concurrent rotations of the same key succeeds', async () => {
    const { body } = await service.admin('GET', '/admin/signing-keys')
    const { kid } = body.items.find(({ stage }: Json) => stage === 'current')
    const replies = await atOnce(3, () => service.admin('POST', '/admin/signing-keys/rotate', { body: { current_kid: kid } }))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  })

  test('compromised keys are removed at once', async () => {
    const before = await jwks(service)
    await service.admin('POST', '/admin/signing-keys/rotate', { body: { compromised: true } })
    const after = (await jwks(service)).map(({ kid }) => kid)
    expect(after).toHaveLength(2)
    for (const { kid } of before) expect(after).not.toContain(kid)
  })

  test('a rotation replaces keys that are sealed under a lost encryption key', async () => {
    await jwks(service)
    await service.deps.db('signing_keys').whereNotNull('private_box').update({ private_box: '00000000.AAAA' })
    const { body } = await service.admin('POST', '/admin/signing-keys/rotate', { body: {} })
    expect(body.items.filter(({ stage }: Json) => stage === 'current')).toHaveLength(1)
    expect(await isSigned((await signInAs(service, wiki)).tokens.id_token)).toBe(true)
  })
})

describe('sign-out with an ID token hint', () => {
  const logout = (hint: string, extra: Record<string, string> = {}) =>
    `/oauth/logout?${new URLSearchParams({ id_token_hint: hint, ...extra })}`
  const back = { post_logout_redirect_uri: 'https://wiki.example/callback', state: 's' }

  test('a hint of this browser signs out without a page, even if it has expired or its key is retired', async () => {
    const { visitor, tokens } = await signInAs(service, wiki)
    service.advance(700)
    await service.admin('POST', '/admin/signing-keys/rotate', { body: {} })
    const { app } = await visitor.get(logout(tokens.id_token, back))
    expect(app?.href).toBe('https://wiki.example/callback?state=s')
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const client = { client_id: wiki.app.code, client_secret: wiki.secret }
    expect((await sendForm(service, '/oauth/token', { ...form, ...client })).status).toBe(400)
    expect(visitor.cookies.has('gatehouse_session')).toBe(false)
  })

  test('a hint of this browser without a redirect URL ends on a page', async () => {
    const { visitor, tokens } = await signInAs(service, wiki)
    const page = await visitor.get(logout(tokens.id_token))
    expect([page.status, page.title]).toEqual([200, 'You are signed out'])
  })

  test('a hint may be long, and so may an access token at userinfo and at revocation', async () => {
    const user = await buildProven(service, wiki.app)
    const names = { first_name: '\u5b57'.repeat(200), last_name: '\u5b57'.repeat(200) }
    expect((await service.admin('PATCH', `/admin/users/${user.id}`, { body: names })).status).toBe(200)
    const { visitor, tokens } = await signInAs(service, wiki, { scope: 'openid profile' }, { user })
    for (const token of [tokens.id_token, tokens.access_token]) expect(token.length).toBeGreaterThan(2_000)
    const told = await sendForm(service, '/oauth/userinfo', { access_token: tokens.access_token })
    expect([told.status, told.body.given_name]).toEqual([200, names.first_name])
    const client = { client_id: wiki.app.code, client_secret: wiki.secret }
    expect((await sendForm(service, '/oauth/revoke', { token: tokens.access_token, ...client })).status).toBe(200)
    expect((await userinfo(service, tokens.access_token)).status).toBe(401)
    expect((await signInAs(service, wiki, {}, { user, visitor })).tokens.id_token.length).toBeLessThan(2_000)
    const last = await signInAs(service, wiki, { scope: 'openid profile' }, { user, visitor })
    expect((await visitor.get(logout(last.tokens.id_token, back))).app?.href).toBe('https://wiki.example/callback?state=s')
  })

  test('a hint of another browser or of no session asks first', async () => {
    const { tokens } = await signInAs(service, wiki)
    const other = await signInAs(service, wiki)
    for (const visitor of [other.visitor, visit(service)])
      expect((await visitor.get(logout(tokens.id_token, back))).title).toBe('Sign out')
    expect((await userinfo(service, tokens.access_token)).status).toBe(200)
    expect((await userinfo(service, other.tokens.access_token)).status).toBe(200)
  })

  test.each([
    ['an access token', (tokens: Json) => tokens.access_token],
    ['a changed ID token', (tokens: Json) => `${tokens.id_token.slice(0, -4)}AAAA`],
    [
      'an ID token without signature',
      (tokens: Json) => {
        const [, payload] = tokens.id_token.split('.')
        return `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${payload}.`
      },
    ],
    ['garbage', () => 'x'],
  ])('%s signs nobody out and redirects nowhere', async (_, forge) => {
    const { visitor, tokens } = await signInAs(service, wiki)
    let page = await visitor.get(logout(forge(tokens), { client_id: wiki.app.code, ...back }))
    expect(page.title).toBe('Sign out')
    page = await visitor.send(page, 'Sign out')
    expect(page.app).toBeUndefined()
    expect(page.title).toBe('You are signed out')
  })

  test('a hint for another app than the request names redirects nowhere', async () => {
    const other = await buildClient(service)
    const { visitor, tokens } = await signInAs(service, wiki)
    const page = await visitor.get(logout(tokens.id_token, { ...back, client_id: other.app.code }))
    expect(page.title).toBe('Sign out')
    expect((await visitor.send(page, 'Sign out')).app).toBeUndefined()
  })
})

describe('forged ID tokens', () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signedIn = fixture(() => signInAs(service, wiki))

  /** Ways to make a token that a careless verifier takes for one of ours. */
  const forgeries: [string, (kid: string, jwk: Json) => string][] = [
    [
      'signed with our public key as if it were a secret',
      (kid, jwk) => {
        const text = `${encode({ alg: 'HS256', typ: 'JWT', kid })}.${encode(signedIn.claims)}`
        const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
        return `${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`
      },
    ],
    [
      'signed by another key under our kid',
      (kid) => {
        const text = `${encode({ alg: 'RS256', typ: 'JWT', kid })}.${encode(signedIn.claims)}`
        return `${text}.${sign('sha256', Buffer.from(text), generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey).toString('base64url')}`
      },
    ],
    [
      'that brings its own key',
      () => {
        const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
        const jwk = publicKey.export({ format: 'jwk' })
        const text = `${encode({ alg: 'RS256', typ: 'JWT', kid: 'own', jwk })}.${encode(signedIn.claims)}`
        return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
      },
    ],
    ['without a signature', (kid) => `${encode({ alg: 'none', typ: 'JWT', kid })}.${encode(signedIn.claims)}.`],
  ]

  test.each(forgeries)('%s signs nobody out, and opens neither userinfo nor the API', async (_, forge) => {
    const { visitor, header } = signedIn
    const jwk = (await jwks(service)).find(({ kid }) => kid === header.kid)!
    const token = forge(header.kid, jwk)
    const page = await visitor.get(`/oauth/logout?${new URLSearchParams({ id_token_hint: token })}`)
    expect(page.title).toBe('Sign out')
    expect((await userinfo(service, token)).body.code).toBe('token_invalid')
    expect((await service.call('GET', '/auth/me', { token })).body.code).toBe('token_invalid')
  })

  test('a genuine ID token is not accepted as an access token', async () => {
    const { tokens } = signedIn
    expect((await service.call('GET', '/auth/me', { token: tokens.id_token })).body.code).toBe('token_invalid')
    expect((await service.call('GET', '/admin/apps', { token: tokens.id_token })).body.code).toBe('token_invalid')
    const form = {
      grant_type: 'refresh_token',
      refresh_token: tokens.id_token,
      client_id: wiki.app.code,
      client_secret: wiki.secret,
    }
    expect((await sendForm(service, '/oauth/token', form)).body.error).toBe('invalid_grant')
  })
})

test('the metadata is the same at both addresses and lists what the service supports', async () => {
  const [one, other] = await Promise.all(
    ['oauth-authorization-server', 'openid-configuration'].map(async (name) => {
      const reply = await fetch(`${service.url}/.well-known/${name}`, { headers: { origin: 'https://spa.example' } })
      expect(reply.headers.get('access-control-allow-origin')).toBe('*')
      return (await reply.json()) as Json
    }),
  )
  expect(one).toEqual(other)
  expect(one).toMatchObject({
    issuer: publicUrl(),
    userinfo_endpoint: `${publicUrl()}/oauth/userinfo`,
    jwks_uri: `${publicUrl()}/oauth/jwks`,
    id_token_signing_alg_values_supported: ['RS256'],
    subject_types_supported: ['public'],
    response_types_supported: ['code'],
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  })
})

test('a service below a path publishes no keys and no metadata', async () => {
  const below = await buildService({ PUBLIC_URL: 'https://example.com/auth' })
  for (const path of ['/oauth/jwks', '/.well-known/openid-configuration'])
    expect((await fetch(`${below.url}${path}`)).status).toBe(404)
})

test('a session of an API login has no access to userinfo', async () => {
  const { body } = await service.register(someEmail(), (await buildApp(service, { auto_grant_on_signup: true })).code)
  expect((await userinfo(service, body.access_token)).body.error).toBe('insufficient_scope')
})
