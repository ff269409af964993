// Measures a sign-in without a page, from the authorization request to the tokens, in turns with oidc-provider. In both, a person
// is signed in at the service and has entered the app before. SQLite is in memory. The peer also signs an ID token.
// Both give a refresh token.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Children } from '../../scripts/children.ts'
import { createDatabase, prepareTemplates } from '../support/database.ts'
import { askFor, visit } from '../support/sign-in-page.ts'
import { emptyDatabase } from './support/empty-database.ts'
import { record } from './support/results.ts'
import {
  ADMIN,
  call,
  load,
  median,
  PASSWORD,
  type ServerUnderTest,
  startGatehouse,
  startPeer,
  usualSettings,
} from './support/server-under-test.ts'

const ROUNDS = 5
const AMOUNT = { inFlight: 8, count: 800 }
const redirectUri = 'https://example.com/cb'

/** A server, with what a browser and an app send to it. */
interface Subject {
  server: ServerUnderTest
  authorize: string
  token: string
  cookie: string
  client: Record<string, string>
  scope?: string
}

const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite'])
try {
  const ours = await gatehouse()
  const peer = await oidcProvider()
  const [own, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const subject of round % 2 === 0 ? [ours, peer] : [peer, ours]) {
      const { cpuMsPerCall } = await load(subject.server, AMOUNT, () => enter(subject))
      if (round > 0) (subject === ours ? own : theirs).push(cpuMsPerCall)
    }
  record({
    what: 'authorize and exchange by silent entry, sqlite',
    beside: 'oidc-provider',
    ours: median(own),
    peer: median(theirs),
    ratio: median(own.map((each, round) => each / theirs[round]!)),
    unit: 'ms CPU',
    better: 'lower',
    bound: 0.8,
  })
} finally {
  await children.stopAll()
  await stop()
}

async function enter({ authorize, token, cookie, client, scope }: Subject): Promise<void> {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: client.client_id!,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'bench',
    ...(scope === undefined ? {} : { scope }),
  })
  const { headers } = await fetch(`${authorize}?${query}`, { redirect: 'manual', headers: { cookie } })
  const code = new URL(headers.get('location') ?? redirectUri).searchParams.get('code')
  if (code === null) throw new Error(`no code: ${headers.get('location')}`)
  const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri, code, code_verifier: verifier, ...client }
  await call(token, { body: new URLSearchParams(grant) })
}

async function gatehouse(): Promise<Subject> {
  const { url } = await createDatabase('sqlite', templates)
  const server = await startGatehouse(children, { ...usualSettings, DATABASE_URL: url, AUTH_BCRYPT_COST: '10' })
  const api = `${server.url}/api/v1`
  const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
  const headers = { authorization: `Bearer ${signedIn.body.access_token}` }
  const app = { code: 'bench', name: 'Bench', auto_grant_on_signup: true, allowed_redirect_urls: [redirectUri] }
  await call(`${api}/admin/apps`, { body: app, headers })
  const email = `${randomUUID()}@example.com`
  await call(`${api}/auth/register`, { body: { email, password: PASSWORD, app_code: 'bench' } })
  const visitor = visit(server)
  const page = await visitor.get(askFor(app).path)
  await visitor.send(page, 'Sign in', { email, password: PASSWORD, keep: 'yes' })
  const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ')
  const [authorize, token] = [`${server.url}/oauth/authorize`, `${server.url}/oauth/token`]
  return { server, authorize, token, cookie, client: { client_id: 'bench' } }
}

async function oidcProvider(): Promise<Subject> {
  const databaseUrl = await emptyDatabase('sqlite', templates)
  const server = await startPeer(children, 'oidc-provider', 'oidc-provider', { DATABASE_URL: databaseUrl })
  const { cookie, ...client } = (await call(`${server.url}/sign-in`)).body
  return { server, authorize: `${server.url}/auth`, token: `${server.url}/token`, cookie, client, scope: 'openid email' }
}
