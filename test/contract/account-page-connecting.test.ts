// Connecting an account at a provider on the account page (docs/sign-users-in/account-page.md). The answer of the provider counts only for the person
// and in the browser session that asked for it.
import { beforeAll, describe, expect, test } from 'vitest'
import { hashOpaqueToken } from '../../packages/server/src/lib/random.ts'
import { appFixture, fixture, mailingFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { arrive, buildSsoProvider, callbackOf, exchange as exchangeAtApi, startProvider } from '../support/provider.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { type Arrival, askFor, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const codes = ['acme', 'second', 'picky', 'elsewhere', 'gone']
const provider = fixture(() => startProvider(codes.map(callbackOf), onFileEnd))
const { service, mailbox } = mailingFixture()
const shop = appFixture(service, {
  name: 'The Shop',
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example/callback', 'https://app.example.com/signed-in'],
})
beforeAll(async () => {
  const { issuer } = provider
  for (const code of ['acme', 'second', 'picky']) await buildSsoProvider(service, code, { issuer })
  await buildSsoProvider(service, 'elsewhere', { issuer, app_codes: [] })
  await buildSsoProvider(service, 'gone', { issuer: 'http://127.0.0.1:9' })
  const allowed_auth_methods = ['password', 'acme', 'second', 'gone']
  await service.admin('PATCH', `/admin/apps/${shop.code}`, { body: { allowed_auth_methods } })
})

interface Owner {
  user: Json
  access_token: string
  visitor: Visitor
}

async function owner(): Promise<Owner> {
  const { user, access_token } = await buildUser(service, shop)
  await markVerified(service, user.id)
  const visitor = visit(service)
  await signInOnPage(visitor, askFor(shop), user.email)
  return { user, access_token, visitor }
}

const open = (visitor: Visitor, app: Json = shop) => visitor.get(`/account/identities?app=${app.code}`)
const pathOf = ({ pathname, search }: URL) => `${pathname}${search}`
const buttonsOf = ({ forms }: Arrival) => forms.flatMap(({ buttons }) => [...buttons.keys()])
const account = (email = someEmail()) => provider.addAccount({ email, email_verified: true })
/** Makes the proof of a browser session older. The clock of the provider goes on as it does, so that of the service may not jump. */
async function age({ user }: Owner, minutes: number): Promise<void> {
  const { db } = service.deps
  await db('browser_sessions')
    .where({ user_id: user.id })
    .decrement('first_proven_at', minutes * 60_000)
}
const identitiesOf = ({ user }: Owner) => countRows(service, 'user_identities', { user_id: user.id })

/** Goes to the provider. Returns where its answer, for this subject, reaches our page. */
async function answerFor(visitor: Visitor, subject: string, name = 'Acme'): Promise<string> {
  const { app: away } = await visitor.send(await open(visitor), `Connect ${name}`)
  if (!away?.href.startsWith(provider.issuer)) throw new Error(`did not go to the provider: ${away}`)
  expect(away.searchParams.get('prompt')).toBe('login')
  const callback = await visitor.get(pathOf(await provider.logIn(away.href, subject)))
  if (!callback.app) throw new Error(`no return: ${callback.html}`)
  expect(callback.app.pathname).toBe('/account/identities/return')
  return pathOf(callback.app)
}

test('a user connects an account, gets a mail about it, and then signs in with it', async () => {
  const ada = await owner()
  const subject = account()
  const path = await answerFor(ada.visitor, subject)
  expect(await identitiesOf(ada)).toBe(0)
  const page = await ada.visitor.get(path)
  expect([page.title, page.html.includes('The account is connected.')]).toEqual(['Connected accounts', true])
  expect(buttonsOf(page)).toEqual(['Disconnect Acme', 'Connect Gone', 'Connect Second'])
  expect((await mailbox.take(ada.user.email, /way to sign in/i)).text).toContain('acme')
  const events = await auditEvents(service, { user_id: ada.user.id, actor_id: ada.user.id })
  expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['identity.link_started', 'identity.linked']))
  const entered = await exchangeAtApi(service, await arrive(service, { provider, code: 'acme', app: shop, subject }))
  expect(entered.body.user?.id).toBe(ada.user.id)
})

test('the page offers the providers that its app accepts for sign-in, after a fresh proof', async () => {
  const ada = await owner()
  const { visitor } = ada
  // `picky` is no method of the app, and `elsewhere` serves other apps.
  expect(buttonsOf(await open(visitor))).toEqual(['Connect Acme', 'Connect Gone', 'Connect Second'])
  const foreign = await buildApp(service, { registration_namespace: 'another-pool' })
  expect(buttonsOf(await open(visitor, foreign))).toEqual([])
  const page = await open(visitor)
  const hidden = page.forms[0]!.values
  for (const id of ['picky', 'elsewhere', 'nothing', '']) {
    const reply = await visitor.post(`${service.url}/account/identities`, { ...hidden, id })
    const after = await visitor.get(reply.headers.get('location')!)
    expect(after.html).toContain('This is gone already.')
  }
  expect(await countRows(service, 'sso_logins', { redirect_url: 'http://localhost:4000/account/identities/return' })).toBe(1)
  await age(ada, 10)
  expect(buttonsOf(await open(visitor))).toEqual(['Confirm'])
  const stale = await visitor.post(`${service.url}/account/identities`, { ...hidden, id: 'acme' })
  expect((await visitor.get(stale.headers.get('location')!)).html).toContain('Nothing has changed. Confirm first that it is you.')
})

test('the content security policy lets forms lead to the offered providers and to no others', async () => {
  const ada = await owner()
  const { visitor } = ada
  const page = await open(visitor)
  expect(page.headers.get('content-security-policy')).toContain(`form-action 'self' https: ${new URL(provider.issuer).origin}`)
  await age(ada, 10)
  expect((await open(visitor)).headers.get('content-security-policy')).toMatch(/form-action 'self';/)
})

describe('the answer of a provider', () => {
  test('the answer counts only in the browser that asked, so a link connects nobody with an account', async () => {
    const [mallory, victim] = [await owner(), await owner()]
    const path = await answerFor(mallory.visitor, account())
    const page = await victim.visitor.get(path)
    expect([page.status, page.title]).toEqual([400, 'Go back to where you began'])
    // Nor at the other pages that a provider leads back to, nor with the code in another state.
    const other = await answerFor(victim.visitor, account())
    const { searchParams } = new URL(path, service.url)
    const mixed = new URL(other, service.url)
    mixed.searchParams.set('code', searchParams.get('code')!)
    const refused = await victim.visitor.get(pathOf(mixed))
    expect(refused.html).toContain('Nothing was connected. Try again later.')
    expect((await victim.visitor.get(path.replace('/account/identities/return', '/oauth/return'))).status).toBe(400)
    expect([await identitiesOf(mallory), await identitiesOf(victim)]).toEqual([0, 0])
    expect(await auditEvents(service, { user_id: victim.user.id, event: 'identity.linked' })).toEqual([])
  })

  test('the answer signs nobody in, at the page or in the API', async () => {
    const { visitor } = await owner()
    const path = await answerFor(visitor, account())
    const stranger = visit(service)
    stranger.cookies.set('gatehouse_browser', visitor.cookies.get('gatehouse_browser')!)
    const page = await stranger.get(path)
    expect([page.title, stranger.cookies.has('gatehouse_session')]).toEqual(['Sign in', false])
    // The code of the link in the state of a sign-in of the same browser.
    const asked = askFor(shop)
    const { app: away } = await stranger.get(`${asked.path}&provider=acme`)
    const callback = await stranger.get(pathOf(await provider.logIn(away!.href, account())))
    const mixed = new URL(callback.app!)
    mixed.searchParams.set('code', new URL(path, service.url).searchParams.get('code')!)
    await stranger.get(pathOf(mixed))
    expect(stranger.cookies.has('gatehouse_session')).toBe(false)
    const code = new URL(path, service.url).searchParams.get('code')!
    const body = { code, code_verifier: 'x'.repeat(43) }
    expect((await service.call('POST', '/auth/sso/token', { body })).body.code).toBe('invalid_sso_code')
  })

  test('the answer counts only for the person who asked, who is still signed in with a fresh proof', async () => {
    const ada = await owner()
    const subject = account()
    // Somebody else has signed in in the same browser meanwhile.
    const bob = await buildUser(service, shop)
    const first = await answerFor(ada.visitor, subject)
    await signInOnPage(ada.visitor, askFor(shop, { prompt: 'login' }), bob.user.email)
    expect((await ada.visitor.get(first)).title).toBe('Connected accounts')
    expect(await countRows(service, 'user_identities', { user_id: bob.user.id })).toBe(0)
    // The session was ended from elsewhere.
    const carol = await owner()
    const second = await answerFor(carol.visitor, subject)
    await service.admin('POST', `/admin/users/${carol.user.id}/logout`)
    expect((await carol.visitor.get(second)).title).toBe('Sign in')
    // The proof has become old at the provider.
    const dora = await owner()
    const third = await answerFor(dora.visitor, subject)
    await age(dora, 10)
    const stale = await dora.visitor.get(third)
    expect(stale.html).toContain('Nothing has changed. Confirm first that it is you.')
    for (const one of [ada, carol, dora]) expect(await identitiesOf(one)).toBe(0)
    // After a proof in place the same browser session goes on.
    const again = await dora.visitor.send(stale, 'Confirm', { password: PASSWORD })
    expect(buttonsOf(again)).toContain('Connect Acme')
    expect((await dora.visitor.get(third)).html).toContain('The account is connected.')
  })

  test('the answer is used once, also by two requests at the same time', async () => {
    const ada = await owner()
    const path = await answerFor(ada.visitor, account())
    await Promise.all([ada.visitor.get(path), ada.visitor.get(path)])
    expect(await identitiesOf(ada)).toBe(1)
    const again = await ada.visitor.get(path)
    expect(again.html).toContain('Nothing was connected.')
    expect(await auditEvents(service, { user_id: ada.user.id, event: 'identity.linked' })).toHaveLength(1)
  })

  test('an account that is connected with one user cannot be connected with another', async () => {
    const [ada, bob] = [await owner(), await owner()]
    const subject = account()
    await ada.visitor.get(await answerFor(ada.visitor, subject))
    const page = await bob.visitor.get(await answerFor(bob.visitor, subject))
    expect(page.html).toContain('Somebody else here is connected with that account.')
    expect([await identitiesOf(ada), await identitiesOf(bob)]).toEqual([1, 0])
    const [event] = await auditEvents(service, { user_id: bob.user.id, event: 'identity.link_failed' })
    expect(event).toMatchObject({ reason: 'identity_in_use' })
  })

  test('an answer from a sign-in of long ago, which may be another person’s, is not accepted', async () => {
    const ada = await owner()
    const path = await answerFor(ada.visitor, account())
    const { db, secretBox, clock } = service.deps
    const code_hash = hashOpaqueToken(new URL(path, service.url).searchParams.get('code')!)
    const { state_hash, claims_box } = await db('sso_logins').where({ code_hash }).first()
    const context = `sso_logins/${state_hash}`
    const profile = { ...JSON.parse(secretBox.open(claims_box, context)), signedInAt: clock() - 60_000 }
    const claims = secretBox.seal(JSON.stringify(profile), context)
    await db('sso_logins').where({ code_hash }).update({ claims_box: claims })
    expect((await ada.visitor.get(path)).html).toContain('Nothing was connected.')
    expect(await identitiesOf(ada)).toBe(0)
  })

  test('the page says so when the provider refuses the sign-in or is out of reach', async () => {
    const { visitor } = await owner()
    const { app: away } = await visitor.send(await open(visitor), 'Connect Acme')
    const callback = await visitor.get(pathOf(await provider.logIn(away!.href, 'nobody')))
    expect((await visitor.get(pathOf(callback.app!))).html).toContain('The provider did not sign you in.')
    const down = await visitor.send(await open(visitor), 'Connect Gone')
    expect([down.status, down.html.includes('Nothing was connected. Try again later.')]).toEqual([200, true])
  })

  test('the answer of a provider that was disabled in the meantime connects nothing', async () => {
    const ada = await owner()
    const path = await answerFor(ada.visitor, account(), 'Second')
    await service.admin('PATCH', '/admin/sso-providers/second', { body: { enabled: false } })
    expect((await ada.visitor.get(path)).html).toContain('Nothing was connected.')
    expect(await identitiesOf(ada)).toBe(0)
    await service.admin('PATCH', '/admin/sso-providers/second', { body: { enabled: true } })
  })

  test('an answer with an unknown state leads back to the start', async () => {
    const page = await visit(service).get('/account/identities/return?state=unknown&code=x')
    expect([page.status, page.title]).toEqual([400, 'This page is too old'])
  })
})

test('a person who can sign in only by a connected account keeps it, also when two are disconnected at once', async () => {
  const ada = await owner()
  await ada.visitor.get(await answerFor(ada.visitor, account()))
  await ada.visitor.get(await answerFor(ada.visitor, account(), 'Second'))
  await service.deps.db('users').where({ id: ada.user.id }).update({ password_hash: null })
  const page = await open(ada.visitor)
  const forms = page.forms.filter(({ values }) => values.step === 'unlink')
  expect(forms).toHaveLength(2)
  await Promise.all(forms.map(({ values }) => ada.visitor.post(`${service.url}/account/identities`, values)))
  expect(await identitiesOf(ada)).toBe(1)
})

test('a second factor that was activated while the person was at the provider has to be shown first', async () => {
  const eve = await owner()
  const path = await answerFor(eve.visitor, account())
  await enableTwoFactor(service, eve.access_token)
  expect((await eve.visitor.get(path)).html).toContain('Confirm that it is you')
  expect(await identitiesOf(eve)).toBe(0)
})
