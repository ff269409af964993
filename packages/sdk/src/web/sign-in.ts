import { assertAccess } from '../access.ts'
import { encodeBase64url } from '../base64url.ts'
import type { UserClaims } from '../claims.ts'
import { AuthError, refused } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { refusal } from '../refusal.ts'
import { isRefusedByHandler } from '../requirements.ts'
import { type Answer, FOREIGN, type Incoming, isForeign, pathOf, UNCACHED } from './incoming.ts'
import type { WebConfig } from './options.ts'
import { type Begun, type Cookies, readCookies, SESSION, type SealedCookies } from './sealed-cookies.ts'
import { isUnreachable, type Settings, TokenEndpoint, type Tokens } from './token-endpoint.ts'

/** What signing in and out needs. Loaded with the first request that needs it. */
export interface Parts {
  readonly config: WebConfig
  readonly settings: Settings
  readonly cookies: SealedCookies
  readonly verify: (token: string) => Promise<Principal>
}

const LOGIN = '_login.'
/** Each takes room in the headers of every request. */
const MAX_BEGUN = 5
const DAY_SEC = 86_400
/** Parameters of `/login`, and what the sign-in page calls them. */
const passedOn = {
  prompt: 'prompt',
  provider: 'provider',
  method: 'method',
  organizationId: 'organization_id',
  maxAgeSec: 'max_age',
  amr: 'acr_values',
  invite: 'invite',
}

const base64url = (bytes: Uint8Array) => encodeBase64url(String.fromCharCode(...bytes))
const randomWord = (bytes: number) => base64url(crypto.getRandomValues(new Uint8Array(bytes)))

export function openSignIn(parts: Parts) {
  const service = new TokenEndpoint(parts.settings)
  return {
    renew: (refresh: string) => service.renew(refresh),
    hasEnded: (refresh: string) => service.hasEnded(refresh),
    answer: answerWith({ ...parts, service }),
    checkRedirectUrl: () => checkRedirectUrl({ ...parts, service }),
    assertAccess,
    refuse(incoming: Incoming, error: unknown, isOfHandler?: boolean) {
      if (isOfHandler && !isRefusedByHandler(error)) throw error
      return refuse(parts.config, incoming, error)
    },
  }
}

interface AllParts extends Parts {
  readonly service: TokenEndpoint
}

/** Answers one of the paths to sign in and out. */
const answerWith =
  (parts: AllParts) =>
  async (incoming: Incoming): Promise<Answer> => {
    const { paths, origin } = parts.config
    const { pathname, searchParams } = pathOf(incoming)
    const isOut = pathname === paths.logout
    const given = { sent: readCookies(incoming.header('cookie')), query: searchParams }
    try {
      // Any site can make a browser open a URL, and a prefetch would sign the user out.
      if (incoming.method !== (isOut ? 'POST' : 'GET'))
        return page(405, isOut ? 'To sign out, send a form with method="post".' : 'Use GET.', { allow: isOut ? 'POST' : 'GET' })
      if (isOut && isForeign(incoming, origin)) return page(403, 'This form is not from this site.')
      // Each sign-in takes one of the places for those that are open, and a script cannot follow it to the sign-in page.
      if (pathname === paths.login && isInBackground(incoming))
        return refuse(parts.config, incoming, refused('TOKEN_MISSING', 'not opened as a page'))
      return await (isOut ? signOut : pathname === paths.login ? begin : finish)(parts, given)
    } catch (error) {
      return fail(parts, error)
    }
  }

interface Given {
  readonly sent: Cookies
  readonly query: URLSearchParams
}

async function begin(parts: AllParts, { sent, query }: Given): Promise<Answer> {
  const { config, settings, service, cookies } = parts
  // Who is asked for a fresh proof does not become somebody else by it.
  const isStepUp = query.has('maxAgeSec') || query.has('amr')
  const user = isStepUp ? claimsOf(await cookies.open(SESSION, sent)) : undefined
  const { issuer, authorization_endpoint } = await service.metadata()
  const verifier = randomWord(32)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const given = Object.entries(passedOn).map(([name, passed]) => [passed, query.get(name)] as const)
  return leave(
    parts,
    sent,
    { returnTo: returnTo(parts, query), asked: { verifier, issuer, userId: user?.uid } },
    authorization_endpoint,
    {
      client_id: settings.appCode,
      redirect_uri: config.redirectUrl,
      response_type: 'code',
      code_challenge: base64url(new Uint8Array(digest)),
      code_challenge_method: 'S256',
      ...(user?.email && { login_hint: user.email }),
      ...(user?.org_id && { organization_id: user.org_id }),
      ...Object.fromEntries(given.flatMap(([name, value]) => (value ? [[name, value]] : []))),
    },
  )
}

/**
 * Warns if the sign-in page would refuse to lead back here. It says so at once, and to a request that asks for nothing, it gives no
 * more than that.
 */
async function checkRedirectUrl({ config, settings, service }: AllParts): Promise<void> {
  const { appCode, fetch, warn } = settings
  const { redirectUrl } = config
  const { authorization_endpoint } = await service.metadata()
  const query = { client_id: appCode, redirect_uri: redirectUrl, response_type: 'none', code_challenge: 'none' }
  const answer = await fetch(`${authorization_endpoint}?${new URLSearchParams(query)}`, { redirect: 'manual' })
  await answer.body?.cancel()
  if (answer.status !== 400) return
  // The option replaces the list.
  const advice = `name it together with all others: authctl app update ${appCode} --redirect OTHERS ${redirectUrl}`
  warn(
    'redirect',
    `the startup check failed: the app "${appCode}" has no redirect URL ${redirectUrl} (SERVICE_REDIRECT_URL): ${advice}`,
  )
}

async function signOut(parts: AllParts, { sent, query }: Given): Promise<Answer> {
  const { config, settings, cookies, service } = parts
  const tokens = await cookies.open(SESSION, sent)
  // Signed out here, whatever the service answers: the access token is valid for some minutes then, but this browser has lost it.
  const ended = tokens && service.end(tokens.refresh).catch((error: unknown) => settings.warn('logout', `${hintOf(error)}`))
  const cleared = cookies.clear(SESSION, sent)
  const back = returnTo(parts, query)
  await ended
  if (!query.has('browser')) return redirect(back, cleared)
  const { end_session_endpoint } = await service.metadata()
  const client = { client_id: settings.appCode, post_logout_redirect_uri: config.redirectUrl }
  return leave(parts, sent, { returnTo: back }, end_session_endpoint, client, cleared)
}

async function finish(parts: AllParts, { sent, query }: Given): Promise<Answer> {
  const { config, cookies, service } = parts
  const [state, code, error] = ['state', 'code', 'error'].map((name) => query.get(name))
  const name = `${LOGIN}${state}` as const
  const begun = await cookies.open(name, sent)
  const previous = await cookies.open(SESSION, sent)
  if (!begun || (begun.asked && begun.asked.issuer !== query.get('iss'))) {
    // Somebody who opens the answer again is signed in already.
    if (!begun && previous) return redirect(`${config.origin}/`, [])
    throw refused('SERVICE_REJECTED', 'sign_in_mismatch')
  }
  const over = cookies.clear(name, sent)
  if (!begun.asked) return redirect(begun.returnTo, over)
  // What was kept stays: the user may go back to the sign-in page and try again.
  if (error || !code) throw refused('SERVICE_REJECTED', error && /^[a-z_]{1,60}$/.test(error) ? error : 'invalid_request')
  const tokens = await service.exchange(code, config.redirectUrl, begun.asked.verifier)
  // A token that this app refuses would lead from each page to the sign-in page and back, without end.
  const { userId } = await parts.verify(tokens.access)
  const expected = begun.asked.userId
  if (expected !== undefined && [userId, claimsOf(previous)?.uid ?? userId].some((id) => id !== expected)) {
    await service.end(tokens.refresh).catch(() => {})
    throw refused('SERVICE_REJECTED', 'user_mismatch')
  }
  const isReplaced = previous && previous.refresh !== tokens.refresh
  if (isReplaced) await service.end(previous.refresh).catch(() => {})
  return redirect(begun.returnTo, [...(await cookies.set(SESSION, tokens, sent)), ...over])
}

function returnTo({ config: { origin } }: Parts, query: URLSearchParams): string {
  return ownUrl(query.get('returnTo'), origin) ?? `${origin}/`
}

/** Leads to a page of the service, from where the user comes back with `state`. */
async function leave(
  { cookies, settings }: Parts,
  sent: Cookies,
  begun: Begun,
  endpoint: string,
  query: Record<string, string>,
  changes: readonly string[] = [],
): Promise<Answer> {
  // Begins with the time, so that the oldest come first by name.
  const state = `${Math.floor(settings.now() / 1000)
    .toString(36)
    .padStart(8, '0')}${randomWord(16)}`
  const stale = cookies.names(LOGIN, sent).slice(0, -(MAX_BEGUN - 1))
  const kept = await cookies.set(`${LOGIN}${state}`, begun, sent, DAY_SEC)
  const url = new URL(endpoint)
  for (const [name, value] of Object.entries({ ...query, state })) url.searchParams.set(name, value)
  return redirect(url.href, [...changes, ...stale.flatMap((name) => cookies.clear(name, sent)), ...kept])
}

/** What a token of this app's own cookie says of its user. It may have expired. */
function claimsOf(tokens: Tokens | undefined): Pick<UserClaims, 'uid' | 'email' | 'org_id'> | undefined {
  if (!tokens) return undefined
  const [, payload = ''] = tokens.access.split('.')
  const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0))))
}

function redirect(location: string, cookies: readonly string[]): Answer {
  return { status: 303, headers: { ...UNCACHED, location }, cookies, body: '' }
}

const hintOf = (error: unknown) => (AuthError.is(error) && error.hint) || String(Object(error).message)

/** Says what to do, in words of our own: what came with the request is not repeated. */
function fail({ config, settings }: Parts, error: unknown): Answer {
  if (isUnreachable(error)) {
    const advice =
      hintOf(error) === 'rate_limited' ? ': give it a service account with limits:exempt (SERVICE_ACCOUNT_TOKEN)' : ''
    const address = `${settings.authUrl!.slice(0, -'/api/v1'.length)} (SERVICE_AUTH_URL)`
    settings.warn('sign-in', `users of this app cannot sign in now: ${hintOf(error)} from ${address}${advice}`)
    return page(503, 'The login service cannot be reached. Reload this page to try again.', { 'retry-after': '1' })
  }
  const isOfCaller = AuthError.is(error, 'SERVICE_REJECTED')
  const code = hintOf(error)
  if (!isOfCaller) settings.warn('sign-in', `a user could not sign in: ${code}`)
  if (code === 'user_mismatch')
    return page(400, `Somebody else has signed in. You are still signed in as before. <a href="${config.origin}/">Go on</a>`)
  const reason = isOfCaller ? code : 'sign_in_failed'
  const again = `<a href="${config.paths.login}">Try again</a>`
  // Cookies are of one host, and this app may be open at a second one, such as 127.0.0.1.
  const advice =
    reason === 'sign_in_mismatch'
      ? ` This browser did not begin it at ${config.origin}. If you opened this app at another address, open it at <a href="${config.origin}/">${config.origin}</a>.`
      : ''
  return page(isOfCaller ? 400 : 500, `Signing in did not work (${reason}).${advice} ${again}`)
}

function page(status: number, text: string, headers: Record<string, string> = {}): Answer {
  const safe = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': "default-src 'none'" }
  const body = `<!doctype html><meta charset="utf-8"><title>Sign in</title><p>${text}</p>`
  return { status, headers: { ...UNCACHED, ...safe, 'referrer-policy': 'no-referrer', ...headers }, cookies: [], body }
}

/** Leads a browser to sign in, and answers a script with the refusal. Rethrows errors that are not about the caller. */
function refuse({ origin, paths: { login } }: WebConfig, incoming: Incoming, error: unknown): Answer {
  const refused = refusal(error, incoming.header('x-request-id'))
  if (!refused) throw error
  const { status, headers, body } = refused
  const proof = Object.entries({ maxAgeSec: 'max_age', amr: 'acr_values' }).flatMap(([name, asked]) => {
    const [, value] = new RegExp(`, ${asked}="(\\w+)"`).exec(headers['WWW-Authenticate'] ?? '') ?? []
    return value ? [`${name}=${value}`] : []
  })
  const signInAt = (...query: string[]) => [login, [...query, ...proof].join('&')].filter(Boolean).join('?')
  if (status === 401 && isNavigation(incoming)) {
    // A form that was sent too late cannot be sent again: back to the page that showed it.
    const isSafe = /^(GET|HEAD)$/.test(incoming.method)
    const { pathname, search } = pathOf(isSafe ? incoming : { ...incoming, url: incoming.header('referer') ?? '/' })
    // Absolute: Next.js takes no other from a proxy, and cookies count only at this origin.
    return redirect(origin + signInAt(`returnTo=${encodeURIComponent(pathname + search)}`), [])
  }
  const unread = incoming.header('authorization') ? ' The session is in a cookie: the header Authorization is not read here.' : ''
  const told = {
    ...(body.code === 'token_missing' && { title: 'Nobody is signed in' }),
    ...(status === 401 && { detail: `Sign in at ${signInAt()}, in a browser.${unread}` }),
    ...(hintOf(error) === FOREIGN && { detail: 'Another site made this request.' }),
  }
  const type = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers: { ...UNCACHED, ...headers, ...type }, cookies: [], body: JSON.stringify({ ...body, ...told }) }
}

/** Whether a browser opens a page, which may lead elsewhere. A script, or a page inside another one, cannot follow. */
function isNavigation(incoming: Incoming): boolean {
  const { header } = incoming
  if (isInBackground(incoming)) return false
  return header('sec-fetch-mode') ? header('sec-fetch-dest') === 'document' : /\btext\/html\b/.test(header('accept') ?? '')
}

/** Whether a script asks, or the browser ahead of the user. The router of Next.js does both with a header of its own. */
function isInBackground({ header }: Incoming): boolean {
  const purpose = `${header('sec-purpose')} ${header('purpose')}`
  return (header('sec-fetch-mode') || 'navigate') !== 'navigate' || purpose.includes('prefetch') || header('rsc') === '1'
}

/** Returns a URL of this origin for a path, or undefined for anything that could lead elsewhere. */
function ownUrl(path: string | null | undefined, origin: string): string | undefined {
  // Browsers take `\` for `/`, and drop tabs and line breaks before they read a URL. A longer path does not fit into a cookie.
  if (!path || path.length > 500 || !/^\/(?!\/)[^\\\p{Cc}]*$/u.test(path) || !URL.canParse(path, origin)) return undefined
  const url = new URL(path, origin)
  // What is left when the dots are gone. Next.js cuts the origin off, and `//evil.example` would be a host.
  return url.origin === origin && !url.pathname.startsWith('//') ? url.href : undefined
}
