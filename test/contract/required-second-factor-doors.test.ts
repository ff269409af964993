// Apps that demand a second factor: at each way to sign in, under each policy, for everything that a person owns and shows. What is expected
// comes from a few lines of its own, which know nothing of how the service decides.
import { beforeAll, describe, expect, test } from 'vitest'
import { Authenticator, askedIn } from '../support/authenticator.ts'
import { assignRole, buildInvitation, buildOrganization, buildRole } from '../support/factories.ts'
import { fixture, mailingFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { arrive, buildSsoProvider, callbackOf, exchange, REDIRECT_URL, startProvider } from '../support/provider.ts'
import { auditEvents, isInvitationSpent, markVerified } from '../support/rows.ts'
import { buildApp, claimsOf, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { type Arrival, type AskedFor, askFor, exchange as exchangeCode, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_USER: 'off' }, { frozen: true })
const provider = fixture(() => startProvider([callbackOf('acme')], onFileEnd))
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
})

const day = 86_400_000
const inDays = (days: number) => new Date(service.deps.clock() + days * day).toISOString()
const policies = {
  off: () => ({ require_two_factor: 'off' }),
  admins: () => ({ require_two_factor: 'admins' }),
  everyone: () => ({ require_two_factor: 'everyone' }),
  'everyone, from next month on': () => ({ require_two_factor: 'everyone', require_two_factor_from: inDays(30) }),
  'everyone, since yesterday': () => ({ require_two_factor: 'everyone', require_two_factor_from: inDays(-1) }),
  'admins, from next month on': () => ({ require_two_factor: 'admins', require_two_factor_from: inDays(30) }),
}
type Policy = keyof typeof policies
const policyNames = Object.keys(policies) as Policy[]

const owned = ['nothing', 'a code', 'a passkey', 'a code and a passkey'] as const
type Owned = (typeof owned)[number]
const holders = ['base_user', 'another role'] as const
type Holder = (typeof holders)[number]

// --- What is expected, from the wording of the policy only ---

type Outcome = 'granted' | 'asked for the code' | 'asked for the passkey' | 'told to enrol'

const isDemanded = (policy: Policy, holder: Holder) =>
  !policy.includes('next month') && (policy.startsWith('everyone') || (policy === 'admins' && holder === 'another role'))

function expected(policy: Policy, holder: Holder, owns: Owned, shows: boolean): Outcome {
  if (shows) return 'granted'
  if (!isDemanded(policy, holder)) return owns.startsWith('a code') ? 'asked for the code' : 'granted'
  if (owns.startsWith('a code')) return 'asked for the code'
  return owns === 'a passkey' ? 'asked for the passkey' : 'told to enrol'
}

/** A session goes on with what was shown in it, and is refused nothing else where nothing is demanded. */
function expectedOfSession(policy: Policy, holder: Holder, owns: Owned, shown: boolean): Outcome {
  return isDemanded(policy, holder) ? expected(policy, holder, owns, shown) : 'granted'
}

function outcomeOf({ status, body }: Pick<Reply, 'status' | 'body'>, app: Json): Outcome | string {
  if (status === 200) return body.access_token === undefined ? 'no token' : 'granted'
  const word = body.code ?? (body.requires_2fa === true ? 'two_factor_required' : undefined)
  if (word === 'two_factor_enrollment_required') {
    expect(body.enrollment_url).toBe(`http://localhost:4000/account/two-factor?app=${app.code}`)
    return 'told to enrol'
  }
  // The page is named, since no code can be sent there.
  if (word === 'two_factor_required')
    return /\/oauth\/authorize/.test(body.detail ?? body.error_description) ? 'asked for the passkey' : 'asked for the code'
  return `${status} ${word}`
}

// --- Setup ---

const home = fixture(() => buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL] }))
const role = fixture(async () => ({ code: await buildRole(service, 'global') }))
const open = { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL] }
const setPolicy = async (app: Json, policy: Policy) => {
  const { status, body } = await service.admin('PATCH', `/admin/apps/${app.id}`, {
    body: { require_two_factor_from: null, ...policies[policy]() },
  })
  expect(status, JSON.stringify(body)).toBe(200)
}

interface Person {
  id: string
  email: string
  subject: string
  owns: Owned
  code: (() => string) | undefined
  device: Authenticator | undefined
}

async function addPasskey(email: string, code: (() => string) | undefined): Promise<Authenticator> {
  const visitor = visit(service)
  const device = new Authenticator('http://localhost:4000')
  let page = await visitor.get(`/account/passkeys?app=${home.code}`)
  if (page.forms.some(({ buttons }) => buttons.has('Sign in')))
    page = await visitor.send(page, 'Sign in', { email, password: PASSWORD })
  service.advance(30)
  if (code) page = await visitor.send(page, 'Continue', { two_factor_code: code() })
  page = await visitor.send(page, 'Add a passkey', { passkey: device.create(askedIn(page)!), name: 'Laptop' })
  expect(page.html).toContain('Laptop')
  return device
}

/** Somebody who can sign in each way. */
async function build(holder: Holder, owns: Owned): Promise<Person> {
  const email = someEmail()
  const { user } = (await service.register(email, home.code)).body
  await markVerified(service, user.id)
  const subject = provider.addAccount({ email, email_verified: true })
  // Linked, since a provider is never linked by the address of somebody who holds a role.
  expect((await exchange(service, await arrive(service, { provider, code: 'acme', app: home, subject }))).status).toBe(200)
  const { access_token: token } = (await service.login(email, home.code)).body
  const phone = owns.startsWith('a code') ? await enableTwoFactor(service, token) : undefined
  const device = owns.endsWith('passkey') ? await addPasskey(email, phone?.code) : undefined
  if (holder === 'another role') await assignRole(service, user.id, role.code)
  return { id: user.id, email, subject, owns, code: phone?.code, device }
}

/** The ways to sign in, from the first factor on. */
const doors: Record<string, (person: Person, app: Json, more: Json) => Promise<Reply>> = {
  login: ({ email }, app, more) => service.login(email, app.code, more),
  register_or_login: async ({ email }, app, more) => {
    const reply = await service.register(email, app.code, { mode: 'register_or_login', ...more })
    return reply.status === 201 ? { ...reply, status: 200 } : reply
  },
  'an invitation at the login': async ({ email }, app, more) => {
    const organization = await buildOrganization(service)
    const invite_token = await buildInvitation(service, { organizationId: organization.id, appCode: app.code, email })
    const reply = await service.register(email, app.code, { mode: 'register_or_login', invite_token, ...more })
    // Refused, nobody has joined, and the invitation is still there.
    expect(await isInvitationSpent(service, invite_token)).toBe(reply.status === 200 || reply.status === 201)
    return reply.status === 201 ? { ...reply, status: 200 } : reply
  },
  'magic link': async ({ email }, app, more) => {
    await service.call('POST', '/auth/magic-link', { body: { email, app_code: app.code } })
    const { token } = await mailbox.take(email, /^Sign in to/)
    return service.call('POST', '/auth/magic-link/consume', { body: { token, ...more } })
  },
  'e-mail code': async ({ email }, app, more) => {
    const { request_id } = (await service.call('POST', '/auth/email-code', { body: { email, app_code: app.code } })).body
    const { text } = await mailbox.take(email, /^Sign in to/)
    const code = /: (\d{6})$/m.exec(text)?.[1]
    return service.call('POST', '/auth/email-code/consume', { body: { request_id, code, ...more } })
  },
  provider: async ({ subject }, app, more) =>
    exchange(service, await arrive(service, { provider, code: 'acme', app, subject }), more),
}

describe.each(holders)('the second factor for a holder of %s', (holder) => {
  describe.each(owned)('the second factor of a person who owns %s', (owns) => {
    const person = fixture(() => build(holder, owns))

    test.each(Object.keys(doors))('a sign-in by %s asks for what the policy demands, and only that lets in', async (door) => {
      const seen: Json[] = []
      const wanted: Json[] = []
      for (const policy of policyNames) {
        const app = await buildApp(service, { ...open, ...policies[policy]() })
        for (const shows of person.code ? [true, false] : [false]) {
          // A code is good once, and three mails go to one address in fifteen minutes.
          service.advance(16 * 60)
          const reply = await doors[door]!(person, app, shows ? { two_factor_code: person.code!() } : {})
          seen.push([policy, shows, outcomeOf(reply, app)])
          wanted.push([policy, shows, expected(policy, holder, owns, shows)])
        }
      }
      expect(seen).toEqual(wanted)
    })

    test('the sign-in page asks for what the policy demands, and only that lets in', async () => {
      const seen: Json[] = []
      const wanted: Json[] = []
      let trusted: string | undefined
      for (const policy of policyNames) {
        const app = await buildApp(service, { ...open, ...policies[policy](), trust_device_days: 7 })
        for (const shown of ['nothing', 'the code', 'a trusted browser', 'the passkey']) {
          if (
            ((shown === 'the code' || shown === 'a trusted browser') && !person.code) ||
            (shown === 'the passkey' && !person.device)
          )
            continue
          service.advance(60)
          if (shown === 'a trusted browser') trusted ??= await trustedBrowser(person)
          seen.push([policy, shown, await onPage(person, app, shown, shown === 'a trusted browser' ? trusted : undefined)])
          wanted.push([policy, shown, expected(policy, holder, owns, shown !== 'nothing')])
        }
      }
      expect(seen).toEqual(wanted)
    })
  })
})

/** The secret of a browser in which the person showed the code a minute ago, at another app. */
async function trustedBrowser(person: Person): Promise<string> {
  const app = await buildApp(service, { ...open, trust_device_days: 7 })
  const visitor = visit(service)
  const page = await showOnPage(visitor, person, askFor(app), 'nothing')
  service.advance(60)
  await visitor.send(page, 'Continue', { two_factor_code: person.code!(), trust: 'yes' })
  return visitor.cookies.get('gatehouse_trust')!
}

/** Signs in on the page, shows this much, and goes on to the app. */
async function onPage(person: Person, app: Json, shown: string, trust?: string): Promise<Outcome | string> {
  const visitor = visit(service)
  if (trust !== undefined) visitor.cookies.set('gatehouse_trust', trust)
  const asked = askFor(app)
  const page = await showOnPage(visitor, person, asked, shown)
  if (page.title === 'Enter your code' && shown === 'nothing') return 'asked for the code'
  return endOf(visitor, page, app, asked)
}

async function showOnPage(visitor: Visitor, { email, code, device }: Person, asked: AskedFor, shown: string): Promise<Arrival> {
  const page = await visitor.get(asked.path)
  if (shown === 'the passkey') {
    const { action, values } = page.forms.find((form) => form.buttons.has('Sign in'))!
    const reply = await visitor.post(new URL(action, service.url).href, {
      ...values,
      keep: 'yes',
      passkey: device!.get(askedIn(page)!),
    })
    return visitor.get(reply.headers.get('location') ?? '')
  }
  const next = await visitor.send(page, 'Sign in', { email, password: PASSWORD, keep: 'yes' })
  return shown === 'the code' ? visitor.send(next, 'Continue', { two_factor_code: code!() }) : next
}

async function endOf(visitor: Visitor, page: Json, app: Json, asked: AskedFor): Promise<Outcome | string> {
  const titles: Record<string, Outcome> = {
    'You need a second factor': 'told to enrol',
    'Use your passkey': 'asked for the passkey',
  }
  if (titles[page.title]) return titles[page.title]!
  const arrival = page.app ? page : await visitor.send(page, 'Continue')
  const { status, body } = await exchangeCode(service, app, asked, arrival.app)
  return outcomeOf({ status, body }, app)
}

test('a registration with only a password must enrol if everyone must, with or without an invitation', async () => {
  const seen: Json[] = []
  const wanted: Json[] = []
  const organization = await buildOrganization(service)
  for (const policy of policyNames)
    for (const isInvited of [false, true]) {
      const app = await buildApp(service, { ...open, ...policies[policy](), ...(isInvited && { sign_up: 'invitation' }) })
      const invite = () => buildInvitation(service, { organizationId: organization.id, appCode: app.code })
      const { status, body } = await service.register(someEmail(), app.code, isInvited ? { invite_token: await invite() } : {})
      expect(status, JSON.stringify(body)).toBe(201)
      const isTold = body.enrollment_url === `http://localhost:4000/account/two-factor?app=${app.code}`
      seen.push([policy, isInvited, body.access, body.access_token !== undefined, isTold])
      const isHeld = expected(policy, 'base_user', 'nothing', false) === 'told to enrol'
      wanted.push([policy, isInvited, isHeld ? 'unenrolled' : 'granted', !isHeld, isHeld])
    }
  expect(seen).toEqual(wanted)
})

describe('a session older than the policy', () => {
  /** What was shown when the session began, and what its user owns now. */
  const sessions = [
    ['nothing', 'nothing'],
    ['nothing', 'a code'],
    ['nothing', 'a passkey'],
    ['a code', 'a code'],
    ['a code', 'nothing'],
  ] as const

  const onDoors: Record<string, (tokens: Json, app: Json) => Promise<Pick<Reply, 'status' | 'body'>>> = {
    refresh: ({ refresh_token }) => service.call('POST', '/auth/refresh', { body: { refresh_token } }),
    'the token endpoint': ({ refresh_token }, app) => refreshByOAuth(refresh_token, app),
    'a change of the password': ({ access_token: token }) =>
      service.call('POST', '/auth/password/change', {
        token,
        body: { current_password: PASSWORD, new_password: `${PASSWORD} again` },
      }),
  }

  test.each(holders.flatMap((holder) => sessions.map(([shown, owns]) => [holder, shown, owns] as const)))(
    'a holder of %s who showed %s then and owns %s now is asked for what the policy demands',
    async (holder, shown, owns) => {
      const seen: Json[] = []
      const wanted: Json[] = []
      for (const policy of policyNames) {
        const app = await buildApp(service, open)
        const { tokens } = await begin(app, holder, shown, owns)
        await setPolicy(app, policy)
        for (const [door, go] of Object.entries(onDoors)) {
          const reply = await go(tokens, app)
          if (reply.status === 200) Object.assign(tokens, reply.body)
          seen.push([policy, door, outcomeOf(reply, app)])
          wanted.push([policy, door, expectedOfSession(policy, holder, owns, shown === 'a code')])
        }
      }
      expect(seen).toEqual(wanted)
    },
  )

  async function begin(app: Json, holder: Holder, shown: string, owns: string) {
    const email = someEmail()
    const registered = (await service.register(email, app.code)).body
    const { user } = registered
    let tokens = registered
    if (shown === 'a code') {
      const phone = await enableTwoFactor(service, registered.access_token)
      tokens = (await service.login(email, app.code, { two_factor_code: phone.code() })).body
      expect(claimsOf(tokens.access_token).amr).toContain('mfa')
      if (owns === 'nothing') {
        service.advance(30)
        const body = { password: PASSWORD, code: phone.code() }
        expect((await service.call('POST', '/auth/2fa/disable', { token: tokens.access_token, body })).status).toBe(204)
      }
    } else if (owns === 'a code') {
      await enableTwoFactor(service, tokens.access_token)
    } else if (owns === 'a passkey') {
      const visitor = visit(service)
      const page = await visitor.get(`/account/passkeys?app=${app.code}`)
      const account = await visitor.send(page, 'Sign in', { email, password: PASSWORD })
      const device = new Authenticator('http://localhost:4000')
      expect(
        (await visitor.send(account, 'Add a passkey', { passkey: device.create(askedIn(account)!), name: 'Laptop' })).html,
      ).toContain('Laptop')
    }
    if (holder === 'another role') await assignRole(service, user.id, role.code)
    return { user, email, tokens: tokens as Json }
  }

  test('a session is refused from the date on, not before, and keeps its refresh token', async () => {
    const app = await buildApp(service, { ...open, require_two_factor: 'everyone', require_two_factor_from: inDays(1) })
    const { tokens } = await begin(app, 'base_user', 'nothing', 'nothing')
    const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
    service.advance(86_399)
    const before = await refresh(tokens.refresh_token)
    expect(before.status).toBe(200)
    service.advance(1)
    for (const _ of [1, 2]) expect(outcomeOf(await refresh(before.body.refresh_token), app)).toBe('told to enrol')
    // The refusal has spent nothing: the session goes on if the app gives the policy up.
    await setPolicy(app, 'off')
    expect((await refresh(before.body.refresh_token)).status).toBe(200)
  })

  test.each([
    ['a code', 'asked for the code'],
    ['a passkey', 'asked for the passkey'],
  ] as const)(
    'a session is refused from the date on if %s was shown before it, and continues after a new proof',
    async (shown, asked) => {
      const person = await build('base_user', shown)
      const app = await buildApp(service, { ...open, require_two_factor: 'everyone', require_two_factor_from: inDays(1) })
      const enter = async () => {
        service.advance(30)
        const visitor = visit(service)
        const request = askFor(app)
        const page = await showOnPage(visitor, person, request, shown === 'a code' ? 'the code' : 'the passkey')
        const arrival = page.app ? page : await visitor.send(page, 'Continue')
        const { status, body } = await exchangeCode(service, app, request, arrival.app)
        expect(status, JSON.stringify(body)).toBe(200)
        return { visitor, body }
      }
      const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
      const before = await enter()
      service.advance(86_400 - 60)
      const last = await refresh(before.body.refresh_token)
      expect(last.status).toBe(200)
      service.advance(60)
      expect(outcomeOf(await refresh(last.body.refresh_token), app)).toBe(asked)
      // Nor is the app entered silently with it: the page asks again.
      const title = (await before.visitor.get(askFor(app).path)).title
      expect(title).toBe(shown === 'a code' ? 'Sign in' : 'Use your passkey')
      const after = await enter()
      const next = await refresh(after.body.refresh_token)
      expect(next.status).toBe(200)
      // A date in the future lets all of them go on.
      await setPolicy(app, 'everyone, from next month on')
      expect((await refresh(last.body.refresh_token)).status).toBe(200)
    },
  )

  test('a session by trusted browser is refused from the date on, and the page asks for the code once', async () => {
    const { email, code } = await build('base_user', 'a code')
    const policy = { require_two_factor: 'everyone', require_two_factor_from: inDays(2) }
    const app = await buildApp(service, { ...open, trust_device_days: 30, ...policy })
    const visitor = visit(service)
    const signIn = async () => {
      visitor.cookies.delete('gatehouse_session')
      const request = askFor(app)
      const page = await visitor.get(request.path)
      return { request, page: await visitor.send(page, 'Sign in', { email, password: PASSWORD }) }
    }
    const first = await signIn()
    service.advance(30)
    const entry = await visitor.send(first.page, 'Continue', { two_factor_code: code!(), trust: 'yes' })
    const arrival = entry.app ? entry : await visitor.send(entry, 'Continue')
    expect((await exchangeCode(service, app, first.request, arrival.app)).status).toBe(200)
    service.advance(86_400)
    const trusted = await signIn()
    const { body } = await exchangeCode(service, app, trusted.request, trusted.page.app)
    expect(claimsOf(body.access_token).amr).toEqual(['pwd'])
    service.advance(86_400)
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect(outcomeOf(refreshed, app)).toBe('asked for the code')
    const again = await signIn()
    expect(again.page.title).toBe('Enter your code')
    await visitor.send(again.page, 'Continue', { two_factor_code: code!(), trust: 'yes' })
    const last = await signIn()
    expect((await exchangeCode(service, app, last.request, last.page.app)).status).toBe(200)
  })

  test('after a change of the password, a session keeps the factors it has shown', async () => {
    const app = await buildApp(service, { ...open, require_two_factor: 'off' })
    const { tokens } = await begin(app, 'base_user', 'a code', 'a code')
    await setPolicy(app, 'everyone')
    const changed = await onDoors['a change of the password']!(tokens, app)
    expect(claimsOf(changed.body.access_token).amr).toEqual(['pwd'])
    const refreshed = await onDoors.refresh!(changed.body, app)
    expect(claimsOf(refreshed.body.access_token).amr).toEqual(['pwd'])
  })

  test('a session of an earlier version continues if its tokens named two factors', async () => {
    const app = await buildApp(service, open)
    const [named, unnamed] = [
      await begin(app, 'base_user', 'a code', 'a code'),
      await begin(app, 'base_user', 'nothing', 'nothing'),
    ]
    for (const { user } of [named, unnamed])
      await service.deps.db('sessions').where({ user_id: user.id }).update({ second_factor: null })
    await service.deps.db('sessions').where({ user_id: unnamed.user.id }).update({ amr: null, first_proven_at: null })
    await setPolicy(app, 'everyone')
    expect(outcomeOf(await onDoors.refresh!(named.tokens, app), app)).toBe('granted')
    expect(outcomeOf(await onDoors.refresh!(unnamed.tokens, app), app)).toBe('told to enrol')
  })
})

async function refreshByOAuth(refresh_token: string, app: Json) {
  const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: app.code, refresh_token })
  const reply = await fetch(`${service.url}/oauth/token`, { method: 'POST', body })
  return { status: reply.status, body: (await reply.json()) as Json }
}

test('a refusal is audited as a failed login, and costs no attempt', async () => {
  const app = await buildApp(service, { ...open, require_two_factor: 'everyone' })
  const { user } = (await service.register(someEmail(), home.code)).body
  for (let tries = 0; tries < 25; tries += 1) expect((await service.login(user.email, app.code)).status).toBe(403)
  const [event] = await auditEvents(service, { event: 'login.failed', app_id: app.id })
  expect(event).toMatchObject({ reason: 'two_factor_enrollment_required', user_id: user.id })
})
