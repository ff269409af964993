import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** What a token is held against; docs/tokens.md says how. */
export interface TokenExpectations {
  /** Undefined: nothing after the form is checked. */
  secret: string | undefined
  issuer: string
  /** Undefined: the token must only agree with itself. */
  app: string | undefined
  /** The clock, in milliseconds since 1970. */
  now: number
}

export interface Check {
  name: string
  ok: boolean
  /** As docs/tokens.md spells it. */
  code?: string
  detail?: string
}

export interface Inspection {
  /** Undefined without a secret: nothing is known then. */
  valid: boolean | undefined
  header: Record<string, unknown> | null
  claims: Record<string, unknown> | null
  /** In the order of docs/tokens.md, up to the first that fails. */
  checks: Check[]
}

const maxTokenBytes = 8_192
const toleranceSeconds = 5

class Refused extends Error {
  readonly code: string
  constructor(code: string, detail: string) {
    super(detail)
    this.code = code
  }
}

/** Decodes a token, and with a secret verifies it, as a consumer would that does not follow revocations. */
export function inspectToken(token: string, expected: TokenExpectations): Inspection {
  const inspection: Inspection = { valid: undefined, header: null, claims: null, checks: [] }
  const [headerPart = '', payloadPart = '', signaturePart = ''] = token.split('.')
  const { secret } = expected
  // Shown whatever the checks say: a token that fails one is what is looked into here.
  const claims = () => inspection.claims ?? {}
  const steps: [name: string, check: () => string | undefined][] = [
    ['size', () => checkSize(token)],
    [
      'form',
      () => {
        if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) throw malformed('not three parts of base64url')
        inspection.header = decode(headerPart, 'the header')
        return undefined
      },
    ],
  ]
  const payload: (typeof steps)[number] = [
    'payload',
    () => {
      inspection.claims ??= decode(payloadPart, 'the payload')
      return undefined
    },
  ]
  if (secret === undefined) steps.push(payload)
  else {
    steps.push(
      ['header', () => checkHeader(inspection.header!)],
      ['signature', () => checkSignature(`${headerPart}.${payloadPart}`, signaturePart, inspection.header!, secret)],
      payload,
      ['times', () => checkTimes(claims(), Math.floor(expected.now / 1000))],
      ['issuer', () => checkIssuer(claims(), expected.issuer)],
      ['audience', () => checkAudience(claims(), expected.app)],
      ['claims', () => checkClaims(claims())],
      ['app', () => checkApp(claims(), expected.app)],
    )
  }
  for (const [name, check] of steps) {
    try {
      const detail = check()
      inspection.checks.push({ name, ok: true, ...(detail === undefined ? {} : { detail }) })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      inspection.checks.push({ name, ok: false, code: error.code, detail: error.message })
      break
    }
  }
  inspection.claims ??= inspection.header && decodable(payloadPart)
  const hasPassed = inspection.checks.every(({ ok }) => ok)
  return { ...inspection, valid: hasPassed && secret === undefined ? undefined : hasPassed }
}

function malformed(detail: string): Refused {
  return new Refused('TOKEN_MALFORMED', detail)
}

function wrongClaim(name: string): Refused {
  return new Refused('TOKEN_CLAIMS', `${name} is missing or of the wrong type`)
}

function checkSize(token: string): string {
  const bytes = Buffer.byteLength(token)
  if (bytes > maxTokenBytes) throw new Refused('TOKEN_TOO_LARGE', `${bytes} bytes; consumers take ${maxTokenBytes}`)
  return `${bytes} bytes`
}

/** The JSON object that a part spells, in the one spelling that counts. */
function decode(part: string, what: string): Record<string, unknown> {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part) throw malformed(`${what} is not spelled as base64url must be`)
  const value = parse(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(`${what} is no JSON object`)
  return value as Record<string, unknown>
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    // The parser's own words would quote the token.
    return undefined
  }
}

function decodable(part: string): Record<string, unknown> | null {
  try {
    return decode(part, 'the payload')
  } catch {
    return null
  }
}

function checkHeader({ alg, typ, crit, b64 }: Record<string, unknown>): string {
  if (alg !== 'HS256') throw new Refused('TOKEN_ALG', 'alg must be HS256')
  if (typ !== undefined && typ !== 'JWT') throw new Refused('TOKEN_ALG', 'typ must be JWT, or left out')
  if (crit !== undefined || b64 !== undefined) throw new Refused('TOKEN_ALG', 'crit and b64 are not accepted')
  return 'HS256'
}

function checkSignature(signed: string, signature: string, { kid }: Record<string, unknown>, secret: string): string {
  const own = createHash('sha256').update(`gatehouse-kid:${secret}`).digest('hex').slice(0, 8)
  const right = createHmac('sha256', secret).update(signed).digest()
  const given = Buffer.from(signature, 'base64url')
  const isRight = given.length === right.length && timingSafeEqual(given, right) && given.toString('base64url') === signature
  if (isRight) return kid === own ? `by the secret of kid ${own}` : `by this secret, though its kid is ${own}`
  const hint = kid === own ? 'it was changed, or forged' : `it names another secret than this one, whose kid is ${own}`
  throw new Refused('TOKEN_SIGNATURE', hint)
}

function checkTimes({ exp, nbf, iat }: Record<string, unknown>, now: number): string {
  if (!isInteger(exp)) throw wrongClaim('exp')
  if (now >= exp + toleranceSeconds) throw new Refused('TOKEN_EXPIRED', `it ended ${now - exp} s ago`)
  for (const [name, begin] of [
    ['nbf', nbf],
    ['iat', iat],
  ] as const) {
    if (name === 'nbf' && begin === undefined) continue
    if (!isInteger(begin)) throw wrongClaim(name)
    if (begin > now + toleranceSeconds)
      throw new Refused('TOKEN_NOT_YET_VALID', `${name} lies ${begin - now} s ahead of this clock`)
  }
  return `${exp - now} s left`
}

function checkIssuer({ iss }: Record<string, unknown>, issuer: string): string {
  if (iss !== issuer) throw new Refused('TOKEN_ISSUER', `it is not from ${issuer}`)
  return issuer
}

function checkAudience({ aud }: Record<string, unknown>, app: string | undefined): string {
  if (typeof aud !== 'string') throw new Refused('TOKEN_AUDIENCE', 'aud must be a string')
  if (app !== undefined && aud !== app) throw new Refused('TOKEN_AUDIENCE', `it is for ${aud}, not for ${app}`)
  return aud
}

function checkClaims(claims: Record<string, unknown>): string {
  const { uid, tv, namespace, org_id, org_slug, roles = [], permissions = [] } = claims
  if (typeof uid !== 'string' || uid === '') throw wrongClaim('uid')
  if (!isInteger(tv) || tv < 0) throw wrongClaim('tv')
  if (!isListOfStrings(roles)) throw wrongClaim('roles')
  if (!isListOfStrings(permissions)) throw wrongClaim('permissions')
  for (const name of ['sid', 'email', 'first_name', 'last_name', 'jti', 'namespace', 'org_id', 'org_slug']) {
    const isNameOfUser = name === 'first_name' || name === 'last_name'
    if (claims[name] !== undefined && typeof claims[name] !== 'string' && !(isNameOfUser && claims[name] === null))
      throw wrongClaim(name)
  }
  if (namespace === '') throw wrongClaim('namespace')
  if (org_id === '') throw wrongClaim('org_id')
  if ((org_id === undefined) !== (org_slug === undefined)) throw wrongClaim('org_slug')
  return `roles ${roles.length}, permissions ${permissions.length}`
}

function checkApp({ app_code, app_id, aud, iss }: Record<string, unknown>, app: string | undefined): string {
  // A login without an app (AUTH_REQUIRE_APP_CODE=false) gives a token that no app takes, and that is right.
  if (app === undefined && aud === iss && app_code === undefined && app_id === undefined) return 'none: no app takes it'
  if (app_code !== aud) throw new Refused('APP_MISMATCH', 'app_code and aud differ')
  if (typeof app_id !== 'string' || app_id === '') throw new Refused('APP_MISMATCH', 'it has no app_id')
  return app_code as string
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}
