// A confidential app gets the tokens of its users at the token endpoint, with its client secret. Here is each call of the API that
// gives tokens to anybody else: all of them refuse, and a refusal leaves everything as it was.
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { listRoutes } from '../../packages/server/src/app.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { fixture, mailingFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildClient, signInAs } from '../support/openid.ts'
import { arrive, buildSsoProvider, callbackOf, exchange, startProvider } from '../support/provider.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_USER: 'off' }, { frozen: true })
const provider = fixture(() => startProvider([callbackOf('acme')], onFileEnd))
const callback = 'https://app.example.com/signed-in'
const wiki = fixture(() => buildClient(service, { allowed_redirect_urls: [callback] }))
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
})

/** Anybody whom the app would let in. */
interface Person {
  email: string
  /** What the last step is sent besides: a code is good once. */
  more: () => Json
}

interface Door {
  route: string
  /** Whether somebody without an account comes in by it. */
  isForNew?: true
  /** Goes as far as the last step before the tokens, and returns that step. */
  arriveAt(person: Person): Promise<() => Promise<Reply>>
}

const mailed = (email: string) => mailbox.take(email, /^Sign in to/)
const register = (email: string, more: Json) => service.register(email, wiki.app.code, more)
const byProvider = async ({ email, more }: Person) => {
  const subject = provider.addAccount({ email, email_verified: true })
  const arrived = await arrive(service, { provider, code: 'acme', app: wiki.app, subject })
  return () => exchange(service, arrived, more())
}

const doors: Record<string, Door> = {
  login: {
    route: '/auth/login',
    arriveAt:
      async ({ email, more }) =>
      () =>
        service.login(email, wiki.app.code, more()),
  },
  registration: {
    route: '/auth/register',
    isForNew: true,
    arriveAt:
      async ({ email, more }) =>
      () =>
        register(email, more()),
  },
  'registration of a known user': {
    route: '/auth/register',
    arriveAt:
      async ({ email, more }) =>
      () =>
        register(email, { mode: 'register_or_login', ...more() }),
  },
  'registration with an invitation': {
    route: '/auth/register',
    isForNew: true,
    async arriveAt({ email, more }) {
      const { id } = await buildOrganization(service)
      const invite_token = await buildInvitation(service, { organizationId: id, appCode: wiki.app.code })
      return () => register(email, { invite_token, ...more() })
    },
  },
  'login with an invitation': {
    route: '/auth/register',
    async arriveAt({ email, more }) {
      const { id } = await buildOrganization(service)
      const invite_token = await buildInvitation(service, { organizationId: id, appCode: wiki.app.code })
      return () => register(email, { mode: 'register_or_login', invite_token, ...more() })
    },
  },
  'magic link': {
    route: '/auth/magic-link/consume',
    async arriveAt({ email, more }) {
      await service.call('POST', '/auth/magic-link', { body: { email, app_code: wiki.app.code } })
      const { token } = await mailed(email)
      return () => service.call('POST', '/auth/magic-link/consume', { body: { token, ...more() } })
    },
  },
  'e-mail code': {
    route: '/auth/email-code/consume',
    async arriveAt({ email, more }) {
      const asked = await service.call('POST', '/auth/email-code', { body: { email, app_code: wiki.app.code } })
      const code = /: (\d{6})$/m.exec((await mailed(email)).text)?.[1]
      const body = { request_id: asked.body.request_id, code }
      return () => service.call('POST', '/auth/email-code/consume', { body: { ...body, ...more() } })
    },
  },
  'third-party login': { route: '/auth/sso/token', arriveAt: byProvider },
  'registration by a provider': { route: '/auth/sso/token', isForNew: true, arriveAt: byProvider },
}

/** Those that begin with a session, which a confidential app opens at the token endpoint alone. */
const ofSessions: Record<string, { code: 'invalid_refresh_token' | 'token_invalid'; send: (tokens: Json) => Promise<Reply> }> = {
  '/auth/refresh': {
    code: 'invalid_refresh_token',
    send: ({ refresh_token }) => service.call('POST', '/auth/refresh', { body: { refresh_token } }),
  },
  '/auth/password/change': {
    code: 'token_invalid',
    send: ({ access_token: token }) =>
      service.call('POST', '/auth/password/change', {
        token,
        body: { current_password: PASSWORD, new_password: `${PASSWORD} 2` },
      }),
  },
}

async function buildPerson({ isForNew }: Door, owns: 'a password' | 'a second factor'): Promise<Person> {
  const email = someEmail()
  if (isForNew) return { email, more: () => ({}) }
  const home = { auto_grant_on_signup: true }
  const { body: app } = await service.admin('POST', '/admin/apps', {
    body: { code: `home-${email.slice(5, 13)}`, name: 'Home', ...home },
  })
  const { user, access_token } = (await service.register(email, app.code)).body
  await markVerified(service, user.id)
  if (owns === 'a password') return { email, more: () => ({}) }
  const phone = await enableTwoFactor(service, access_token)
  service.advance(31)
  return { email, more: () => ({ two_factor_code: phone.code() }) }
}

const tables = ['users', 'user_apps', 'sessions', 'user_identities', 'organization_memberships', 'organizations']
const counted = async () => Object.fromEntries(await Promise.all(tables.map(async (t) => [t, await countRows(service, t)])))

async function setClient(client: 'public' | 'confidential') {
  expect((await service.admin('PATCH', `/admin/apps/${wiki.app.code}`, { body: { client } })).status).toBe(200)
}

test.each(
  Object.entries(doors).flatMap(([name, door]) =>
    door.isForNew
      ? [[name, 'a password', door] as const]
      : (['a password', 'a second factor'] as const).map((owns) => [name, owns, door] as const),
  ),
)('%s, for a user with %s, is refused, and creates or uses up nothing', async (_, owns, door) => {
  const goIn = await door.arriveAt(await buildPerson(door, owns))
  const before = await counted()
  const refused = await goIn()
  expectError(refused, 'invalid_client')
  expect(refused.body.detail).toContain('/oauth/token')
  expect(await counted()).toEqual(before)
  // What was shown is good for a public app, so the client secret was all that it lacked.
  await setClient('public')
  try {
    if (owns === 'a second factor') service.advance(31)
    const entered = await goIn()
    expect([200, 201]).toContain(entered.status)
    expect(entered.body.access_token).toBeTypeOf('string')
  } finally {
    await setClient('confidential')
  }
})

test.each(
  Object.entries(doors)
    .filter(([, { isForNew }]) => isForNew)
    .flatMap(([name, door]) => [[name, {}, door] as const, [name, { mode: 'register_or_login' }, door] as const]),
)('%s, for a newcomer who waits for access, with %o, is refused, and creates no user', async (_, more, door) => {
  const change = async (body: Json) =>
    expect((await service.admin('PATCH', `/admin/apps/${wiki.app.code}`, { body })).status).toBe(200)
  await change({ auto_grant_on_signup: false })
  try {
    const goIn = await door.arriveAt({ email: someEmail(), more: () => more })
    const before = await counted()
    expectError(await goIn(), 'invalid_client')
    expect(await counted()).toEqual(before)
  } finally {
    await change({ auto_grant_on_signup: true })
  }
})

test('a registration does not reveal who is registered', async () => {
  const { email } = await buildPerson({} as Door, 'a password')
  for (const mode of ['register', 'register_or_login'])
    expectError(await register(email, { mode, password: 'a wrong password' }), 'invalid_client')
})

test.each(Object.entries(ofSessions))('%s is refused, and the session continues', async (_, { code, send }) => {
  const { tokens } = await signInAs(service, wiki)
  expectError(await send(tokens), code)
  const form = {
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token,
    client_id: wiki.app.code,
    client_secret: wiki.secret,
  }
  const renewed = await fetch(`${service.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
  expect(renewed.status).toBe(200)
})

test('the tests cover every route of the API that gives tokens of a user', () => {
  const givesTokens = listRoutes().filter(({ responses }) =>
    Object.values(responses).some(
      (answer) =>
        answer && /"refresh_token"/.test(JSON.stringify(z.toJSONSchema(answer, { io: 'input', unrepresentable: 'any' }))),
    ),
  )
  const known = new Set([...Object.values(doors).map(({ route }) => route), ...Object.keys(ofSessions)])
  expect(givesTokens.map(({ path }) => path).sort()).toEqual([...known].sort())
})

test('a wrong password is reported before the missing client secret', async () => {
  const { email } = await buildPerson({} as Door, 'a password')
  expectError(await service.login(email, wiki.app.code, { password: 'wrong' }), 'invalid_credentials')
})

test('a backend registers users without tokens', async () => {
  const body = { email: someEmail(), password: PASSWORD, app_code: wiki.app.code, mode: 'register_or_return' }
  const { status, body: answer } = await service.admin('POST', '/auth/register', { body })
  expect([status, answer.access, answer.access_token]).toEqual([201, 'granted', undefined])
})

test('explain answers as the sign-in page and the token endpoint would', async () => {
  const { email } = await buildPerson({} as Door, 'a password')
  const { body } = await service.admin('GET', `/admin/explain?${new URLSearchParams({ email, app: wiki.app.code })}`)
  expect(body.outcome).toBe('granted')
})
