import { type ClaimExpectations, type ClaimRule, claimRules, createPayloadParser, type Payload } from './claims.ts'
import { AuthError, type AuthErrorCode } from './errors.ts'
import { createKeyring } from './keyring.ts'
import { openNodeKeys } from './node-platform.ts'
import type { SecretKey } from './platform.ts'
import { CLOCK_TOLERANCE_SECONDS, DEFAULT_ISSUER, MAX_TOKEN_BYTES } from './protocol.ts'
import { checkHeader, checkSignature, checkSize, keysNamed, readHeader, readPayload, trySignature } from './verify-token.ts'

/** What a token is checked against. */
export interface InspectOptions {
  /** The secrets that a backend accepts, the current one first. Without any, only the form is checked. */
  readonly secrets?: readonly string[]
  /** The app that the token must be for. Without it, the token must only be consistent in itself. */
  readonly appCode?: string
  /** The id of that app. Without it, a token needs some `app_id`. */
  readonly appId?: string
  /** The required `iss` claim (default `gatehouse`). */
  readonly issuer?: string
  /** The clock, in milliseconds since 1970 (default `Date.now`). */
  readonly now?: () => number
}

export interface TokenCheck {
  readonly name: 'size' | 'form' | 'header' | 'signature' | 'payload' | 'times' | 'issuer' | 'audience' | 'claims' | 'app'
  readonly ok: boolean
  /** The code with which `auth.verify` refuses such a token, if the check failed. */
  readonly code?: AuthErrorCode
  readonly detail?: string
}

export interface Inspection {
  /** Null if no secret was given, unless the form is already wrong. */
  readonly valid: boolean | null
  /** Null if it cannot be read. Then the claims are null too. */
  readonly header: Record<string, unknown> | null
  readonly claims: Record<string, unknown> | null
  /** In the order of `docs/guard-a-backend/tokens.md`, up to the first that fails. */
  readonly checks: readonly TokenCheck[]
}

/**
 * Decodes a token and, if you pass a secret, verifies it by the rules of `auth.verify`, without revocation. Does not throw for a
 * bad token. Show the result only to an operator: unlike an error, it contains the claims, even of a token that is refused.
 *
 * @example
 * ```ts
 * import { inspectToken } from '@gatehouse/sdk/inspect'
 *
 * const inspection = await inspectToken(token, { secrets: [secret] })
 * console.log(inspection)
 * ```
 */
export async function inspectToken(token: string, options: InspectOptions = {}): Promise<Inspection> {
  const material = { secrets: options.secrets ?? [], maxTokenBytes: MAX_TOKEN_BYTES }
  const { keys, readText } = await createKeyring(material, openNodeKeys(material)).open()
  const verifies = keys.length > 0
  const read = () => readPayload(token, readText, createPayloadParser())
  const checks: TokenCheck[] = []
  let header: Record<string, unknown> | null = null
  let valid: boolean | null = false
  try {
    await record(checks, 'size', () => checkSize(token, MAX_TOKEN_BYTES), `${token.length} bytes`)
    const members = await record(checks, 'form', () => readHeader(token, readText))
    header = members
    if (verifies) {
      await record(checks, 'header', () => checkHeader(members))
      const answers = Promise.all(trySignature(token, keysNamed(members, keys)))
      await record(
        checks,
        'signature',
        async () => checkSignature(token, await answers, keys, readText, material.secrets),
        describeKeys(members, keys),
      )
    }
    const payload = await record(checks, 'payload', read)
    if (verifies) await checkClaims(checks, payload, options)
    valid = verifies || null
  } catch (error) {
    if (!AuthError.is(error)) throw error
  }
  return { valid, header, claims: header && claimsOf(read), checks }
}

/** Runs a check and adds its result to the list. A failed check adds the hint of its error and ends the inspection. */
async function record<Value>(
  checks: TokenCheck[],
  name: TokenCheck['name'],
  check: () => Value | Promise<Value>,
  detail?: string,
): Promise<Value> {
  try {
    const value = await check()
    checks.push({ name, ok: true, ...(detail && { detail }) })
    return value
  } catch (error) {
    if (AuthError.is(error)) {
      const { code, message, hint = message } = error
      checks.push({ name, ok: false, code, detail: hint })
    }
    throw error
  }
}

async function checkClaims(checks: TokenCheck[], payload: Payload, options: InspectOptions): Promise<void> {
  const { aud, iss, app_code, app_id } = payload.claims
  const { appCode, appId, issuer = DEFAULT_ISSUER, now = Date.now } = options
  const ownAudience = typeof aud === 'string' ? aud : ''
  const expected = { appCode: appCode ?? ownAudience, appId, issuer, clockToleranceSec: CLOCK_TOLERANCE_SECONDS, now }
  // The service can also be configured to issue tokens without an app. Every app refuses them, as it should.
  const isOfNoApp = appCode === undefined && aud === iss && app_code === undefined && app_id === undefined
  for (const [name, check] of claimRules) {
    const isLeftOut = name === 'app' && isOfNoApp
    const detail = isLeftOut ? 'none: no app accepts it' : describe(name, payload, expected)
    await record(checks, name, () => isLeftOut || check(payload, expected), detail)
  }
}

/** Values that explain the result of a rule, besides the claims. */
function describe(
  name: ClaimRule,
  { claims, lists }: Payload,
  { issuer, appCode, appId, now }: ClaimExpectations,
): string | undefined {
  switch (name) {
    case 'times':
      return describeTimes(claims, Math.floor(now() / 1000))
    case 'issuer':
      return `expected ${issuer}`
    case 'audience':
      return `expected ${appCode}`
    case 'claims':
      return lists && `roles ${lists.roles.length}, permissions ${lists.permissions.length}`
    case 'app':
      return `expected ${[appCode, appId].filter(Boolean).join(' ')}`
  }
}

function describeTimes(claims: Record<string, unknown>, now: number): string {
  const times = ['exp', 'nbf', 'iat'].flatMap((name) => {
    const time = claims[name]
    if (typeof time !== 'number') return []
    return [time > now ? `${name} in ${time - now} s` : `${name} ${now - time} s ago`]
  })
  return times.join(', ')
}

function describeKeys({ kid }: Record<string, unknown>, keys: readonly SecretKey[]): string {
  const ids = keys.map((key) => key.kid)
  return typeof kid === 'string' && ids.includes(kid)
    ? `kid ${kid}, of a given secret`
    : `its kid matches no given secret (${ids.join(', ')})`
}

function claimsOf(read: () => Payload): Record<string, unknown> | null {
  try {
    return read().claims
  } catch {
    return null
  }
}
