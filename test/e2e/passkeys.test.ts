// A person and their passkeys in a real Chromium, whose virtual authenticators stand for devices.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import axe, { type AxeResults } from 'axe-core'
import type { CDPSession, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, someEmail } from '../support/client.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { until } from '../support/mail-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { markVerified } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json } from '../support/service.ts'
import { askFor, exchange } from '../support/sign-in-page.ts'

const browser = openBrowser()
const minute = 60_000
const unnamed = serviceFixture()
/** A service that browsers know as `localhost`, since passkeys refuse an IP address. */
const service = fixture(async () => {
  unnamed.deps.config.publicUrl = unnamed.url.replace('127.0.0.1', 'localhost')
  return unnamed
})
const urlOfService = () => service.deps.config.publicUrl
/** Serves the apps: interception in the browser leaves out what a redirect leads to. */
const apps = fixture(async () => {
  const server = createServer((_, response) => response.end('This is the app.'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onFileEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://localhost:${(server.address() as AddressInfo).port}` }
})
const appAt = (path: string) =>
  fixture(() => buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [`${apps.url}/${path}`] }))
const shop = appAt('shop')
const forum = appAt('forum')

interface Device {
  page: Page
  session: CDPSession
  authenticatorId: string
}

/** A tab in a new profile, on a device of its own that verifies its person. */
async function newDevice({ transport = 'internal' as 'internal' | 'usb', verifies = true } = {}): Promise<Device> {
  const page = await browser.newPage()
  await page.addInitScript(axe.source)
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const options = { protocol: 'ctap2' as const, transport, hasResidentKey: true, hasUserVerification: true }
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: verifies, automaticPresenceSimulation: true },
  })
  return { page, session, authenticatorId }
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const credentialsOf = async ({ session, authenticatorId }: Device) =>
  (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials

const accountPage = () => `${urlOfService()}/account/passkeys?app=${shop.code}`

async function signOut(page: Page): Promise<void> {
  await page.goto(`${urlOfService()}/oauth/logout`)
  await press(page, 'Sign out')
  await heading(page, 'You are signed out')
}

async function openAccountPage({ page }: Device, email: string): Promise<void> {
  await page.goto(accountPage())
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Sign in')
  await heading(page, 'Your passkeys')
}

async function addPasskey({ page }: Device, name: string): Promise<void> {
  await page.getByLabel('Name of the new passkey').fill(name)
  await press(page, 'Add a passkey')
  await page.getByRole('heading', { name, level: 2, exact: true }).waitFor()
}

async function build(): Promise<Json> {
  const built = await buildUser(service, shop)
  await markVerified(service, built.user.id)
  return built
}

/** Waits for the app, and exchanges the code that it got. */
async function arrivedAt(page: Page, app: Json, asked: ReturnType<typeof askFor>) {
  await page.waitForURL(`${asked.redirectUri}?**`)
  const { body } = await exchange(service, app, asked, new URL(page.url()))
  return claimsOf(body.access_token)
}

const mode = (page: Page, isOn: boolean) =>
  page.addInitScript(
    `if (!${isOn} && window.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false`,
  )

test('a person adds a passkey, signs in to two apps with it, loses the device, and continues with another', async () => {
  const laptop = await newDevice()
  const { page } = laptop
  await mode(page, false)
  const email = someEmail()
  const first = askFor(shop)
  await page.goto(urlOfService() + first.path)
  await press(page, 'Create account')
  await heading(page, 'Create your account')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Create account')
  const { uid } = await arrivedAt(page, shop, first)
  // A user who has just signed in need not do so again.
  await page.goto(accountPage())
  await heading(page, 'Your passkeys')
  await addPasskey(laptop, 'Laptop')
  expect(await credentialsOf(laptop)).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }])
  for (const app of [shop, forum]) {
    await signOut(page)
    const asked = askFor(app)
    await page.goto(urlOfService() + asked.path)
    await heading(page, 'Sign in')
    await press(page, 'Use a passkey')
    // The person enters the second app for the first time.
    if (app === forum) await press(page, 'Continue')
    expect(await arrivedAt(page, app, asked)).toMatchObject({ uid, amr: ['swk', 'mfa'] })
  }
  // The device is lost, and still signed in: an admin removes its passkey and ends its sessions (docs/runbooks/lost-phone.md).
  const [passkey] = (await service.admin('GET', `/admin/users/${uid}/passkeys`)).body.items
  expect((await service.admin('DELETE', `/admin/users/${uid}/passkeys/${passkey.id}`)).status).toBe(204)
  expect((await service.admin('POST', `/admin/users/${uid}/logout`)).status).toBeLessThan(300)
  await page.goto(accountPage())
  await heading(page, 'Sign in')
  await press(page, 'Use a passkey')
  await page.getByText('This passkey does not work here').waitFor()
  // On a new device the person has the password, and adds a passkey of that device.
  const phone = await newDevice()
  await mode(phone.page, false)
  await openAccountPage(phone, email)
  await phone.page.getByText('You have no passkey yet.').waitFor()
  await addPasskey(phone, 'Phone')
  await signOut(phone.page)
  const asked = askFor(shop)
  await phone.page.goto(urlOfService() + asked.path)
  await press(phone.page, 'Use a passkey')
  expect(await arrivedAt(phone.page, shop, asked)).toMatchObject({ uid, amr: ['swk', 'mfa'] })
})

test('an open page takes a new challenge every four minutes, to sign in and to add a passkey', async () => {
  const { user } = await build()
  const laptop = await newDevice()
  const { page } = laptop
  await mode(page, false)
  await page.clock.install()
  const { clock } = service.deps
  let ahead = 0
  service.deps.clock = () => clock() + ahead
  onTestFinished(() => void Object.assign(service.deps, { clock }))
  const challenge = page.locator('[name=passkey_challenge]')
  /** Lets the clocks of page and service go on, to a moment at which the challenge of before is too old. */
  const stayOpen = async () => {
    const before = await challenge.inputValue()
    ahead += 4 * minute
    await page.clock.runFor(4 * minute)
    await until(async () => (await challenge.inputValue()) !== before, 'the page has a new challenge')
    ahead += 2 * minute
    await page.clock.runFor(2 * minute)
  }
  await openAccountPage(laptop, user.email)
  await stayOpen()
  await addPasskey(laptop, 'Laptop')
  await signOut(page)
  const asked = askFor(shop)
  await page.goto(urlOfService() + asked.path)
  await heading(page, 'Sign in')
  await page.getByLabel('E-mail address').fill('half-typed')
  await stayOpen()
  expect(await page.getByLabel('E-mail address').inputValue()).toBe('half-typed')
  await press(page, 'Use a passkey')
  expect(await arrivedAt(page, shop, asked)).toMatchObject({ uid: user.id })
})

test('the list of the e-mail field signs in without a click on the page', async () => {
  const { user } = await build()
  const phone = await newDevice()
  await openAccountPage(phone, user.email)
  await addPasskey(phone, 'Phone')
  await phone.page.context().clearCookies()
  const asked = askFor(shop)
  // The virtual authenticator answers as soon as the page waits for the choice of a passkey, so the page may not finish loading.
  await phone.page.goto(urlOfService() + asked.path).catch(() => undefined)
  expect(await arrivedAt(phone.page, shop, asked)).toMatchObject({ uid: user.id, amr: ['swk', 'mfa'] })
})

test('a second device has its own passkey, and each counts its uses', async () => {
  const { user } = await build()
  const [laptop, key] = [await newDevice(), await newDevice({ transport: 'usb' })]
  for (const [device, name] of [
    [laptop, 'Laptop'],
    [key, 'Security key'],
  ] as const) {
    await mode(device.page, false)
    await openAccountPage(device, user.email)
    await addPasskey(device, name)
    await device.page.context().clearCookies()
  }
  for (const device of [key, laptop, key]) {
    const asked = askFor(shop)
    await device.page.goto(urlOfService() + asked.path)
    await press(device.page, 'Use a passkey')
    expect(await arrivedAt(device.page, shop, asked)).toMatchObject({ uid: user.id })
    await device.page.context().clearCookies()
  }
  const rows: { name: string; sign_count: number }[] = await service.deps.db('passkeys').where({ user_id: user.id })
  expect(rows.map(({ name }) => name).sort()).toEqual(['Laptop', 'Security key'])
  for (const device of [laptop, key]) {
    const [credential] = await credentialsOf(device)
    expect(rows.map(({ sign_count }) => sign_count)).toContain(credential?.signCount)
  }
})

test('a copied key is detected, because the counter of the copy is behind', async () => {
  const { user } = await build()
  const original = await newDevice({ transport: 'usb' })
  await mode(original.page, false)
  await openAccountPage(original, user.email)
  await addPasskey(original, 'Key')
  const [credential] = await credentialsOf(original)
  await original.page.context().clearCookies()
  const asked = askFor(shop)
  await original.page.goto(urlOfService() + asked.path)
  await press(original.page, 'Use a passkey')
  await arrivedAt(original.page, shop, asked)
  const copy = await newDevice({ transport: 'usb' })
  await mode(copy.page, false)
  await copy.session.send('WebAuthn.addCredential', {
    authenticatorId: copy.authenticatorId,
    credential: { ...credential!, signCount: 0 },
  })
  await copy.page.goto(urlOfService() + askFor(shop).path)
  await press(copy.page, 'Use a passkey')
  await copy.page.getByText('This passkey does not work here').waitFor()
  const { items } = (await service.admin('GET', `/admin/audit?event=passkey.counter_mismatch&user_id=${user.id}`)).body
  expect(items).toHaveLength(1)
})

test('a device that does not verify its user adds no passkey, and each device adds one at most', async () => {
  const { user } = await build()
  const careless = await newDevice({ verifies: false })
  await openAccountPage(careless, user.email)
  await press(careless.page, 'Add a passkey')
  await careless.page.getByText('No passkey was made').waitFor()
  const laptop = await newDevice()
  await openAccountPage(laptop, user.email)
  await addPasskey(laptop, 'Laptop')
  await press(laptop.page, 'Add a passkey')
  await laptop.page.getByText('This device may have one for you already').waitFor()
  expect(await credentialsOf(laptop)).toHaveLength(1)
})

test.each(['light', 'dark'] as const)('axe finds no fault on the page of passkeys, %s, from 320 px', async (colorScheme) => {
  const { user } = await build()
  const laptop = await newDevice()
  await laptop.page.setViewportSize({ width: 320, height: 900 })
  await laptop.page.emulateMedia({ colorScheme })
  await openAccountPage(laptop, user.email)
  const check = async () => {
    const { violations } = (await laptop.page.evaluate('axe.run(document)')) as AxeResults
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
    expect(await laptop.page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
  }
  await check()
  await addPasskey(laptop, 'A laptop with a name that is longer than the page is wide, or almost')
  await check()
})
