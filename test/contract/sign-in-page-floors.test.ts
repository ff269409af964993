// What changes between the proof, the code and its exchange. Whatever ends the access of a user also ends what is on its way.
import { describe, expect, test } from 'vitest'
import { addMember, buildOrganization, closeAccount } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, buildUser, type Json, PASSWORD } from '../support/service.ts'
import { type AskedFor, askFor, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { type Authenticator, enableTwoFactor, loginWithCode } from '../support/totp.ts'

const service = serviceFixture({}, { frozen: true })
const urls = { allowed_redirect_urls: ['https://shop.example/cb'] }
const shop = appFixture(service, { auto_grant_on_signup: true, ...urls })
const both = appFixture(service, {
  auto_grant_on_signup: true,
  registration_namespace: 'floors-first',
  read_namespaces: ['default'],
  ...urls,
})
const first = appFixture(service, { auto_grant_on_signup: true, registration_namespace: 'floors-first', ...urls })

interface Signed {
  user: Json
  token: string
  visitor: Visitor
  phone?: Authenticator
}

/** A user who is signed in in a browser, with a second factor if asked for. */
async function buildSigned(app: Json, { isProtected = false } = {}): Promise<Signed> {
  const { user, access_token: token } = await buildUser(service, shop)
  if (app.id !== shop.id) await service.login(user.email, app.code)
  const phone = isProtected ? await enableTwoFactor(service, token) : undefined
  const visitor = visit(service)
  const page = await signInOnPage(visitor, askFor(app), user.email)
  if (phone) await visitor.send(page, 'Continue', { two_factor_code: phone.code() })
  service.advance(30)
  return { user, token, visitor, ...(phone ? { phone } : {}) }
}

async function done(reply: Promise<{ status: number; body: Json }>): Promise<void> {
  const { status, body } = await reply
  if (status >= 300) throw new Error(JSON.stringify(body))
}

interface Change {
  what: string
  app?: () => Json
  isProtected?: boolean
  happen(given: Signed): Promise<unknown>
  /** Whether the person is still signed in in the browser afterwards, though not for this app. */
  staysSignedIn?: boolean
}

const changes: Change[] = [
  {
    what: 'the password was changed',
    happen: ({ token }) => {
      const body = { current_password: PASSWORD, new_password: `${PASSWORD} new` }
      return done(service.call('POST', '/auth/password/change', { token, body }))
    },
  },
  { what: 'the user signed out everywhere', happen: ({ token }) => done(service.call('POST', '/auth/logout-all', { token })) },
  {
    what: 'an admin signed the user out',
    happen: ({ user }) => done(service.admin('POST', `/admin/users/${user.id}/logout`)),
  },
  { what: 'the user was suspended', happen: ({ user }) => closeAccount(service, user.id, 'suspended') },
  { what: 'the user was deleted', happen: ({ user }) => closeAccount(service, user.id, 'deleted') },
  {
    what: 'the grant was revoked',
    staysSignedIn: true,
    happen: ({ user }) => done(service.admin('DELETE', `/admin/users/${user.id}/apps/${shop.id}`)),
  },
  {
    what: 'the grant was revoked and given again',
    happen: async ({ user }) => {
      await done(service.admin('DELETE', `/admin/users/${user.id}/apps/${shop.id}`))
      await done(service.admin('POST', `/admin/users/${user.id}/apps/${shop.id}`, { body: {} }))
    },
  },
  {
    what: 'a second factor was activated',
    happen: ({ token }) => enableTwoFactor(service, token),
  },
  {
    what: 'the second factor was replaced',
    isProtected: true,
    happen: async ({ user, token, phone }) => {
      const body = { password: PASSWORD, code: phone!.code() }
      await done(service.call('POST', '/auth/2fa/disable', { token, body }))
      service.advance(1)
      const again = await loginWithCode(service, user, shop)
      await enableTwoFactor(service, again.body.access_token)
    },
  },
  {
    what: 'the address names another user of the app',
    app: () => both,
    staysSignedIn: true,
    happen: async ({ user }) => {
      const other = (await service.register(user.email, first.code)).body.user
      const now = service.deps.clock()
      const proven = { email_verified_at: now, first_verified_at: now, mailbox_proven_at: now }
      for (const id of [other.id, user.id]) await service.deps.db('users').where({ id }).update(proven)
    },
  },
  {
    what: 'the person signed out in this browser',
    happen: async ({ visitor }) => visitor.send(await visitor.get('/oauth/logout'), 'Sign out'),
  },
  {
    what: 'somebody else signed in in this browser',
    happen: async ({ visitor }) => {
      const { user } = await buildUser(service, shop)
      await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), user.email)
      visitor.cookies.delete('gatehouse_session')
    },
  },
]

/** Opened by a code. */
const sessionsOf = async (user: Json): Promise<number> => {
  const [row] = await service.deps.db('sessions').where({ user_id: user.id }).whereNotNull('browser_session_id').count({ n: '*' })
  return Number(row!.n)
}

describe('changes between the code and its exchange', () => {
  test.each(changes)('the code opens nothing if $what meanwhile', async ({ app: appOf, isProtected, happen }) => {
    const app = appOf?.() ?? shop
    const signed = await buildSigned(app, { isProtected })
    const asked = askFor(app)
    const { app: at } = await signed.visitor.get(asked.path)
    expect(at?.searchParams.has('code')).toBe(true)
    await happen(signed)
    const refused = await exchange(service, app, asked, at)
    expect([refused.status, refused.body.error], JSON.stringify(refused.body)).toEqual([400, 'invalid_grant'])
    expect(refused.body.access_token).toBeUndefined()
    expect(await sessionsOf(signed.user)).toBe(0)
  })

  test('an app that was switched off meanwhile gets nothing for the code', async () => {
    const { user, visitor } = await buildSigned(both)
    const asked = askFor(both)
    const { app: at } = await visitor.get(asked.path)
    await done(service.admin('PATCH', `/admin/apps/${both.id}`, { body: { status: 'inactive' } }))
    expect((await exchange(service, both, asked, at)).body.error).toBe('unauthorized_client')
    await done(service.admin('PATCH', `/admin/apps/${both.id}`, { body: { status: 'active' } }))
    expect(await sessionsOf(user)).toBe(0)
  })

  test('a code for an organization is refused if the membership ended meanwhile', async () => {
    const { user, visitor } = await buildSigned(shop)
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_admin'])
    const asked = askFor(shop, { organization_id: organization.id })
    const { app: at } = await visitor.get(asked.path)
    await service.deps.db('membership_roles').delete()
    await service.deps.db('organization_memberships').where({ user_id: user.id }).delete()
    expect((await exchange(service, shop, asked, at)).body.code).toBe('organization_membership_required')
    expect(await sessionsOf(user)).toBe(0)
  })
})

describe('changes between the proof and the code', () => {
  test.each(changes)('nobody enters without a question if $what meanwhile', async ({ app: appOf, isProtected, ...change }) => {
    const app = appOf?.() ?? shop
    const signed = await buildSigned(app, { isProtected })
    expect((await signed.visitor.get(askFor(app).path)).app?.searchParams.has('code')).toBe(true)
    const old = visit(service)
    for (const [name, value] of signed.visitor.cookies) old.cookies.set(name, value)
    await change.happen(signed)
    const page = await old.get(askFor(app).path)
    expect(page.app).toBeUndefined()
    if (!change.staysSignedIn) expect(page.title).toBe('Sign in')
    const { app: at } = await old.get(askFor(app, { prompt: 'none' }).path)
    expect(at?.searchParams.get('error')).toMatch(/^(login|interaction)_required$/)
  })
})

test('a new sign-in lets the browser enter an app whose grant was revoked and given again', async () => {
  const { user, visitor } = await buildSigned(shop)
  await done(service.admin('DELETE', `/admin/users/${user.id}/apps/${shop.id}`))
  await done(service.admin('POST', `/admin/users/${user.id}/apps/${shop.id}`, { body: {} }))
  const asked = askFor(shop)
  const { app: at } = await signInOnPage(visitor, asked, user.email)
  expect((await exchange(service, shop, asked, at)).body.user.id).toBe(user.id)
  expect((await visitor.get(askFor(shop).path)).app?.searchParams.has('code')).toBe(true)
})

test('a code that the gate refuses is spent, and what it provisioned is undone', async () => {
  const { user, visitor } = await buildSigned(shop)
  const app = await buildApp(service, { auto_grant_on_signup: true, ...urls })
  const organization = await buildOrganization(service)
  await addMember(service, organization.id, user.id, ['org_member'])
  const asked = askFor(app, { organization_id: organization.id })
  const page = await visitor.get(asked.path)
  const { app: at } = page.app ? page : await visitor.send(page, 'Continue')
  await done(service.admin('DELETE', `/admin/organizations/${organization.id}/members/${user.id}`))
  expect((await exchange(service, app, asked, at)).body.code).toBe('organization_membership_required')
  expect(await countRows(service, 'user_apps', { user_id: user.id, app_id: app.id })).toBe(0)
  await addMember(service, organization.id, user.id, ['org_member'])
  expect((await exchange(service, app, asked, at)).body.code).toBe('invalid_grant')
  expect(await countRows(service, 'sessions', { user_id: user.id, app_id: app.id })).toBe(0)
})

describe('changes between the page and its form', () => {
  const formOf = async (given: Signed): Promise<{ asked: AskedFor; go: () => Promise<Json> }> => {
    const asked = askFor(shop, { redirect_uri: urls.allowed_redirect_urls[0] })
    await done(service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { single_sign_on: false } }))
    const page = await given.visitor.get(asked.path)
    await done(service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { single_sign_on: true } }))
    expect(page.title).toBe(`Continue to ${shop.code}`)
    return { asked, go: () => given.visitor.send(page, 'Continue') }
  }

  test.each(changes.filter(({ app }) => !app))('the button enters no app if $what meanwhile', async ({ isProtected, happen }) => {
    const signed = await buildSigned(shop, { isProtected })
    const { go } = await formOf(signed)
    const before = await countRows(service, 'authorization_codes', { user_id: signed.user.id })
    await happen(signed)
    expect((await go()).app).toBeUndefined()
    expect(await countRows(service, 'authorization_codes', { user_id: signed.user.id })).toBe(
      signed.user.status === 'deleted' ? 0 : before,
    )
  })

  test('the page does not lead to a redirect URL that the app has given up', async () => {
    const signed = await buildSigned(shop)
    const { go } = await formOf(signed)
    await done(service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { allowed_redirect_urls: ['https://new.example/cb'] } }))
    const page = await go()
    await done(service.admin('PATCH', `/admin/apps/${shop.id}`, { body: urls }))
    expect([page.status, page.app]).toEqual([400, undefined])
  })
})
