import type { AdminClient } from '@gatehouse/sdk/admin'
import { type Ending, Failure, messageOf, systemCodeOf } from '../command-line/exit-codes.ts'
import type { Settings } from '../command-line/settings.ts'
import { version } from '../command-line/version.ts'
import type { HttpAnswer } from '../network/exchange-http.ts'
import type { Io, World } from '../terminal/io.ts'
import { toJson } from '../text/escape-controls.ts'
import { redact, redactUrl } from '../text/redact.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The typed calls of the SDK's client. They throw unless the answer is a success. Of `response`, only the status is set. */
export type Api = Pick<AdminClient, (typeof methods)[number]>

export interface Request {
  method: string
  url: string
  /** The body as sent; undefined for none. For bytes, --debug and --dry-run show only the size. */
  body: string | Uint8Array | undefined
  contentType?: string | undefined
  /** The audit reason. */
  reason?: string | undefined
}

export type Answer = HttpAnswer

export interface Bearer {
  token: string
  /** The service has just issued it. If it refuses this one, it would refuse another one too. */
  isNew: boolean
}

/** Provides the bearer token of requests. */
export interface Session {
  /** Throws `not_signed_in` if there is no session. */
  bearer(): Promise<Bearer>
  /** Gets another token after the service refused `rejected`. Undefined if there is no way to get one. */
  renew(rejected: string): Promise<Bearer | undefined>
  /** Advice for when the service refuses the token for good. By default: sign in again. */
  hint?: string
}

/** Thrown by writes with --dry-run. If the service can rehearse the write, it has done so and would accept it. */
export class PlannedRequest extends Error {
  readonly requests: readonly Request[]

  constructor(requests: readonly Request[]) {
    super('planned, not sent')
    this.requests = requests
  }
}

/** Runs the writes one after the other. With --dry-run it plans all of them. */
export async function inTurn(writes: readonly (() => Promise<unknown>)[]): Promise<void> {
  const planned: Request[] = []
  for (const write of writes) {
    try {
      await write()
    } catch (thrown) {
      if (!(thrown instanceof PlannedRequest)) throw thrown
      planned.push(...thrown.requests)
    }
  }
  if (planned.length > 0) throw new PlannedRequest(planned)
}

const attempts = 4
const longestWaitMs = 20_000
const retriedStatuses = new Set([429, 500, 502, 503, 504])
/** How often a new token is shown: behind a load balancer the next server may have issued it. */
const newTokenTries = 8
/** Where this has been noted, so that one command notes it once. */
const isTold = new WeakSet<Io>()
const refusedAnew = 'the service refuses a token that it has just issued, so its servers have different secrets'
/** These statuses mean that the service did nothing, so any request can be sent again. */
const refusedStatuses = new Set([429, 503])
/** --debug shows at most this many characters of a body. */
const longestShown = 4_000
/** These codes mean that a password or code in the request is wrong. Sending it again would count as another wrong try. */
const refusesInput = new Set<unknown>(['invalid_credentials', 'invalid_two_factor_code'])

export interface Wire {
  world: World
  io: Io
  settings: Settings
  /** Called before a write is sent as the signed-in user. It may ask the user, and may throw. */
  beforeWrite?: (() => Promise<void>) | undefined
  /** With --dry-run, sends nothing. For writes that depend on each other: the service could rehearse only the first one. */
  plansAlone?: boolean
  /** Disables retries, for a screen that polls anyway. */
  sendsOnce?: boolean
}

/** Sends a request, with retries. Returns the answer whatever its status. Throws `unreachable` or `timeout` if there is none. */
export async function send(wire: Wire, request: Request, bearer: string | undefined): Promise<Answer> {
  const { world, io } = wire
  for (let attempt = 1; ; attempt += 1) {
    const answer = await sendOnce(wire, request, bearer)
    const mayRepeat = request.method === 'POST' ? refusedStatuses : retriedStatuses
    if (!mayRepeat.has(answer.status) || attempt === attempts || wire.sendsOnce) return answer
    const waitMs = retryAfterMs(answer.headers['retry-after'], world.now()) ?? 250 * 2 ** attempt
    if (waitMs > longestWaitMs) return answer
    io.note(`the service answered ${answer.status}; trying again in ${Math.ceil(waitMs / 1000)} s`)
    await world.sleep(waitMs)
  }
}

/** Milliseconds to wait according to `Retry-After`, which holds seconds or a date. */
function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds)
}

/** Like `send`, without retries. */
export async function sendOnce({ world, io, settings }: Wire, request: Request, bearer: string | undefined): Promise<Answer> {
  const { method, url, body } = request
  const headers: Record<string, string> = { accept: 'application/json', 'user-agent': `authctl/${version}` }
  if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`
  if (body !== undefined) headers['content-type'] = request.contentType ?? 'application/json'
  if (request.reason !== undefined) headers['x-audit-reason'] = encodeURIComponent(request.reason)
  // Composed only if shown: with a page of a list that would take longer than the request.
  const debug = (compose: () => string) => settings.debug && io.complain(compose())
  debug(() => `> ${method} ${redactUrl(url)}${bearer === undefined ? '' : ' (bearer [redacted])'}`)
  if (body !== undefined) debug(() => `> ${clip(toJson(redact(body)))}`)
  const started = performance.now()
  try {
    // Redirects are not followed: that would pass on the bearer token, or turn a POST into a GET.
    const answer = await world.exchange({ method, url, headers, body, signal: AbortSignal.timeout(settings.timeoutMs) })
    debug(() => `< ${answer.status} (${Math.round(performance.now() - started)} ms) ${requestIdOf(answer) ?? ''}`)
    if (answer.text !== '') debug(() => `< ${clip(toJson(redact(answer.text)))}`)
    return answer
  } catch (error) {
    debug(() => `< ${error}`)
    throw unreachable(new URL(url).origin, error, settings.timeoutMs)
  }
}

function requestIdOf({ headers }: Answer): string | undefined {
  return headers['x-request-id']?.toString()
}

function clip(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text
}

function unreachable(origin: string, error: unknown, timeoutMs: number): Failure {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new Failure('unreachable', `no answer from ${origin} within ${timeoutMs / 1000} s`, {
      code: 'timeout',
      hint: '--timeout SECONDS waits longer',
    })
  }
  return new Failure('unreachable', `cannot reach ${origin}: ${systemCodeOf(error) ?? messageOf(error)}`, {
    code: 'unreachable',
    hint: 'is the service running there? its address comes from --base-url, AUTHCTL_BASE_URL or the context',
    cause: error,
  })
}

/**
 * Sends a request as the signed-in user, or without a token if there is no `session`. Renews a refused token once. Throws a
 * `Failure` unless the answer is a success, and `PlannedRequest` for a write with --dry-run.
 */
export async function exchange(wire: Wire, request: Request, session: Session | undefined): Promise<Answer> {
  const { dryRun, reason } = wire.settings
  if (request.method === 'GET' || request.method === 'HEAD') return deliver(wire, request, session)
  const url = new URL(request.url)
  const isRehearsable = url.pathname.includes('/api/v1/admin/')
  // This only reads, but a token must not be in a URL, so it is a POST. The service audits it, so it gets the reason.
  if (url.pathname.endsWith('/api/v1/admin/tokens/trace')) return deliver(wire, { ...request, reason }, session)
  if (dryRun) {
    if (isRehearsable && !wire.plansAlone) await deliver(wire, { ...request, url: rehearsalOf(request.url) }, session)
    throw new PlannedRequest([request])
  }
  if (session && url.searchParams.get('dry_run') !== 'true') await wire.beforeWrite?.()
  return deliver(wire, isRehearsable ? { ...request, reason } : request, session)
}

function rehearsalOf(url: string): string {
  const rehearsal = new URL(url)
  rehearsal.searchParams.set('dry_run', 'true')
  return rehearsal.href
}

async function deliver(wire: Wire, request: Request, session: Session | undefined): Promise<Answer> {
  let bearer = await session?.bearer()
  let answer = await send(wire, request, bearer?.token)
  // The loop ends with the first new token. Before that, `renew` may return one that another request or process has stored.
  while (session && bearer && !bearer.isNew && refusesToken(answer)) {
    bearer = await session.renew(bearer.token)
    if (bearer) answer = await send(wire, request, bearer.token)
  }
  const isRefusedAnew = () => bearer?.isNew === true && errorBody(answer)?.code === 'token_invalid'
  for (let time = 1; isRefusedAnew() && time < newTokenTries; time += 1) {
    if (!isTold.has(wire.io)) wire.io.note(`${refusedAnew}; trying again. authctl doctor names them`)
    isTold.add(wire.io)
    answer = await send(wire, request, bearer?.token)
  }
  if (answer.status < 200 || answer.status > 299)
    throw failureOf(
      answer,
      request.url,
      isRefusedAnew() ? `${refusedAnew}: compare JWT_ACCESS_SECRET of all servers` : session?.hint,
    )
  return answer
}

/** Any other 401 may just mean that the token is too old: it has expired, or the secret that signed it was replaced. */
function refusesToken(answer: Answer): boolean {
  if (answer.status !== 401) return false
  const body = errorBody(answer)
  return body?.requires_2fa !== true && !refusesInput.has(body?.code)
}

interface ErrorBody {
  code?: unknown
  title?: string
  detail?: string | null
  /** The detail in an answer of `/oauth/token`. */
  error_description?: string
  errors?: { path: string; message: string }[]
  request_id?: string
  requires_2fa?: unknown
  enrollment_url?: unknown
}

function errorBody(answer: Answer): ErrorBody | undefined {
  try {
    const body: unknown = JSON.parse(answer.text)
    return typeof body === 'object' && body !== null ? body : undefined
  } catch {
    return undefined
  }
}

export const twoFactorRequired = 'two_factor_required'

const hints: Record<string, string> = {
  token_missing: 'sign in: authctl login',
  token_invalid: 'sign in again: authctl login',
  token_expired: 'sign in again: authctl login',
  token_revoked: 'sign in again: authctl login',
  system_admin_required: 'authctl whoami shows your roles; a system_admin can give you one that allows it',
  admin_app_not_allowed: 'sign in through authctl itself: authctl login',
  account_locked: 'wait until the lock ends, or ask another admin for: authctl user unlock USER',
  app_access_denied: 'without the role system_admin you need a grant: authctl grant add --app authctl --user YOU',
  app_in_use: 'revoke the grants first (authctl grant list), or add --force',
  email_exists_in_pool:
    'authctl user find --email EMAIL shows who has it; authctl pool collisions P Q lists e-mails in both pools',
  last_system_admin: 'give the role to another user first: authctl user role USER --role system_admin',
  prune_limit: '--dry-run shows what would be pruned; --max-prune N, or --confirm with the name of the service, allows it',
  role_in_use: 'authctl user find --role ROLE shows who holds it',
  permission_owned_by_other_service: 'authctl permission list shows which service owns it',
  account_unverified: 'let the user verify the address first, or take over the account: authctl user import --claim-unverified',
  app_code_taken: '--if-exists skip or --if-exists update continues with the existing app',
  service_account_name_taken: 'choose another name; authctl service-account rotate issues a new token for the existing account',
}

/** The exit that a status leads to. */
function endingOf(status: number, code: string): Exclude<Ending, 'done'> {
  // No caller can have this right, so the request itself is wrong.
  if (code === 'service_reserved') return 'invalid'
  if (status === 401 || status === 403 || status === 423) return 'notSignedIn'
  if (status === 404) return 'notFound'
  if (status === 409) return 'conflict'
  if (status === 429 || status >= 500 || status < 400) return 'unreachable'
  return 'invalid'
}

/** Turns an answer that is not a success into the failure that the user sees. */
export function failureOf(answer: Answer, url: string, sessionHint?: string): Failure {
  const body = errorBody(answer)
  if (answer.status === 401 && body?.requires_2fa === true) {
    return new Failure('notSignedIn', 'a two-factor code is required', { code: twoFactorRequired })
  }
  if (typeof body?.code !== 'string') return foreign(answer, url)
  const fields = body.errors?.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  const message = fields || body.detail || body.error_description || body.title || body.code
  return new Failure(endingOf(answer.status, body.code), inOurWords(message), {
    code: body.code,
    hint:
      typeof body.enrollment_url === 'string'
        ? `set one up at ${body.enrollment_url}, then sign in again: authctl login`
        : answer.status === 429
          ? retryHint(answer)
          : (refusesToken(answer) && sessionHint) || hints[body.code],
    requestId: body.request_id ?? requestIdOf(answer),
    errors: body.errors,
  })
}

/** Replaces names of parameters and headers of requests with the flags that users type. */
function inOurWords(message: string): string {
  return message
    .replaceAll('?force=true', '--force')
    .replace(/\bmax_prune\b/g, '--max-prune')
    .replace('X-Audit-Reason:', '--reason')
}

function retryHint(answer: Answer): string {
  const seconds = answer.headers['retry-after']
  return seconds === undefined ? 'try again later' : `try again in ${seconds} s`
}

/** The failure for an answer from a proxy, or from a server that is not Gatehouse. */
function foreign(answer: Answer, url: string): Failure {
  const { origin } = new URL(url)
  const { location } = answer.headers
  const hint = location
    ? `it redirects to ${location}: is that the right --base-url?`
    : 'is this the address of a Gatehouse service? (--base-url)'
  return new Failure('unreachable', `${origin} answered ${answer.status}, but not like a Gatehouse service`, {
    code: 'unexpected_answer',
    hint,
  })
}

interface CallInit {
  params?: { path?: Record<string, string>; query?: Record<string, unknown> }
  headers?: { 'content-type': string }
  body?: unknown
}

/**
 * Creates the typed client. Its calls throw unless the answer is a success. A body of bytes is sent unchanged; an image is returned
 * as bytes.
 */
export function createApi(wire: Wire, baseUrl: string, session: Session | undefined): Api {
  const call = async (method: string, path: string, { params, headers, body }: CallInit = {}) => {
    const url = baseUrl + filledPath(path, params?.path) + queryText(params?.query)
    const bytes = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body)
    const answer = await exchange(wire, { method, url, body: bytes, contentType: headers?.['content-type'] }, session)
    const response = { status: answer.status }
    if (answer.status === 204) return { response }
    if (/^image\//.test(answer.headers['content-type'] ?? '')) return { data: answer.bytes, response }
    if (!/^application\/json\b/.test(answer.headers['content-type'] ?? '')) throw foreign(answer, url)
    return { data: answer.text === '' ? undefined : JSON.parse(answer.text), response }
  }
  const calls = methods.map((method) => [method, (path: string, init?: CallInit) => call(method, path, init)] as const)
  return Object.fromEntries(calls) as unknown as Api
}

/** Fills in the parameters of a path such as `/users/{userId}`. */
function filledPath(path: string, values: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name]!))
}

/** A list becomes one parameter for each of its values. */
function queryText(query: Record<string, unknown> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => [value].flat().map((each) => [name, each]))
  const sent = given.filter(([, value]) => value !== undefined)
  return sent.map(([name, value], index) => `${index === 0 ? '?' : '&'}${name}=${encodeURIComponent(String(value))}`).join('')
}

/** The body of an answer. Throws if there is none. */
export async function bodyOf<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call
  if (data === undefined) throw new Error('the service answered without a body')
  return data
}

/** The body of an answer to a write, and whether the write created something. */
export async function bodyAndNewness<T>(
  call: Promise<{ data?: T; response: { status: number } }>,
): Promise<{ body: T; isNew: boolean }> {
  const { response } = await call
  return { body: await bodyOf(call), isNew: response.status === 201 }
}

/** Reads the pages of a list, up to `limit` entries. */
export async function* pages<T>(
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: T[]; next_cursor: string | null }>,
  limit = Number.POSITIVE_INFINITY,
): Pages<T> {
  const largestPage = 200
  let cursor: string | undefined
  for (let left = limit; left > 0; ) {
    const { items, next_cursor } = await read({
      limit: Math.min(left, largestPage),
      ...(cursor === undefined ? {} : { cursor }),
    })
    yield items
    left -= items.length
    if (next_cursor === null) return
    if (next_cursor === cursor)
      throw new Failure('unreachable', 'the service repeats a page of this list', { code: 'no_progress' })
    cursor = next_cursor
  }
}

/** A list that is read page by page. */
export type Pages<T> = AsyncIterable<T[], void, undefined>

/** The entries of all pages. */
export async function readAll<T>(pages: Pages<T>): Promise<T[]> {
  const items: T[] = []
  for await (const page of pages) items.push(...page)
  return items
}

/** A page is shown once it has this many rows, about a screen of them. */
const screenful = 50

/**
 * Merges short pages into larger ones. A table sizes its columns by the first page, and a short page has too few rows for that.
 */
export async function* regrouped<T>(pages: Pages<T>): Pages<T> {
  let group: T[] = []
  for await (const page of pages) {
    group.push(...page)
    if (group.length < screenful) continue
    yield group
    group = []
  }
  yield group
}

/** Describes a planned request in text, for --dry-run. */
export function describePlan({ method, url, body }: Request): string {
  return body === undefined ? `${method} ${redactUrl(url)}` : `${method} ${redactUrl(url)}\n${toJson(redact(body), 2)}`
}
