// What must not get out: canary values go into every route, and no reply and no log line may contain one.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../packages/server/src/adapters/logger.ts'
import { createHttpApp } from '../../packages/server/src/app.ts'
import type { Pool } from '../../packages/server/src/db/handle.ts'
import type { Deps } from '../../packages/server/src/deps.ts'
import { startOutbox } from '../../packages/server/src/workers/outbox.ts'
import { mailChannel } from '../../packages/server/src/workers/send-mail.ts'
import { createWebhookChannel } from '../../packages/server/src/workers/send-webhook.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { allSent, startMailbox, until } from '../support/mailbox.ts'
import { startReceiver } from '../support/receiver.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  callHttp,
  type Json,
  PASSWORD,
  type TestService,
} from '../support/service.ts'
import { totpAt } from '../support/totp.ts'

const canary = 'canary-7f3a-never-to-be-seen'
const hashForm = /\$2[aby]\$\d\d\$/

let url: string
const lines: string[] = []
const answers: string[] = []
/** Tokens that the service issued. A reply may contain its own, the log none. */
const tokens = new Set<string>()

const service = serviceFixture()
beforeAll(async () => {
  const logger = createLogger('trace', { write: (line) => void lines.push(line) })
  const server = createServer(createHttpApp({ ...service.deps, logger }).callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`
})

async function send(method: string, path: string, body?: unknown, token?: string): Promise<{ status: number; body: Json }> {
  const reply = await callHttp(url + path, method, { body, token })
  const { access_token, refresh_token, ...rest } = reply.body ?? {}
  for (const given of [access_token, refresh_token]) if (given) tokens.add(given)
  answers.push(JSON.stringify(rest), JSON.stringify([...reply.headers]))
  return reply
}

function expectNothingSeen(): void {
  expect(lines.length).toBeGreaterThan(0)
  for (const text of [...lines, ...answers]) {
    expect(text).not.toContain(canary)
    expect(text).not.toMatch(hashForm)
    for (const token of tokens) expect(text).not.toContain(token)
  }
}

async function everyDoor(): Promise<void> {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const { id: organizationId } = await buildOrganization(service)
  const invitation = await buildInvitation(service, { organizationId })
  tokens.add(invitation)
  const email = `new-${user.email}`
  const newcomer = { email, password: canary, app_code: app.code }

  const registered = await send('POST', '/auth/register', { ...newcomer, invite_token: invitation })
  await send('POST', '/auth/register', newcomer)
  await send('POST', '/auth/register', { ...newcomer, mode: 'register_or_login' })
  await send('POST', '/auth/register', { ...newcomer, mode: canary })
  await send('POST', '/auth/register', { ...newcomer, email: canary })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, password: `${canary}${'x'.repeat(1_024)}` })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, password: [canary] })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, password: { [canary]: canary } })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, invite_code: canary })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, first_name: 7, last_name: canary })
  const login = await send('POST', '/auth/login', newcomer)
  await send('POST', '/auth/login', { ...newcomer, two_factor_code: canary })
  await send('POST', '/auth/login', { ...newcomer, email: user.email })
  await send('POST', '/auth/login', { ...newcomer, organization_id: canary })
  await send('POST', '/auth/login', `{"password": "${canary}", `)
  await send('POST', '/auth/login', `"${canary}"`)
  const access = login.body.access_token ?? registered.body.access_token
  await send('GET', '/auth/me', undefined, access)
  await send('GET', `/auth/me?token=${canary}&access_token=${access}`, undefined, access)
  await send('GET', '/auth/me', undefined, canary)
  await send('GET', '/auth/me', undefined, `${access}${canary}`)
  await send('GET', '/admin/users', undefined, access)
  const refreshed = await send('POST', '/auth/refresh', { refresh_token: login.body.refresh_token ?? canary })
  await send('POST', '/auth/refresh', { refresh_token: canary })
  await send('POST', '/auth/refresh', { refresh_token: [canary] })
  await send('POST', '/auth/logout', { refresh_token: refreshed.body.refresh_token ?? canary })
  for (const path of ['/admin/users', `/admin/users/${user.id}`]) {
    const { body } = await service.admin('GET', path)
    answers.push(JSON.stringify(body))
  }
}

describe('secrets in answers, and in the log at level trace', () => {
  test('no answer and no log line holds a password, a hash or a token if nothing fails', async () => {
    await everyDoor()
    expect(answers.join()).toContain('validation_failed')
    expectNothingSeen()
    const audit = JSON.stringify(await service.deps.db('audit_events'))
    expect(audit).not.toContain(canary)
    for (const token of tokens) expect(audit).not.toContain(token)
  })

  test.for(['refresh_tokens', 'sessions', 'user_roles', 'users'])(
    'no answer and no log line holds a secret while %s is missing and statements fail',
    async (table) => {
      const { db } = service.deps
      lines.length = 0
      // Prepared before the table is gone, so that only the calls under test fail.
      const app = await buildApp(service, { auto_grant_on_signup: true })
      const { user, access_token, refresh_token } = await buildUser(service, app, { password: canary })
      for (const token of [access_token, refresh_token]) tokens.add(token)
      await db.schema.renameTable(table, `${table}_away`)
      const statuses: number[] = []
      try {
        const credentials = { email: user.email, password: canary, app_code: app.code }
        statuses.push((await send('POST', '/auth/login', credentials)).status)
        statuses.push((await send('POST', '/auth/register', { ...credentials, email: `other-${user.email}` })).status)
        statuses.push((await send('POST', '/auth/refresh', { refresh_token })).status)
        statuses.push((await send('GET', '/auth/me', undefined, access_token)).status)
      } finally {
        await db.schema.renameTable(`${table}_away`, table)
      }
      expect(statuses).toContain(500)
      expect(lines.join()).toContain('request failed')
      expectNothingSeen()
    },
  )
})

describe('secrets on every journey, with all workers', () => {
  const secrets = new Map<string, string>()
  const logged: string[] = []
  let deps: Deps<Pool>
  let at: string
  let metricsUrl: string

  /** Notes a value that must not be seen anywhere. It may not be empty or short, because such a value is found in everything. */
  const secret = (what: string, value: string): string => {
    expect(value, what).toMatch(/.{8}/)
    secrets.set(what, value)
    return value
  }
  const call = (method: string, path: string, body?: unknown, token?: string) => callHttp(at + path, method, { body, token })
  const ok = async (...words: Parameters<typeof call>): Promise<Json> => {
    const { status, body } = await call(...words)
    expect(status, `${words[0]} ${words[1]} ${JSON.stringify(body)}`).toBeLessThan(300)
    return body
  }
  const signedIn = (what: string, answer: Json): Json => {
    secret(`${what}: access token`, answer.access_token)
    secret(`${what}: refresh token`, answer.refresh_token)
    return answer
  }

  async function startAll() {
    const mailbox = await startMailbox()
    const service = await buildService({ SMTP_URL: mailbox.url })
    deps = { ...service.deps, logger: createLogger('trace', { write: (line) => void logged.push(line) }) }
    const server = createServer(createHttpApp(deps).callback())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const worker = startOutbox(deps, { mail: mailChannel, webhook: createWebhookChannel() })
    onTestFinished(async () => {
      await worker.stop()
      await new Promise((resolve) => server.close(resolve))
    })
    metricsUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`
    at = metricsUrl.replace('/metrics', '/api/v1')
    await service.admin('GET', '/admin/settings')
    const login = await ok('POST', '/auth/login', { email: ADMIN_EMAIL, password: PASSWORD, app_code: 'authctl' })
    return { mailbox, admin: signedIn('admin', login).access_token, advance: service.advance }
  }

  test('no journey, from registration to provider, leaves a secret in the log at level trace, audit, outbox or metrics', async () => {
    const { mailbox, admin, advance } = await startAll()
    secret('signing secret', deps.config.accessSecret)
    secret('encryption key', deps.config.encryptionKeys[0].toString('base64'))
    const receiver = await startReceiver((response, _, turn) => void response.writeHead(turn === 1 ? 500 : 204).end(canary))
    const webhookSecret = secret('webhook secret', `whsec_${Buffer.alloc(32, 'canary').toString('base64')}`)
    const webhook = { name: 'crm', url: receiver.url, events: ['user.registered'], enabled: true, secret: webhookSecret }
    const app = { code: 'canary-app', name: 'Canary', auto_grant_on_signup: true, webhooks: [webhook] }
    await ok('POST', '/admin/apps', app, admin)

    const email = 'canary-user@example.com'
    const password = secret('password', 'canary-password-at-first')
    const registered = signedIn(
      'registration',
      await ok('POST', '/auth/register', { email, password, app_code: app.code, plan: 'pro' }),
    )
    const verification = secret('verification token', (await mailbox.take(email)).token)
    await ok('POST', '/auth/email/verify', { token: verification })

    const login = signedIn('login', await ok('POST', '/auth/login', { email, password, app_code: app.code }))
    const { refresh_token } = login
    signedIn('refresh', await ok('POST', '/auth/refresh', { refresh_token }))
    await call('POST', '/auth/login', {
      email,
      password: secret('wrong password', 'canary-password-typed-wrong'),
      app_code: app.code,
    })

    await ok('POST', '/auth/password/forgot', { email, app_code: app.code })
    const reset = secret('reset token', (await mailbox.take(email, /password/i)).token)
    const newPassword = secret('new password', 'canary-password-after-reset')
    await ok('POST', '/auth/password/reset', { token: reset, password: newPassword })
    await ok('POST', '/auth/magic-link', { email, app_code: app.code })
    const magic = secret('magic link', (await mailbox.take(email, /^Sign in to/)).token)
    const { access_token } = signedIn('magic link', await ok('POST', '/auth/magic-link/consume', { token: magic }))

    const setUp = await ok('POST', '/auth/2fa/setup', undefined, access_token)
    secret('seed', setUp.secret)
    const activated = await ok('POST', '/auth/2fa/activate', { code: totpAt(setUp.secret, deps.clock()) }, access_token)
    for (const [index, code] of activated.recovery_codes.entries()) secret(`recovery code ${index}`, code)
    const credentials = { email, password: newPassword, app_code: app.code }
    await call('POST', '/auth/login', { ...credentials, two_factor_code: secret('wrong code', 'canary-code-wrong') })
    const spent = { ...credentials, two_factor_code: activated.recovery_codes[0] }
    const entered = signedIn('recovery', await ok('POST', '/auth/login', spent))

    const organization = await ok('POST', '/admin/organizations', { name: 'Canary' }, admin)
    const invitation = { email, role_codes: ['org_member'] }
    const invited = await ok('POST', `/admin/organizations/${organization.id}/invitations`, invitation, admin)
    secret('invitation', invited.token)
    await mailbox.take(email, /invited/)
    await ok('POST', '/auth/invitations/accept', { token: invited.token }, entered.access_token)

    const account = await ok('POST', '/admin/service-accounts', { name: 'canary', service: 'canary' }, admin)
    secret('service account', account.token)
    const permission = { code: 'canary:sing', name: 'Sing', resource: 'canary', action: 'sing' }
    await ok('POST', '/admin/permissions/register', { service: 'canary', permissions: [permission] }, account.token)
    const rotated = await ok('POST', `/admin/service-accounts/${account.id}/rotate`, undefined, admin)
    secret('rotated service account', rotated.token)

    const clientSecret = secret('client secret', 'canary-client-secret-of-the-provider')
    const provider = {
      code: 'canary',
      issuer: 'http://127.0.0.1:9',
      client_id: 'canary',
      client_secret: clientSecret,
      enabled: true,
    }
    await ok('POST', '/admin/sso-providers', provider, admin)
    const verifier = secret('code verifier', `canary-verifier-${'x'.repeat(43)}`)
    await call('POST', '/auth/sso/token', { code: secret('sso code', 'canary-sso-code'), code_verifier: verifier })
    await ok('POST', '/auth/logout', { refresh_token: registered.refresh_token })

    await allSent({ deps } as TestService)
    // On a busy machine the second attempt may be made before this line is.
    await until(() => receiver.requests.length >= 1 && receiver.unanswered() === 0)
    await until(async () => {
      const waiting = await deps.db('outbox').where({ status: 'pending' }).first('attempts')
      if (waiting === undefined) return true
      if (waiting.attempts >= 1) {
        advance(3)
        deps.outboxBell.ring()
      }
      return false
    }, 'the webhook that was refused is delivered')
    await expectNoSecret()
  })

  async function expectNoSecret(): Promise<void> {
    const places = {
      log: logged.join('\n'),
      audit: JSON.stringify(await deps.db('audit_events')),
      outbox: JSON.stringify(await deps.db('outbox')),
      metrics: (await callHttp(metricsUrl, 'GET')).body as string,
    }
    for (const word of ['"level":"debug"', '"outbox_id"', '"request_id"']) expect(places.log).toContain(word)
    expect(places.audit).toContain('two_factor')
    expect(places.outbox).toContain('[REDACTED]')
    expect(places.metrics).toContain('gatehouse_outbox_attempts_total{kind="webhook",outcome="delivered"} 1')
    for (const [place, text] of Object.entries(places)) {
      expect(text, place).not.toMatch(hashForm)
      for (const [what, value] of secrets) expect(text.includes(value), `${what} in the ${place}`).toBe(false)
    }
  }
})
