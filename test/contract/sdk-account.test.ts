// What an account page does with the browser SDK, against the real service: every outcome is a value, and tokens are adopted.
import { createBrowserAuth } from '@gatehouse/sdk/browser'
import { expect, onTestFinished, test } from 'vitest'
import { addMember, buildOrganization } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { totpAt } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({}, { frozen: true })
const app = appFixture(service)

function openTab(code = app.code) {
  const auth = createBrowserAuth({ authUrl: service.url, appCode: code, storage: 'memory' })
  onTestFinished(() => auth.dispose())
  return auth
}

async function signedInTab(user: Json, code = app.code) {
  const auth = openTab(code)
  await auth.login({ email: user.email, password: PASSWORD })
  return { auth, account: await auth.account() }
}

test('a user changes name and password, and the session goes on with the new tokens', async () => {
  const { user } = await buildUser(service, app)
  const { auth, account } = await signedInTab(user)
  const elsewhere = await signedInTab(user)
  expect(await account.updateProfile({ firstName: 'Zoë' })).toMatchObject({ ok: true, user: { first_name: 'Zoë' } })
  expect(auth.state).toMatchObject({ user: { first_name: 'Zoë' } })
  const wrong = await account.changePassword({ currentPassword: 'wrong', newPassword: 'another password of 2026' })
  expect(wrong).toMatchObject({ ok: false, error: { code: 'invalid_credentials' } })
  const weak = await account.changePassword({ currentPassword: PASSWORD, newPassword: 'x' })
  expect(weak.error?.fields).toMatchObject([{ path: 'new_password' }])
  expect(await account.changePassword({ currentPassword: PASSWORD, newPassword: 'another password of 2026' })).toEqual({
    ok: true,
  })
  expect(await account.profile()).toMatchObject({ ok: true, user: { id: user.id }, organizations: [] })
  expect(await elsewhere.account.profile()).toMatchObject({ ok: false })
})

test('a user sets up a second factor with a QR code and removes it again', async () => {
  const { user } = await buildUser(service, app)
  const { account } = await signedInTab(user)
  const setUp = await account.twoFactor.setUp()
  if (!setUp.ok) throw setUp.error
  expect(await setUp.qrSvg()).toMatch(/^<svg [^>]*viewBox/)
  expect(setUp.otpauthUrl).toMatch(/^otpauth:\/\/totp\//)
  expect(await account.twoFactor.activate({ code: '000000' })).toMatchObject({ error: { code: 'invalid_two_factor_code' } })
  const activated = await account.twoFactor.activate({ code: totpAt(setUp.secret, service.deps.clock()) })
  expect(activated).toMatchObject({ ok: true, recoveryCodes: expect.arrayContaining([expect.any(String)]) })
  const auth = openTab()
  const login = await auth.login({ email: user.email, password: PASSWORD })
  if (!login.ok || login.status !== 'two_factor_required') throw new Error('no code was asked for')
  service.advance(30)
  await login.submitCode(totpAt(setUp.secret, service.deps.clock()))
  service.advance(30)
  const disabled = await (await auth.account()).twoFactor.disable({
    password: PASSWORD,
    twoFactorCode: totpAt(setUp.secret, service.deps.clock()),
  })
  expect(disabled).toEqual({ ok: true })
})

test('a user lists their sessions and ends another one', async () => {
  const { user } = await buildUser(service, app)
  const { account } = await signedInTab(user)
  const elsewhere = await signedInTab(user)
  const listed = await account.sessions.list()
  if (!listed.ok) throw listed.error
  expect(listed.items.filter(({ current }) => current).length).toBe(1)
  for (const { id, current } of listed.items) if (!current) expect(await account.sessions.end(id)).toEqual({ ok: true })
  expect(await elsewhere.account.sessions.list()).toMatchObject({ ok: false })
  expect(await account.sessions.end('unknown')).toMatchObject({ ok: false, error: { code: 'not_found' } })
})

test('a switch to another organization keeps the session, and the state then has the roles of that organization', async () => {
  const { user } = await buildUser(service, app)
  const { id } = await buildOrganization(service)
  await addMember(service, id, user.id, ['org_admin'])
  const { auth, account } = await signedInTab(user)
  expect(await account.switchOrganization('00000000-0000-7000-8000-000000000000')).toMatchObject({ ok: false })
  expect(auth.state.status).toBe('signed_in')
  expect(await account.switchOrganization(id)).toEqual({ ok: true })
  expect(auth.state).toMatchObject({ organization: { id }, roles: expect.arrayContaining(['org_admin']) })
})

test('links in mails verify, reset and sign in, and requests for them do not reveal who has an account', async () => {
  const { user } = await buildUser(service, app)
  const auth = openTab()
  const account = await auth.account()
  const mailOf = async (send: () => Promise<unknown>) => {
    expect(await send()).toEqual({ ok: true })
    // A mail that reports a change has no link with a token.
    for (;;) {
      const { token } = await mailbox.take(user.email)
      if (token !== '') return token
    }
  }
  await mailbox.take(user.email)
  const verification = await mailOf(() => account.resendVerification({ email: user.email }))
  expect(await account.verifyEmail({ token: verification, password: PASSWORD })).toEqual({ ok: true })
  expect(await account.forgotPassword({ email: someEmail() })).toEqual({ ok: true })
  const reset = await mailOf(() => account.forgotPassword({ email: user.email }))
  expect(await account.resetPassword({ token: reset, password: 'another password of 2026' })).toEqual({ ok: true })
  expect(await account.resetPassword({ token: reset, password: PASSWORD })).toMatchObject({ error: { code: 'invalid_token' } })
  const link = await mailOf(() => account.magicLink.send({ email: user.email }))
  expect(await account.magicLink.consume({ token: link })).toEqual({ ok: true })
  expect(auth.state).toMatchObject({ status: 'signed_in', user: { id: user.id } })
  const closed = await openTab((await buildApp(service)).code).account()
  const request = { email: user.email, password: 'another password of 2026', message: 'Please' }
  expect(await closed.accessRequests.ask(request)).toMatchObject({ ok: true, status: 'open' })
  expect(await account.changeEmail({ email: someEmail(), password: 'wrong' })).toMatchObject({
    error: { code: 'invalid_credentials' },
  })
})

test('a wrong password gets neither an access request nor a deletion, and deleting the account signs the tab out', async () => {
  const { user } = await buildUser(service, app)
  const account = await openTab((await buildApp(service)).code).account()
  expect(await account.accessRequests.ask({ email: user.email, password: 'wrong' })).toMatchObject({
    error: { code: 'invalid_credentials' },
  })
  const { auth, account: own } = await signedInTab(user)
  expect(await own.delete({ password: 'wrong' })).toMatchObject({ ok: false })
  expect(await own.delete({ password: PASSWORD })).toEqual({ ok: true, mailed: false })
  expect(auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
})
