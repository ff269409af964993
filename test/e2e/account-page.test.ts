// The ten things that people do with their account, done by a newcomer on a small phone, on pages of this service alone: no app is
// involved but for its name.
import { expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { someEmail } from '../support/client.ts'
import { addMember, buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, fixture, mailingFixture } from '../support/fixtures.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { buildUser } from '../support/service.ts'
import { totpAt } from '../support/totp.ts'

const browser = openBrowser()
const { service: unnamed, mailbox } = mailingFixture()
/** A service that browsers know as `localhost`, since passkeys refuse an IP address. */
const service = fixture(async () => {
  unnamed.deps.config.publicUrl = unnamed.url.replace('127.0.0.1', 'localhost')
  return unnamed
})
const urlOfService = () => service.deps.config.publicUrl
const shop = appFixture(service, { name: 'The Shop', auto_grant_on_signup: true })
const vault = appFixture(service, { name: 'The Vault' })
const password = 'a long first password'
const next = 'an even longer second password'

test('a new user does the ten tasks of the account page on a phone, without an app', { timeout: 120_000 }, async () => {
  const email = someEmail()
  const page = await browser.newPage({ viewport: { width: 360, height: 640 } })
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const device = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...device, isUserVerified: true, automaticPresenceSimulation: true },
  })
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const choose = async (name: string) => {
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  const says = (text: string) => page.getByText(text).first().waitFor()
  const goBack = () => choose('Back to your account')
  const fitsTheScreen = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), page.url()).toBe(true)

  // An account of their own, by the sign-in page that the account page leads to.
  await page.goto(`${urlOfService()}/account?app=${shop.code}`)
  await press('Create account')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await press('Create account')
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor()
  const { id } = await service.deps.db('users').where({ email }).first()
  await markVerified(service, id)
  await fitsTheScreen()

  // 1. Their name and language.
  await choose('Name and language')
  await page.getByLabel('First name').fill('Ada')
  await page.getByLabel('Language').selectOption('Français')
  await press('Save')
  await says('C’est enregistré.')
  await page.getByLabel('Langue').selectOption('English')
  await press('Enregistrer')
  await says('Saved.')
  await fitsTheScreen()
  await goBack()

  // 2. Another password.
  await choose('Password')
  await page.getByLabel('New password', { exact: true }).fill(next)
  await page.getByLabel('New password again').fill(next)
  await press('Set the password')
  await says('Your new password is set.')
  await fitsTheScreen()
  await goBack()

  // 3. Another address, by the link in the mail.
  const moved = someEmail()
  await choose('E-mail address')
  await page.getByLabel('New e-mail address').fill(moved)
  await press('Change the address')
  await says('A mail is on its way to the new address.')
  await fitsTheScreen()
  const link = /http:\/\/\S+confirm-email\S+/.exec((await mailbox.take(moved)).text)?.[0] ?? ''
  const mail = await browser.newPage({ viewport: { width: 360, height: 640 } })
  const { pathname, search } = new URL(link)
  await mail.goto(urlOfService() + pathname + search)
  await mail.getByLabel('Password').fill(next)
  await mail.getByRole('button').first().click()
  await mail.getByRole('heading', { name: 'Your e-mail address is confirmed' }).waitFor()
  await page.reload()
  await says(moved)
  await goBack()

  // 4. A second factor, with the picture and the recovery codes.
  await choose('Second factor')
  await press('Set up a second factor')
  await page.getByRole('img', { name: 'QR code that holds the secret below' }).waitFor()
  const secret = (await page.getByLabel('Or type this secret').inputValue()).replaceAll(' ', '')
  await page.getByLabel('Code that the app shows').fill(totpAt(secret, service.deps.clock()))
  await fitsTheScreen()
  await press('Turn on')
  const codes = (await page.getByLabel('Recovery codes').inputValue()).split('\n')
  expect(codes).toHaveLength(10)
  await fitsTheScreen()
  await choose('I have kept them')
  await says('You have 10 recovery codes left.')
  await goBack()

  // 5. A passkey.
  await choose('Passkeys')
  await page.getByLabel('Name of the new passkey').fill('My phone')
  await press('Add a passkey')
  await page.getByRole('heading', { name: 'My phone', level: 2 }).waitFor()
  await fitsTheScreen()
  await goBack()

  // 6. An end to a session elsewhere.
  await service.login(moved, shop.code, { password: next, two_factor_code: codes[0] })
  await choose('Where you are signed in')
  await press(`Sign out: ${shop.code}, Browser`)
  await says('That session has ended.')
  await fitsTheScreen()
  await goBack()

  // 7. An organization that has invited them, and leaving it.
  const organization = await buildOrganization(service)
  const admin = await buildUser(service, shop)
  await addMember(service, organization.id, admin.user.id, ['org_admin'])
  await buildInvitation(service, { organizationId: organization.id, email: moved })
  await choose('Organizations')
  await press(`Join ${organization.name}`)
  await says('You are a member of the organization.')
  await fitsTheScreen()
  await press(`Leave ${organization.name}`)
  await says('You have left the organization.')
  await goBack()

  // 8. Access to an app that is closed to them, of which they come to know by a link.
  await page.goto(`${urlOfService()}/account/apps?app=${vault.code}`)
  await press('Ask for access to The Vault')
  await says('You have asked for access.')
  await fitsTheScreen()
  await goBack()

  // 9. Their data, after ten minutes, with a proof in place: the passkey.
  await service.deps.db('browser_sessions').where({ user_id: id }).update({ first_proven_at: 1, second_proven_at: 1 })
  await choose('Download your data')
  await says('Confirm that it is you')
  await fitsTheScreen()
  await press('Use a passkey')
  const [download] = await Promise.all([page.waitForEvent('download'), choose('Download')])
  const parts: Buffer[] = []
  for await (const part of await download.createReadStream()) parts.push(part)
  expect(JSON.parse(Buffer.concat(parts).toString()).tables.users).toMatchObject([{ email: moved, first_name: 'Ada' }])
  await goBack()

  // 10. The end of the account.
  await choose('Delete your account')
  await page.getByLabel('Yes, delete my account').check()
  await fitsTheScreen()
  await press('Delete my account')
  await page.getByRole('heading', { name: 'Your account is deleted' }).waitFor()
  expect(await countRows(service, 'users', { id, status: 'deleted' })).toBe(1)
})
