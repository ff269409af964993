import { addressOf, callService } from './call-service.ts'
import { type Config, lacking, misspellingOf } from './config.ts'
import { AuthError } from './errors.ts'
import { CONSUMER_TOKEN_SECONDS } from './protocol.ts'
import { show } from './show.ts'
import { oddityOf } from './verify-token.ts'

/** The app of this backend, as the service knows it. */
export interface CheckedApp {
  readonly id: string
  readonly code: string
  readonly status: string
  readonly permission_scope: string
  readonly signing: string
}

/** A setting of this backend that does not fit the service. */
export interface CheckFault {
  /**
   * - `secret`: the service signs with another secret, or does not have this one
   * - `app_code`: the service has no app with this code
   * - `app_id`: the app with this code has another id than `SERVICE_APP_ID`
   * - `app_inactive`: the app is not active, so its tokens are not valid
   * - `clock`: the clocks of the two machines differ by more than `clockToleranceSec`
   * - `unreachable`: nothing answers at the address, or something other than the service does
   */
  readonly code: 'secret' | 'app_code' | 'app_id' | 'app_inactive' | 'clock' | 'unreachable'
  /** What was expected and what was received. */
  readonly hint: string
}

/** The result of `auth.check()`. */
export interface ServiceCheck {
  /** True if there are no faults. */
  readonly ok: boolean
  readonly faults: readonly CheckFault[]
  /** The id of the service, one per database. Null if the service did not say. */
  readonly serviceId: string | null
  /** Null if the service did not say. */
  readonly app: CheckedApp | null
  /** How many seconds the clock of the service is ahead of this one, negative if behind. Null if the service did not say. */
  readonly clockSkewSec: number | null
}

interface Answer {
  readonly service_id: string
  readonly app: CheckedApp
  /** The key ids that the service accepts. It signs with the first. */
  readonly kids: readonly string[]
  readonly time: string
}

/** Asks `GET /consumer` once. `isAwaited` keeps the process alive until the answer has arrived. */
export async function checkService(config: Config, isAwaited = true): Promise<ServiceCheck> {
  const { now, closing, keyring } = config
  let date: string | null = null
  const ask = config.fetch as (...given: unknown[]) => Promise<Response>
  const fetch = async (...given: unknown[]) => {
    const response = await ask(...given)
    date = response.headers.get('date')
    return response
  }
  const asking = { ...config, fetch: fetch as typeof config.fetch }
  const request = { path: '/consumer', inBackground: !isAwaited, signal: closing.signal }
  const begunAt = now()
  try {
    const { service_id: serviceId, app, kids, time } = await callService<Answer>(asking, request, 10_000)
    const clockSkewSec = skewOf(time, (begunAt + now()) / 2)
    const faults = [...clockFaults(clockSkewSec, config), ...secretFaults(kids, config), ...appFaults(app, config)]
    return { ok: faults.length === 0, faults, serviceId, app, clockSkewSec }
  } catch (thrown) {
    const { code, hint = '' } = AuthError.is(thrown) ? thrown : { code: '', hint: 'its response has another shape' }
    const clockSkewSec = date && skewOf(date, now())
    const fault = code === 'SERVICE_REJECTED' ? explainRefusal(hint, clockSkewSec || 0, config, await keyring.open()) : undefined
    const advice = adviceOn(hint, config)
    // An older service does not have this route.
    const isOlder = hint.endsWith(' not_found') && !advice
    const address = config.authUrl ? `no service answers at ${addressOf(config)} (SERVICE_AUTH_URL):` : ''
    const unreachable = { code: 'unreachable', hint: `${address} ${hint}${advice}` } as const
    const faults = isOlder ? [] : [fault ?? unreachable]
    return { ok: isOlder, faults, serviceId: null, app: null, clockSkewSec: fault ? clockSkewSec : null }
  }
}

/** How many feeds of each app this process follows. */
const followers = new Map<string, number>()

/** Names the variable that was probably meant to be one that may be missing. An error names the others. */
function warnOfMisspelt({ appId, serviceToken, warn }: Config): void {
  for (const [name, value] of Object.entries({ SERVICE_APP_ID: appId, SERVICE_ACCOUNT_TOKEN: serviceToken }))
    if (value === undefined && misspellingOf(name)) warn(name, lacking(name))
}

/** Warns about a second feed: a `createAuth` for each route or request opens that many streams. */
function warnOfMany(config: Config): void {
  const { appCode, closing, warn } = config
  const key = `${appCode} at ${addressOf(config)}`
  const count = (followers.get(key) ?? 0) + 1
  followers.set(key, count)
  closing.signal.addEventListener('abort', () => followers.set(key, followers.get(key)! - 1))
  if (count === 2)
    warn('createAuth', `createAuth was called again for ${key}, which opens another stream: create one and share it`)
}

/**
 * Runs the check in the background and logs the faults. Resolves to a function that warns when a guard asks for permissions that
 * all tokens carry.
 */
export async function checkAtStart(config: Config): Promise<() => void> {
  const { appCode, warn, check, closing, revocation } = config
  if (closing.signal.aborted) return () => {}
  warnOfMisspelt(config)
  if (revocation.mode === 'feed') warnOfMany(config)
  if (check === 'off') return () => {}
  warnOfPlainHttp(config)
  const { faults, app } = await checkService(config, check === 'exit')
  if (closing.signal.aborted) return () => {}
  for (const { code, hint } of faults) {
    // If the service is unreachable, the feed logs it, without saying what to change.
    const isSaid = code === 'unreachable' && revocation.mode === 'feed' && check === 'warn' && !advised.test(hint)
    if (!isSaid) warn(`check: ${code}`, `the startup check failed: ${hint}`)
  }
  if (check === 'exit' && faults.length > 0) globalThis.process?.exit(1)
  return () => {
    if (app?.permission_scope !== 'services') return
    const command = `authctl app update ${appCode} --permission-scope roles`
    const scope = `every token of the app ${show(appCode)} carries all permissions of its services (permission_scope: services)`
    warn('permission_scope', `a guard that asks for permissions lets everyone in: ${scope}; to fix it: ${command}`)
  }
}

/** Whether a hint has the words of `adviceOn`. */
const advised = /: (nothing|no|the address) /

/** Says what to change in the address, as far as the failure shows it. */
function adviceOn(hint: string, { authUrl }: Config): string {
  if (/^ECONNREFUSED/.test(hint)) return ': nothing listens on this port: start the service, or correct the port'
  if (/^(ENOTF|EAI_A)/.test(hint)) return ': no such host'
  const path = authUrl === undefined ? '' : new URL(authUrl).pathname.slice(0, -'/api/v1'.length)
  // A service may be below a path, so only a failure makes it a suspect.
  return path && /^HTTP 40/.test(hint) ? `: the address has the path ${show(path)}, maybe one too many` : ''
}

function skewOf(time: string, localMs: number): number {
  return Math.round((Date.parse(time) - localMs) / 1000)
}

function clockFaults(skewSec: number, { clockToleranceSec }: Config): CheckFault[] {
  return Math.abs(skewSec) > clockToleranceSec ? [clockFault(skewSec, clockToleranceSec)] : []
}

function clockFault(skewSec: number, tolerance: number): CheckFault {
  const side = skewSec > 0 ? 'behind' : 'ahead of'
  const hint = `the clock of this machine is ${Math.abs(skewSec)} s ${side} that of the service, clockToleranceSec is ${tolerance}`
  return { code: 'clock', hint }
}

function secretFaults([signing = '']: readonly string[], { keyring, secrets }: Config): CheckFault[] {
  const own = keyring.opened?.keys.map(({ kid }) => kid) ?? []
  if (own.includes(signing)) return []
  const theirs = /^[0-9a-f]{8}$/.test(signing) ? `key ${signing}` : 'another key'
  return [
    {
      code: 'secret',
      hint: `the service signs with ${theirs}, JWT_ACCESS_SECRET is key ${own.join(' or ')}${oddityOf(secrets)}`,
    },
  ]
}

function appFaults({ id, status }: CheckedApp, config: Config): CheckFault[] {
  const { appCode, appId = id } = config
  const app = `the app ${show(appCode)} at ${addressOf(config)}`
  const faults: CheckFault[] = []
  if (id !== appId)
    faults.push({ code: 'app_id', hint: `expected ${app} to have the id ${show(appId)} (SERVICE_APP_ID), got ${showWord(id)}` })
  if (status !== 'active')
    faults.push({ code: 'app_inactive', hint: `expected ${app} to be active, got ${showWord(status)}: its tokens are not valid` })
  return faults
}

/** Shows a value only if it is a plain word, since a service may answer anything. */
function showWord(value: unknown): string {
  return /^[\w-]{1,64}$/.test(`${value}`) ? show(`${value}`) : 'something else'
}

/**
 * Explains why the service refused an assertion. The service's clock tells whether the assertion was too old or too new there.
 */
function explainRefusal(
  hint: string,
  skewSec: number,
  config: Config,
  { keys }: { readonly keys: readonly { readonly kid: string }[] },
): CheckFault | undefined {
  const { appCode, clockToleranceSec, secrets } = config
  if (hint.endsWith(' app_not_found'))
    return { code: 'app_code', hint: `no app at ${addressOf(config)} has the code ${show(appCode)} (SERVICE_APP_CODE)` }
  if (!hint.startsWith('HTTP 401 ')) return undefined
  if (Math.abs(skewSec) >= CONSUMER_TOKEN_SECONDS / 2 - 2) return clockFault(skewSec, clockToleranceSec)
  const own = keys.map(({ kid }) => kid).join(' or ')
  const what = `the service at ${addressOf(config)} does not have key ${own} (JWT_ACCESS_SECRET)`
  return {
    code: 'secret',
    hint: `${what}: the secret differs, or the address is that of another environment${oddityOf(secrets)}`,
  }
}

function warnOfPlainHttp({ authUrl = '', warn }: Config): void {
  const { protocol, hostname } = new URL(authUrl)
  const isLocal = /^(localhost|127\..*|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isLocal && globalThis.process?.env.NODE_ENV === 'production')
    warn('http', 'SERVICE_AUTH_URL begins with http:// in production: anyone on the way can change its responses; use https://')
}
