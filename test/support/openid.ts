// What the tests about OpenID Connect share: an app, a person who signs in, and a look into an ID token.
import { expect } from 'vitest'
import { markVerified } from './rows.ts'
import { buildApp, buildUser, type Json, type TestService } from './service.ts'
import { type AskedFor, askFor, signInOnPage, type Visitor, visit } from './sign-in-page.ts'

export const callback = 'https://wiki.example/callback'

export interface Client {
  app: Json
  secret: string
}

/** A confidential app with its secret. */
export async function buildClient(service: TestService, settings: Json = {}): Promise<Client> {
  const standing = { auto_grant_on_signup: true, allowed_redirect_urls: [callback], client: 'confidential' }
  const app = await buildApp(service, { ...standing, ...settings })
  const { body } = await service.admin('POST', `/admin/apps/${app.code}/client-secrets`)
  return { app, secret: body.secret }
}

/** A user whose mailbox was proven. */
export async function buildProven(service: TestService, app: Json, extra: Json = {}): Promise<Json> {
  const { user } = await buildUser(service, app, extra)
  await markVerified(service, user.id)
  return user
}

export async function sendForm(
  service: { url: string },
  path: string,
  form: Record<string, string | undefined>,
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(form)) if (value !== undefined) body.append(name, value)
  const reply = await fetch(`${service.url}${path}`, { method: 'POST', body, headers })
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Json }
}

/** Exchanges the code at `at` as the client. */
export function redeem(service: TestService, { app, secret }: Client, asked: AskedFor, at: URL, changes: Json = {}) {
  return sendForm(service, '/oauth/token', {
    ...{ grant_type: 'authorization_code', client_id: app.code, client_secret: secret },
    ...{ redirect_uri: asked.redirectUri, code: at.searchParams.get('code')!, code_verifier: asked.verifier, ...changes },
  })
}

export interface SignedIn {
  visitor: Visitor
  user: Json
  tokens: Json
  claims: Json
  header: Json
}

/** A new person signs in for the app, which exchanges the code. */
export async function signInAs(
  service: TestService,
  client: Client,
  parameters: Record<string, string | undefined> = {},
  { user, visitor = visit(service) }: { user?: Json; visitor?: Visitor } = {},
): Promise<SignedIn> {
  const person = user ?? (await buildProven(service, client.app))
  const asked = askFor(client.app, { scope: 'openid', nonce: 'a nonce', ...parameters })
  let arrival = await visitor.get(asked.path)
  if (!arrival.app && arrival.title.startsWith('Sign in')) arrival = await signInOnPage(visitor, asked, person.email)
  if (!arrival.app) arrival = await visitor.send(arrival, 'Continue')
  const { status, body } = await redeem(service, client, asked, arrival.app!)
  expect(status, JSON.stringify(body)).toBe(200)
  return { visitor, user: person, tokens: body, ...(body.id_token ? partsOf(body.id_token) : { claims: {}, header: {} }) }
}

export function partsOf(token: string): { header: Json; claims: Json } {
  const [header, claims] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  return { header: JSON.parse(header!), claims: JSON.parse(claims!) }
}

export async function userinfo(service: { url: string }, token: string, init: RequestInit = {}) {
  const reply = await fetch(`${service.url}/oauth/userinfo`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  })
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Json }
}

export async function jwks(service: { url: string }): Promise<Json[]> {
  return ((await (await fetch(`${service.url}/oauth/jwks`)).json()) as Json).keys
}
