import { hash, randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../api/api-client.ts'
import { ownAppCode } from '../api/session.ts'
import { Failure, toFailure } from '../command-line/exit-codes.ts'
import { portOf } from '../network/exchange-http.ts'
import type { OpenBrowser } from '../terminal/find-browser.ts'
import { Html, html } from '../text/html.ts'
import type { Tools } from './create-tools.ts'

type Tokens = components['schemas']['Tokens']

interface SignIn {
  baseUrl: string
  open: OpenBrowser
  /** Filled in on the page. The caller asks before it goes on with another account. */
  email: string | undefined
  /** How long to wait for the person. */
  patienceMs?: number
}

/** A sign-in page is valid for an hour, but few people need that long. */
const longestPatienceMs = 10 * 60_000
/** A redirect URL of the built-in app. It names no port, so the service accepts any (RFC 8252). */
const callbackPath = '/callback'

/**
 * Signs a person in at the sign-in page of the service, which answers to a port of this machine. Returns undefined if the service
 * has no such page. Throws `sign_in_timeout`, and the error that the page answers with.
 */
export async function signInByBrowser(
  tools: Pick<Tools, 'io' | 'anonymousApi'>,
  { baseUrl, open, email, patienceMs = longestPatienceMs }: SignIn,
): Promise<Tokens | undefined> {
  const { io } = tools
  const api = tools.anonymousApi(baseUrl)
  const page = await findPage(api)
  if (!page) return undefined
  const [verifier, state] = [randomWord(), randomWord()]
  const listener = await listen(state)
  try {
    const url = new URL(page.authorizationEndpoint)
    const query = {
      client_id: ownAppCode,
      redirect_uri: listener.redirectUrl,
      response_type: 'code',
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
      state,
      ...(email ? { login_hint: email } : {}),
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // Shown in any case: it may be the only way to go on.
    io.complain('sign in on this page, which opens in your browser:')
    io.complain(url.href)
    io.note('waiting for you there; Ctrl-C ends it, and --no-browser asks for the password here')
    open(url.href, () => io.complain('no browser could be opened here: open the page yourself, on this machine'))
    const code = readAnswer(await listener.answer(patienceMs), page.issuer)
    const grant = { client_id: ownAppCode, code, redirect_uri: listener.redirectUrl, code_verifier: verifier }
    const answer = await bodyOf(api.POST('/oauth/token', { body: { grant_type: 'authorization_code', ...grant } }))
    // Other grants answer with fewer members.
    const tokens = answer as Tokens
    const account = tokens.user.email
    if (isAccount(tokens, email)) await listener.show('You are signed in', `authctl is signed in at ${baseUrl} as ${account}.`)
    else await listener.show('Go back to the terminal', `There authctl asks whether to go on at ${baseUrl} as ${account}.`)
    return tokens
  } catch (thrown) {
    const failure = notSignedIn(toFailure(thrown))
    await listener.show('You are not signed in', `authctl could not sign you in: ${failure.message}.`)
    throw failure
  } finally {
    listener.close()
  }
}

/** Whether this is the account that a person has named. */
export function isAccount({ user }: Pick<Tokens, 'user'>, named: string | undefined): boolean {
  return user.email === named?.trim().toLowerCase()
}

/** 256 random bits, as they are for a PKCE verifier (RFC 7636 section 4.1). */
function randomWord(): string {
  return randomBytes(32).toString('base64url')
}

interface Page {
  issuer: string
  authorizationEndpoint: string
}

/** Finds the sign-in page. A service without one is older, or something in front of it passes on the API alone. */
async function findPage(api: ReturnType<Tools['anonymousApi']>): Promise<Page | undefined> {
  try {
    const { issuer, authorization_endpoint } = await bodyOf(api.GET('/.well-known/oauth-authorization-server'))
    const authorizationEndpoint = String(authorization_endpoint)
    return /^https?:\/\//.test(authorizationEndpoint) ? { issuer, authorizationEndpoint } : undefined
  } catch (error) {
    if (error instanceof Failure && (error.ending === 'notFound' || error.code === 'unexpected_answer')) return undefined
    throw error
  }
}

/** Returns the code in an answer. */
function readAnswer(answer: URLSearchParams, issuer: string): string {
  const [iss, code, error] = ['iss', 'code', 'error'].map((name) => answer.get(name))
  if (iss !== issuer) throw failed('the answer is not from the service that was asked', 'issuer_mismatch')
  if (error) throw failed(answer.get('error_description') || error, error)
  if (!code) throw failed('the answer has no code', 'invalid_answer')
  return code
}

function failed(message: string, code: string): Failure {
  return new Failure('notSignedIn', message, { code, hint: 'authctl login' })
}

/** A refused code is no wrong input of the person. */
function notSignedIn(failure: Failure): Failure {
  const { message, code, hint, requestId } = failure
  if (failure.ending !== 'invalid') return failure
  return new Failure('notSignedIn', message, { code, hint: hint ?? 'authctl login', requestId })
}

interface Listener {
  redirectUrl: string
  /** The first answer with the right state. Throws `sign_in_timeout`. */
  answer(patienceMs: number): Promise<URLSearchParams>
  /** Shows the browser how it ended. */
  show(title: string, text: string): Promise<void>
  close(): void
}

/** Listens on this machine only, at a free port. Other programs can reach the port too, but they do not know the state. */
async function listen(state: string): Promise<Listener> {
  const arrivals = new EventEmitter()
  // A browser may ask twice. Both get the page that tells how it ended.
  const waiting: ServerResponse[] = []
  let last: string | undefined
  const server = createServer((request, response) => {
    const query = answerIn(request)
    if (!query) return send(response, 404, pageOf('Nothing is here', 'authctl waits for a sign-in at another address.'))
    if (query.get('state') !== state)
      return send(response, 400, pageOf('This is another sign-in', 'authctl has not begun it, or waits for a newer one.'))
    if (last !== undefined) return send(response, 200, last)
    waiting.push(response)
    arrivals.emit('answer', query)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    redirectUrl: `http://127.0.0.1:${portOf(server)}${callbackPath}`,
    async answer(patienceMs) {
      try {
        const [query] = await once(arrivals, 'answer', { signal: AbortSignal.timeout(patienceMs) })
        return query
      } catch {
        throw failed(`nobody has signed in within ${Math.ceil(patienceMs / 60_000)} min`, 'sign_in_timeout')
      }
    },
    async show(title, text) {
      const page = pageOf(title, `${text} You can close this window.`)
      last = page
      const sent = waiting.map((response) => {
        const closed = once(response, 'close')
        send(response, 200, page)
        return closed
      })
      await Promise.race([Promise.allSettled(sent), once(AbortSignal.timeout(1_000), 'abort')])
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function answerIn({ method, url = '' }: IncomingMessage): URLSearchParams | undefined {
  const [path, query = ''] = url.split('?')
  return method === 'GET' && path === callbackPath ? new URLSearchParams(query) : undefined
}

const style =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}body{max-width:32rem;margin:15vh auto;padding:0 1rem}'

function pageOf(title: string, text: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
</main>
</body>
</html>
`.markup
}

function send(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; img-src data:; style-src 'sha256-${hash('sha256', style, 'base64')}'; frame-ancestors 'none'; base-uri 'none'`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  })
  response.end(page)
}
