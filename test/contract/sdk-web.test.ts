// Cookie sessions of the SDK against the real service and its sign-in page.
import { type AuthOptions, createAuth } from '@gatehouse/sdk'
import { createWebSession, getAuth } from '@gatehouse/sdk/web'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../../packages/sdk/src/web/test-browser.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { ACCESS_SECRET, buildApp, buildService, buildUser, type Json, PASSWORD, type TestService } from '../support/service.ts'
import { visit } from '../support/sign-in-page.ts'

const ORIGIN = 'https://notes.example'
const redirectUrl = `${ORIGIN}/callback`
const cookieSecret = 'a secret for cookies, of 32 characters or more'
const appSettings = { auto_grant_on_signup: true, allowed_redirect_urls: [redirectUrl] }

const atAnyPort = serviceFixture()
/** A service whose PUBLIC_URL is where it really is, since browsers are led there. */
const service = fixture(async () => atItsPort(atAnyPort))
let app: Json

beforeAll(async () => {
  app = await buildApp(service, appSettings)
})

function atItsPort(service: TestService): TestService {
  service.deps.config.publicUrl = service.url
  return service
}

/** A browser at an app that runs on as many servers, which take turns. The clock of the app is `at.offset` ahead. */
function buildWeb(service: TestService, code: string, { servers = 1, ...options }: { servers?: number } & AuthOptions = {}) {
  const at = { offset: 0 }
  const now = () => Date.now() + at.offset
  const apps = Array.from({ length: servers }, () => {
    const revocation = { mode: 'off' } as const
    const auth = createAuth({
      authUrl: service.url,
      appCode: code,
      secret: ACCESS_SECRET,
      check: 'off',
      revocation,
      now,
      ...options,
    })
    onTestFinished(() => auth.close())
    const session = createWebSession(auth, { redirectUrl, cookieSecret })
    const guarded = session.requireSession()(async (request) => new Response(nameOf(getAuth(request).claims)))
    return async (request: Request) => (await session.handle(request)) ?? guarded(request, undefined)
  })
  let turn = 0
  return { browser: openBrowser((request) => apps[turn++ % servers]!(request), ORIGIN), at }
}

const nameOf = ({ email, first_name }: Json) => `${email} ${first_name}`

type Web = ReturnType<typeof buildWeb>

/** Signs in on the page of the service, and comes back to the app. */
async function signIn({ browser }: Web, visitor: ReturnType<typeof visit>, email: string, path = '/notes'): Promise<Response> {
  const refused = await browser.open(path)
  const start = await browser.open(refused.headers.get('location')!)
  const page = await visitor.get(start.headers.get('location')!)
  const arrived = page.app ?? (await visitor.send(page, 'Sign in', { email, password: PASSWORD })).app!
  return browser.open(arrived.pathname + arrived.search)
}

test('a user signs in on the page of the service, and a renewal picks up their changed name', async () => {
  const { user } = await buildUser(service, app)
  const web = buildWeb(service, app.code)
  const back = await signIn(web, visit(service), user.email, '/notes?page=2')
  expect([back.status, back.headers.get('location')]).toEqual([303, `${ORIGIN}/notes?page=2`])
  expect(await (await web.browser.open('/notes')).text()).toContain(user.email)
  const changed = await service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Zoë' } })
  expect(changed.status).toBe(200)
  web.at.offset = 880_000
  expect(await (await web.browser.open('/notes')).text()).toBe(`${user.email} Zoë`)
})

test('two servers answer eight concurrent requests with one spent cookie, and the session goes on', async () => {
  const { user } = await buildUser(service, app)
  const web = buildWeb(service, app.code, { servers: 2 })
  await signIn(web, visit(service), user.email)
  const before = new Map(web.browser.jar)
  web.at.offset = 890_000
  expect((await web.browser.call('/notes')).status).toBe(200)
  // The cookie of before is spent now.
  for (const [name, value] of before) web.browser.jar.set(name, value)
  const answers = await Promise.all(Array.from({ length: 8 }, () => web.browser.call('/notes')))
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  web.at.offset = 1_790_000
  // The service measures the life of tokens by its own clock.
  expect((await web.browser.call('/notes')).headers.getSetCookie().length).toBeGreaterThan(0)
})

test('signing out ends the session at the service, and signing the browser out ends every app entered from it', async () => {
  const { user } = await buildUser(service, app)
  const visitor = visit(service)
  const web = buildWeb(service, app.code)
  await signIn(web, visitor, user.email)
  const sessions = async () => (await service.admin('GET', `/admin/users/${user.id}/sessions`)).body.items.length
  const before = await sessions()
  await web.browser.send('/logout')
  expect(await sessions()).toBe(before - 1)
  expect((await web.browser.call('/notes')).status).toBe(401)

  await signIn(web, visitor, user.email)
  const out = await web.browser.send('/logout?browser&returnTo=/bye')
  const asked = await visitor.get(out.headers.get('location')!)
  const back = (await visitor.send(asked, 'Sign out')).app!
  expect((await web.browser.open(back.pathname + back.search)).headers.get('location')).toBe(`${ORIGIN}/bye`)
  // The browser session ends with it.
  expect(await sessions()).toBe(before - 2)
})

test('the check at the start reports a redirect URL that the app lacks, and how to add it', async () => {
  const lines: string[] = []
  const logger = { warn: (line: string) => void lines.push(line) }
  const revocation = { mode: 'off' } as const
  const settings = { authUrl: service.url, appCode: app.code, secret: ACCESS_SECRET, check: 'warn', revocation, logger } as const
  const auth = createAuth(settings)
  onTestFinished(() => auth.close())
  createWebSession(auth, { redirectUrl, cookieSecret })
  createWebSession(auth, { redirectUrl: 'http://localhost:3001/callback', cookieSecret })
  const isOfWeb = (line: string) => line.includes('SERVICE_REDIRECT_URL')
  await expect.poll(() => lines.filter(isOfWeb)).toHaveLength(1)
  expect(lines.find(isOfWeb)).toContain(
    `the app "${app.code}" has no redirect URL http://localhost:3001/callback (SERVICE_REDIRECT_URL): name it together with all ` +
      `others: authctl app update ${app.code} --redirect OTHERS http://localhost:3001/callback`,
  )
})

test('a session that is ended at the service also ends in the app', async () => {
  const { user } = await buildUser(service, app)
  const web = buildWeb(service, app.code)
  await signIn(web, visit(service), user.email)
  await service.admin('POST', `/admin/users/${user.id}/logout`)
  web.at.offset = 880_000
  expect((await web.browser.call('/notes')).status).toBe(401)
  expect(web.browser.jar.size).toBe(0)
})

test('a server that renews for its users is not limited by its address, and with limits:exempt strangers cannot block it', async () => {
  const limited = atItsPort(await buildService({ AUTH_RATE_LIMIT_IP: '5/600' }))
  const app = await buildApp(limited, appSettings)
  const { user } = await buildUser(limited, app)
  const account = { name: 'notes', service: 'notes', scopes: ['limits:exempt'], app_codes: [app.code] }
  const { body } = await limited.admin('POST', '/admin/service-accounts', { body: account })
  const [plain, exempt] = [buildWeb(limited, app.code), buildWeb(limited, app.code, { serviceToken: body.token })]
  const visitor = visit(limited)
  await signIn(plain, visitor, user.email)
  await signIn(exempt, visitor, user.email)
  await limited.deps.db('rate_limits').delete()
  /** Whether the session was renewed. Without that, the token is good for some seconds yet. */
  const renew = async (web: Web) => {
    web.at.offset = 880_000
    return (await web.browser.call('/notes')).headers.getSetCookie().length > 0
  }
  expect(await renew(plain)).toBe(true)
  for (let tries = 0; tries < 8; tries += 1) {
    const start = await plain.browser.open('/login')
    const state = new URL(start.headers.get('location')!).searchParams.get('state')!
    const forged = new URLSearchParams({ state, code: `gac_${tries}`, iss: limited.url })
    expect((await plain.browser.open(`/callback?${forged}`)).status).toBe(tries < 5 ? 400 : 503)
  }
  expect(await renew(exempt)).toBe(true)
})
