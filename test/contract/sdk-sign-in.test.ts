// The browser SDK on the sign-in page of the real service: answers that were stolen, planted or mixed up sign nobody in.
import { BrowserAuthError } from '@gatehouse/sdk/browser'
import { expect, test } from 'vitest'
import { buildAuth, buildPlatform } from '../../packages/sdk/src/browser/test-platform.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, buildUser, type Json, type TestService } from '../support/service.ts'
import { signInOnPage, visit } from '../support/sign-in-page.ts'

const serviceAtItsAddress = () => {
  const unnamed = serviceFixture()
  return fixture(async () => {
    unnamed.deps.config.publicUrl = unnamed.url
    return unnamed
  })
}
const service = serviceAtItsAddress()
const other = serviceAtItsAddress()
const buildShop = (at: TestService) =>
  buildApp(at, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://app.example/callback'] })
const shop = fixture(() => buildShop(service))

/** A tab whose user has signed in on the page, and the answer that has come back. */
async function signedInOnPage(at: TestService = service, app: Json = shop) {
  const { user } = await buildUser(at, app)
  const platform = buildPlatform()
  const auth = buildAuth(platform, { authUrl: at.url, appCode: app.code })
  await auth.signIn()
  const { pathname, search } = new URL(platform.assigned.at(-1)!)
  const { app: answer } = await signInOnPage(
    visit(at),
    { path: pathname + search, verifier: '', redirectUri: '', state: '' },
    user.email,
  )
  return { auth, user, answer: answer! }
}

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => 'signed in',
    (error: unknown) => (BrowserAuthError.is(error) ? error.code : String(error)),
  )
const spentCodes = (at: TestService) =>
  at.deps
    .db('authorization_codes')
    .whereNotNull('spent_at')
    .count({ n: '*' })
    .first()
    .then((row: Json) => Number(row.n))

test('a code of another person in an answer for this tab fits no verifier here, and is worthless afterwards', async () => {
  const [victim, thief] = [await signedInOnPage(), await signedInOnPage()]
  const mixed = new URL(victim.answer)
  mixed.searchParams.set('code', thief.answer.searchParams.get('code')!)
  for (const [tab, url] of [
    [victim, mixed],
    [thief, thief.answer],
  ] as const) {
    expect(await refusalOf(tab.auth.handleRedirect(url.href))).toBe('invalid_grant')
    expect(tab.auth.state.status).toBe('signed_out')
  }
  for (const { user } of [victim, thief])
    expect(await countRows(service, 'sessions', { user_id: user.id, auth_method: 'password', ended_at: null })).toBe(1)
})

test('a complete answer for another person signs nobody in, and its code is not sent', async () => {
  const [victim, thief] = [await signedInOnPage(), await signedInOnPage()]
  const before = await spentCodes(service)
  expect(await refusalOf(victim.auth.handleRedirect(thief.answer.href))).toBe('sign_in_mismatch')
  expect(victim.auth.state.status).toBe('signed_out')
  expect(await spentCodes(service)).toBe(before)
  await victim.auth.handleRedirect(victim.answer.href)
  expect(victim.auth.state).toMatchObject({ status: 'signed_in', user: { id: victim.user.id } })
})

test('a code of one service is not sent to another', async () => {
  const honest = await signedInOnPage()
  const elsewhere = await signedInOnPage(other, await buildShop(other))
  const mixed = new URL(honest.answer)
  for (const name of ['code', 'iss']) mixed.searchParams.set(name, elsewhere.answer.searchParams.get(name)!)
  const before = await spentCodes(service)
  expect(await refusalOf(honest.auth.handleRedirect(mixed.href))).toBe('sign_in_mismatch')
  expect([await spentCodes(service), await spentCodes(other)]).toEqual([before, 0])
  await elsewhere.auth.handleRedirect(elsewhere.answer.href)
  expect(elsewhere.auth.state).toMatchObject({ status: 'signed_in', user: { id: elsewhere.user.id } })
})
