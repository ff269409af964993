// New accounts and invitations on the sign-in page.
import { describe, expect, test } from 'vitest'
import { buildOrganization } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { buildUser, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { askFor, exchange, signInOnPage, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({}, { frozen: true })
const allowed_redirect_urls = ['https://shop.example/callback']
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls })
const strict = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls, require_verified_email: true })
const guarded = appFixture(service, { allowed_redirect_urls })
const closed = appFixture(service, { sign_up: 'closed', allowed_redirect_urls })

async function create(app: Json, email: string, values: Record<string, string> = {}) {
  const visitor = visit(service)
  const asked = askFor(app)
  const form = await visitor.send(await visitor.get(asked.path), 'Create account')
  return { visitor, asked, page: await visitor.send(form, 'Create account', { email, password: PASSWORD, ...values }) }
}

describe('creating an account', () => {
  test('a new account leads to the app, with the names that the form asks for', async () => {
    const email = someEmail()
    const { asked, page } = await create(shop, email, { first_name: ' Ada ', last_name: 'Lovelace' })
    const { body } = await exchange(service, shop, asked, page.app)
    expect(body.user).toMatchObject({ email, first_name: 'Ada', last_name: 'Lovelace', email_verified: false })
    expect(await countRows(service, 'sessions', { user_id: body.user.id })).toBe(1)
  })

  test('the form for a new account comes first if the app asks for it, and a button leads to the sign-in instead', async () => {
    const visitor = visit(service)
    const page = await visitor.get(askFor(shop, { prompt: 'create' }).path)
    expect(page.title).toBe('Create your account')
    expect((await visitor.send(page, 'Sign in instead')).title).toBe('Sign in')
  })

  test('creating an account follows the rules of the API for passwords, taken addresses and closed apps', async () => {
    const { user } = await buildUser(service, shop)
    expect((await create(shop, someEmail(), { password: 'short' })).page.html).toContain('id="password-fault"')
    expect((await create(shop, user.email)).page.html).toContain('already an account')
    const visitor = visit(service)
    const form = await visitor.get(askFor(closed, { prompt: 'create' }).path)
    const email = someEmail()
    const refused = await visitor.send(form, 'Create account', { email, password: PASSWORD })
    expect(refused.html).toContain('takes no new accounts')
    expect(await countRows(service, 'users', { email })).toBe(0)
  })

  test('a form that is shown again keeps all fields except the password, even with the longest request', async () => {
    const { user } = await buildUser(service, shop)
    const typed = { email: user.email, first_name: '漢'.repeat(64), last_name: 'Lovelace', keep: 'yes' }
    const visitor = visit(service)
    const longest = { prompt: 'create', state: 'x'.repeat(2_000), login_hint: 'x'.repeat(4_000) }
    const page = await visitor.get(askFor(shop, longest).path)
    const again = await visitor.send(page, 'Create account', { ...typed, password: PASSWORD })
    expect(again.forms[0]!.values).toMatchObject({ ...typed, password: '' })
    const signIn = await visitor.send(again, 'Sign in instead')
    const slip = await visitor.send(signIn, 'Sign in', { email: user.email, keep: 'yes', password: 'a slip of the finger' })
    expect(slip.forms[0]!.values).toMatchObject({ email: user.email, keep: 'yes', password: '' })
    const other = await visitor.send(slip, 'Sign in', { keep: '', password: 'a slip of the finger' })
    expect(other.forms[0]!.values).not.toHaveProperty('keep')
  })

  test('creating an account goes on with the code of the mail if the app asks for a verified address', async () => {
    const email = someEmail()
    const { visitor, asked, page } = await create(strict, email)
    expect(page.title).toBe('Check your mail')
    const { text } = await mailbox.take(email)
    const next = await visitor.send(page, 'Confirm', { code: /: (\d{6})$/m.exec(text)?.[1] ?? '' })
    const arrival = next.app ? next : await visitor.send(next, 'Continue')
    expect((await exchange(service, strict, asked, arrival.app)).body.user).toMatchObject({ email, email_verified: true })
  })
})

describe('webhooks and error pages', () => {
  test('the webhook of a registration on the page has only the fields of the form, even with an invitation', async () => {
    const email = someEmail()
    const body = { webhooks: [{ name: 'crm', url: 'http://127.0.0.1:9/' }] }
    const { body: told } = await service.admin('PATCH', `/admin/apps/${shop.code}`, { body })
    expect(told.webhooks).toHaveLength(1)
    const { invite } = await invited(email)
    const visitor = visit(service)
    const form = await visitor.send(await visitor.get(askFor(shop, { invite }).path), 'Create account')
    await visitor.send(form, 'Create account', { email, password: PASSWORD, first_name: 'Ada' })
    const { registration } = (await service.deps.db('outbox').where({ kind: 'webhook' }))
      .map(({ payload }) => JSON.parse(payload))
      .find(({ user }) => user?.email === email)
    expect(registration).toEqual({ email, password: '[REDACTED]', first_name: 'Ada' })
    await service.admin('PATCH', `/admin/apps/${shop.code}`, { body: { webhooks: [] } })
  })

  test('error pages show names of parameters as code, without backticks', async () => {
    for (const query of [
      'client_id=unknown',
      `client_id=${shop.code}`,
      `client_id=${shop.code}&redirect_uri=https://a.example/`,
    ]) {
      const { html } = await visit(service).get(`/oauth/authorize?${query}`)
      expect(html).toMatch(/<code>(client_id|redirect_uri)<\/code>/)
      expect(html).not.toContain('`')
    }
  })
})

describe('a person without access and without a verified address', () => {
  test('a person verifies their address first, and only then can ask for access', async () => {
    const { user } = await buildUser(service, shop)
    await mailbox.take(user.email)
    const visitor = visit(service)
    const refused = await signInOnPage(visitor, askFor(guarded), user.email)
    expect(refused.forms.flatMap(({ buttons }) => [...buttons.keys()])).toEqual(['Send me a code', 'Use another account'])
    expect(refused.html).toContain('An admin can give it to you. You can ask for it once your address is verified')
    const sent = await visitor.send(refused, 'Send me a code')
    expect(sent.html).toContain(`A mail with a code is on its way to <bdi>${user.email}</bdi>`)
    expect(sent.html).not.toContain('If there is an account')
    const { text } = await mailbox.take(user.email, /^Confirm/)
    const verified = await visitor.send(sent, 'Confirm', { code: /: (\d{6})$/m.exec(text)?.[1] ?? '' })
    expect(verified.title).toBe('You don’t have access yet')
    expect((await visitor.send(verified, 'Ask for access')).html).toContain('You have asked for access.')
    expect(await countRows(service, 'access_requests', { user_id: user.id })).toBe(1)
  })
})

describe('an invitation', () => {
  test('an invitation names the organization, and only a button accepts it', async () => {
    const { user } = await buildUser(service, shop)
    await service.login(user.email, shop.code)
    const { invite, name, organizationId } = await invited(user.email)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    const asked = askFor(shop, { invite })
    const page = await visitor.get(asked.path)
    expect(page.title).toBe(`Join ${name}`)
    const memberships = () =>
      countRows(service, 'organization_memberships', { organization_id: organizationId, user_id: user.id })
    expect(await memberships()).toBe(0)
    const arrival = await visitor.send(page, 'Join')
    expect(await memberships()).toBe(1)
    expect((await exchange(service, shop, asked, arrival.app)).status).toBe(200)
  })

  test.each<[string, Record<string, string>, boolean]>([
    ['the second factor was not shown', {}, true],
    ['the app asks for a new sign-in', { prompt: 'login' }, false],
  ])('a form that the page does not offer accepts no invitation while %s', async (_, parameters, isProtected) => {
    const { user, access_token: token } = await buildUser(service, shop)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    service.advance(1)
    if (isProtected) await enableTwoFactor(service, token)
    const { invite, organizationId } = await invited(user.email)
    const page = await visitor.get(askFor(shop, { invite, ...parameters }).path)
    expect(page.title).toBe('Sign in')
    await visitor.post(`${service.url}/oauth/authorize`, { ...page.forms[0]!.values, step: 'join' })
    expect(await countRows(service, 'organization_memberships', { organization_id: organizationId })).toBe(0)
  })

  test('an invitation is named to people who are not signed in, and a new account joins with it', async () => {
    const email = someEmail()
    const { invite, name, organizationId } = await invited(email)
    const visitor = visit(service)
    const asked = askFor(shop, { invite })
    const first = await visitor.get(asked.path)
    expect(first.html).toContain(`You are invited to <bdi>${name}`)
    const form = await visitor.send(first, 'Create account')
    const page = await visitor.send(form, 'Create account', { email, password: PASSWORD })
    expect(page.app).toBeUndefined()
    const arrival = await visitor.send(page, 'Continue')
    const { body } = await exchange(service, shop, asked, arrival.app)
    expect(await countRows(service, 'organization_memberships', { organization_id: organizationId, user_id: body.user.id })).toBe(
      1,
    )
  })
})

test('a form that the page does not offer cannot ask for access while the second factor was not shown', async () => {
  const { user, access_token: token } = await buildUser(service, shop)
  await markVerified(service, user.id)
  const visitor = visit(service)
  await signInOnPage(visitor, askFor(shop), user.email)
  await enableTwoFactor(service, token)
  const page = await visitor.get(askFor(closed).path)
  expect(page.title).toBe('Sign in')
  await visitor.post(`${service.url}/oauth/authorize`, { ...page.forms[0]!.values, step: 'ask_for_access' })
  expect(await countRows(service, 'access_requests', { user_id: user.id })).toBe(0)
})

/** Invites an address to a new organization, as an admin. */
async function invited(email: string) {
  const organization = await buildOrganization(service)
  const { body } = await service.admin('POST', `/admin/organizations/${organization.id}/invitations`, {
    body: { email, role_codes: ['org_member'] },
  })
  return { invite: body.token as string, name: organization.name as string, organizationId: organization.id as string }
}
