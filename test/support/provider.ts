// Third-party login from outside: providers that are stopped when the test ends, and the steps of a browser and its client.
import { createHash, randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { CLIENT_ID, CLIENT_SECRET, openProvider, type TestProvider } from './oidc-server.ts'
import type { Json, Reply, TestService } from './service.ts'

type OnEnd = (fn: () => Promise<void>) => void

/** Starts a provider; it is stopped when the test ends. */
export async function startProvider(
  redirectUris: readonly string[],
  onEnd: OnEnd = onTestFinished,
  options: { pages?: boolean } = {},
): Promise<TestProvider> {
  const provider = await openProvider(redirectUris, options)
  onEnd(provider.close)
  return provider
}

/** Settings of a provider that is for every app and is trusted with every address. */
export const fullTrust = { app_codes: ['*'], trusted_email_domains: ['*'] }

/** Creates a provider in the service and returns its record. It has full trust unless `settings` say otherwise. */
export async function buildSsoProvider(service: TestService, code: string, settings: Json): Promise<Json> {
  const body = { code, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, ...fullTrust, ...settings }
  const reply = await service.admin('POST', '/admin/sso-providers', { body })
  if (reply.status !== 201) throw new Error(`no provider: ${JSON.stringify(reply.body)}`)
  return reply.body
}

export const REDIRECT_URL = 'https://app.example.com/signed-in'
/** The callback of a provider. The base is the public URL of the test services, whatever their port. */
export const callbackOf = (code: string) => `http://localhost:4000/api/v1/auth/sso/${code}/callback`

/** A login that a client has begun: the values that the client keeps, and the answer to the start. */
export interface Begun {
  state: string
  verifier: string
  reply: Reply
}

export async function beginSso(
  service: Pick<TestService, 'url'>,
  code: string,
  app: { code: string },
  query: Record<string, string> = {},
): Promise<Begun> {
  const state = randomBytes(16).toString('hex')
  const verifier = randomBytes(32).toString('base64url')
  const search = new URLSearchParams({
    app_code: app.code,
    redirect_url: REDIRECT_URL,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    state,
    ...query,
  })
  return { state, verifier, reply: await get(service, `/auth/sso/${code}/start?${search}`) }
}

/** A GET that follows no redirect. */
export async function get({ url }: Pick<TestService, 'url'>, path: string): Promise<Reply> {
  const response = await fetch(`${url}/api/v1${path}`, { redirect: 'manual' })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? text : JSON.parse(text) }
}

/** Follows the provider's redirect back to the service. */
export function comeBack(service: Pick<TestService, 'url'>, { pathname, search }: URL): Promise<Reply> {
  return get(service, `${pathname.replace('/api/v1', '')}${search}`)
}

/** The parameters of the redirect URL in an answer. Throws if the answer is not a redirect. */
export function answerOf({ headers, status, body }: Reply): Record<string, string> {
  const location = headers.get('location')
  if (status !== 302 || location === null) throw new Error(`no redirect: ${status} ${JSON.stringify(body)}`)
  return Object.fromEntries(new URL(location).searchParams)
}

export interface Arrived {
  code: string
  verifier: string
}

/** Does everything that a browser does: goes to the provider, signs in as `subject`, and comes back with a code. */
export async function arrive(
  service: Pick<TestService, 'url'>,
  { provider, code, app, subject }: { provider: TestProvider; code: string; app: { code: string }; subject: string },
): Promise<Arrived> {
  const begun = await beginSso(service, code, app)
  const location = begun.reply.headers.get('location')
  if (location === null) throw new Error(`no start: ${JSON.stringify(begun.reply.body)}`)
  const answer = answerOf(await comeBack(service, await provider.logIn(location, subject)))
  if (answer.code === undefined || answer.state !== begun.state) throw new Error(`no code: ${JSON.stringify(answer)}`)
  return { code: answer.code, verifier: begun.verifier }
}

/** Exchanges a code for tokens. */
export function exchange(service: Pick<TestService, 'call'>, { code, verifier }: Arrived, extra: Json = {}): Promise<Reply> {
  return service.call('POST', '/auth/sso/token', { body: { code, code_verifier: verifier, ...extra } })
}
