// Measures what the return from a provider (callback and exchange) costs us and the provider (oidc-provider, in memory). Both are
// separate processes, measured over the same logins. Ours writes to SQLite.
import { createHash, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Children } from '../../scripts/children.ts'
import { createDatabase, prepareTemplates } from '../support/database.ts'
import { CLIENT_ID, CLIENT_SECRET, followAsBrowser } from '../support/oidc-server.ts'
import { record } from './support/results.ts'
import { call, cpuMs, load, median, type ServerUnderTest, startGatehouse, startProgram } from './support/server-under-test.ts'

const ROUNDS = 5
const COUNT = 200
const IN_FLIGHT = 8
const PASSWORD = 'correct horse battery staple'
const ADMIN = 'admin@example.com'
const PUBLIC_URL = 'http://127.0.0.1:4000'
const APP_URL = 'https://app.example.com/signed-in'

const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite'])
try {
  const provider = await startProgram(children, fileURLToPath(new URL('./support/provider-process.ts', import.meta.url)), {
    REDIRECT_URI: `${PUBLIC_URL}/api/v1/auth/sso/acme/callback`,
  })
  const ours = await startGatehouse(children, {
    PORT: '0',
    PUBLIC_URL,
    DATABASE_URL: (await createDatabase('sqlite', templates)).url,
    AUTH_BCRYPT_COST: '10',
    AUTH_RATE_LIMIT_IP: 'off',
    JWT_ACCESS_SECRET: randomBytes(32).toString('base64'),
    AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN,
    AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
  })
  await setUp(ours, provider)
  await compare('first logins', ours, provider, (round, index) => `subject-${round}-${index}`)
  await compare('later logins', ours, provider, (_, index) => `subject-0-${index}`)
} finally {
  await children.stopAll()
  await stop()
}

async function setUp(ours: ServerUnderTest, provider: ServerUnderTest): Promise<void> {
  const api = `${ours.url}/api/v1`
  const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
  const headers = { authorization: `Bearer ${signedIn.body.access_token}` }
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
  const trust = { app_codes: ['bench'], trusted_email_domains: ['example.com'] }
  await call(`${api}/admin/sso-providers`, { body: { code: 'acme', issuer: provider.url, ...client, ...trust }, headers })
  const app = { code: 'bench', name: 'Bench', auto_grant_on_signup: true, allowed_redirect_urls: [APP_URL] }
  await call(`${api}/admin/apps`, { body: app, headers })
}

interface Returning {
  callback: string
  verifier: string
}

/** Runs a login up to the point where the browser comes back. This part is not measured. */
async function goThere(ours: ServerUnderTest, provider: ServerUnderTest, subject: string): Promise<Returning> {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    app_code: 'bench',
    redirect_url: APP_URL,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    state: 'bench',
  })
  const { headers } = await fetch(`${ours.url}/api/v1/auth/sso/acme/start?${query}`, { redirect: 'manual' })
  const back = await followAsBrowser(provider.url, `${headers.get('location')}&login_hint=${subject}`)
  return { callback: ours.url + back.pathname + back.search, verifier }
}

async function comeBack(ours: ServerUnderTest, { callback, verifier }: Returning): Promise<void> {
  const { headers } = await fetch(callback, { redirect: 'manual' })
  const code = new URL(headers.get('location')!).searchParams.get('code')
  await call(`${ours.url}/api/v1/auth/sso/token`, { body: { code, code_verifier: verifier } })
}

async function compare(
  what: string,
  ours: ServerUnderTest,
  provider: ServerUnderTest,
  subjectOf: (round: number, index: number) => string,
): Promise<void> {
  const figures: { own: number; theirs: number; perSecond: number }[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const waiting: Returning[] = []
    await load(ours, { inFlight: IN_FLIGHT, count: COUNT }, async (_, index) => {
      waiting[index] = await goThere(ours, provider, subjectOf(round, index))
    })
    const before = cpuMs(provider)
    const measured = await load(ours, { inFlight: IN_FLIGHT, count: COUNT }, (_, index) => comeBack(ours, waiting[index]!))
    const theirs = (cpuMs(provider) - before) / COUNT
    if (round > 0) figures.push({ own: measured.cpuMsPerCall, theirs, perSecond: measured.perSecond })
  }
  const own = median(figures.map((each) => each.own))
  const theirs = median(figures.map((each) => each.theirs))
  const ratio = median(figures.map((each) => each.own / each.theirs))
  const rate = median(figures.map((each) => each.perSecond))
  console.log(`  ${what}: ${rate.toFixed(0)} a second with both on one machine`)
  record({
    what: `${what} by a provider, sqlite`,
    beside: 'the provider itself',
    ours: own,
    peer: theirs,
    ratio,
    unit: 'ms CPU',
    better: 'lower',
  })
}
