// Runs better-auth with its OAuth provider and SQLite as a separate server. A request to `/seed` registers a user, who signs in to
// a client, and answers with the client's credentials and the user's tokens: a JWT for access and a token to refresh it.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { oauthProvider } from '@better-auth/oauth-provider'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { jwt } from 'better-auth/plugins'
import Database from 'better-sqlite3'

const database = new Database(process.env.DATABASE_URL.slice('sqlite:'.length))
for (const pragma of ['journal_mode = WAL', 'synchronous = FULL']) database.pragma(pragma)

const server = createServer((request, response) => listener(request, response))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}`
const [resource, redirectUri] = [`${url}/api`, 'https://app.example.com/callback']
const auth = betterAuth({
  baseURL: url,
  secret: 'a secret of the bench, at least 32 characters long',
  database,
  telemetry: { enabled: false },
  logger: { disabled: true },
  rateLimit: { enabled: false },
  trustedOrigins: [url],
  // No figure of this peer contains a hash.
  emailAndPassword: {
    enabled: true,
    password: { hash: async (password) => password, verify: async ({ hash, password }) => hash === password },
  },
  plugins: [jwt(), oauthProvider({ loginPage: '/login', consentPage: '/consent' })],
})
await (await getMigrations(auth.options)).runMigrations()
const handler = toNodeHandler(auth)

const signUp = async () => {
  const body = { email: `${randomUUID()}@example.com`, password: 'correct horse battery', name: 'A User' }
  const { headers } = await auth.api.signUpEmail({ body, returnHeaders: true })
  return { cookie: headers.getSetCookie()[0].split(';')[0] }
}
const headers = await signUp()
await auth.api.adminCreateOAuthResource({ headers, body: { identifier: resource, name: 'API' } })
const { client_id, client_secret } = await auth.api.adminCreateOAuthClient({
  headers,
  body: {
    redirect_uris: [redirectUri],
    skip_consent: true,
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  },
})
await auth.api.adminLinkClientResource({ headers, params: { identifier: resource, client_id } })

/** The authorization code flow with PKCE. */
async function logIn() {
  const verifier = randomBytes(32).toString('base64url')
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: redirectUri,
    scope: 'openid email offline_access',
    state: 'x',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
  })
  const authorized = await fetch(`${url}/api/auth/oauth2/authorize?${asked}`, { headers: await signUp() })
  const code = new URL((await authorized.json()).url).searchParams.get('code')
  const spent = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  const body = new URLSearchParams({ client_id, client_secret, resource, ...spent })
  const reply = await fetch(`${url}/api/auth/oauth2/token`, { method: 'POST', body })
  const { access_token, refresh_token } = await reply.json()
  return { client_id, client_secret, resource, access_token, refresh_token }
}

const listener = async (request, response) => {
  if (request.url !== '/seed') return handler(request, response)
  response.end(JSON.stringify(await logIn()))
}
console.log(JSON.stringify({ url }))
process.on('SIGTERM', () => process.exit(0))
