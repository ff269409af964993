import { checkAppBinding } from './app-binding.ts'
import { type CheckedPayload, checkClaims, checkTimes, createPayloadParser, type Payload, parseObject } from './claims.ts'
import type { Config } from './config.ts'
import { type AuthError, refused } from './errors.ts'
import type { OpenKeys, SecretKey, TextReader } from './platform.ts'
import { type Principal, TokenPrincipal } from './principal.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import { SeenTokens } from './seen-tokens.ts'
import { kindOf, show } from './show.ts'

/** Verifies an access token, except for asking `isCurrent`: synchronously on Node, otherwise through WebCrypto. */
export type Verify = (token: unknown) => Principal | Promise<Principal>

/** The hint about a request that brings nothing, which does not point to a fault. */
export const MISSING_HINT = 'expected Authorization: Bearer <token>'
const wellFormed = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Returns a verifier. It checks in the order of `docs/guard-a-backend/tokens.md`: size, header, signature, claims, app, revocation.
 * It trusts nothing in a token before its signature has been checked. `feed` refuses revoked tokens.
 */
export function createVerifier(config: Config, feed?: Pick<RevocationFeed, 'check'>): Verify {
  const { maxTokenBytes, cacheTokens, keyring, secrets } = config
  const parse = createPayloadParser()
  const seen = cacheTokens ? new SeenTokens(cacheTokens) : undefined

  const admit = (payload: CheckedPayload) => {
    feed?.check(payload.claims)
    // The kind and the claims of one token go together.
    return new TokenPrincipal(payload) as Principal
  }
  const check = (token: unknown, { keys, readText }: OpenKeys) => {
    checkSize(token, maxTokenBytes)
    const known = seen?.get(token)
    if (known) {
      checkTimes(known, config)
      // The app id may have become known since.
      checkAppBinding(known.claims, config)
      return admit(known)
    }

    const finish = (answers: readonly unknown[]) => {
      checkSignature(token, answers, keys, readText, secrets)
      const payload = readPayload(token, readText, parse)
      checkClaims(payload, config)
      const principal = admit(payload)
      seen?.add(token, payload)
      return principal
    }
    const answers = trySignature(token, keysFor(token, keys, readText))
    return answers[0] instanceof Promise ? Promise.all(answers).then(finish) : finish(answers)
  }

  return (token) => (keyring.opened ? check(token, keyring.opened) : keyring.open().then((keys) => check(token, keys)))
}

/** Stands for a token that was sent without its scheme. It is not verified, because then a mistake would go unnoticed. */
export const UNSCHEMED = Symbol('a token without "Bearer"')

export function checkSize(token: unknown, maxTokenBytes: number): asserts token is string {
  if ((token ?? '') === '') throw refused('TOKEN_MISSING', MISSING_HINT)
  if (token === UNSCHEMED) throw refused('TOKEN_MISSING', `${MISSING_HINT}, got ${UNSCHEMED.description}`)
  if (typeof token !== 'string') throw malformed(kindOf(token))
  // Counts characters as bytes: a token with anything but ASCII is refused later.
  if (token.length > maxTokenBytes)
    throw refused('TOKEN_TOO_LARGE', `expected at most ${maxTokenBytes} characters (maxTokenBytes), got ${token.length}`)
}

/** Returns the keys that may have signed a token, according to its header. */
function keysFor(token: string, keys: readonly SecretKey[], readText: TextReader): readonly SecretKey[] {
  const header = token.slice(0, token.indexOf('.'))
  // Compared as text with what the service writes, which settles algorithm, type and key without parsing. `token.startsWith`
  // would cost a tenth of the verification.
  for (const key of keys) if (key.header === header) return [key]
  const members = readHeader(token, readText)
  checkHeader(members)
  return keysNamed(members, keys)
}

export function readHeader(token: string, readText: TextReader): Record<string, unknown> {
  if (!wellFormed.test(token)) throw malformed(`${token.split('.').length} in ${token.length} characters`)
  return readPart(token.slice(0, token.indexOf('.')), 'header', readText, parseObject)
}

export function checkHeader({ alg, typ = 'JWT', crit, b64 }: Record<string, unknown>): void {
  if (alg !== 'HS256' || typ !== 'JWT' || crit !== undefined || b64 !== undefined)
    throw refused('TOKEN_ALG', `expected alg "HS256", typ "JWT", no crit, no b64, got alg ${show(alg)}, typ ${show(typ)}`)
}

/** A kid is only a hint. Without a known one, any accepted secret may have signed. */
export function keysNamed({ kid }: Record<string, unknown>, keys: readonly SecretKey[]): readonly SecretKey[] {
  const named = keys.filter((key) => key.kid === kid)
  return named.length > 0 ? named : keys
}

/** Tries every key even if one fits, so that the time it takes reveals nothing about them. */
export function trySignature(token: string, keys: readonly SecretKey[]): (boolean | Promise<boolean>)[] {
  const end = token.lastIndexOf('.')
  return keys.map((key) => key.signs(token, end))
}

export function checkSignature(
  token: string,
  answers: readonly unknown[],
  keys: readonly SecretKey[],
  readText: TextReader,
  secrets: readonly string[],
): void {
  if (!answers.includes(true)) throw wrongSignature(token, keys, readText, secrets)
}

/** Returns the error for a forged token. Text that is not a token gets another error, because reading its header throws. */
function wrongSignature(token: string, keys: readonly SecretKey[], readText: TextReader, secrets: readonly string[]): AuthError {
  const { kid } = readHeader(token, readText)
  // Quoted only in the form that the service gives it: any other may contain anything.
  const named = /^[0-9a-f]{8}$/.test(`${kid}`) ? `key ${kid}` : 'no key id'
  const known = keys.map((key) => key.kid)
  const hint = known.includes(`${kid}`)
    ? `${named} did not sign this: it was forged or changed`
    : `expected key ${known.join(' or ')} (JWT_ACCESS_SECRET), got ${named}`
  return refused('TOKEN_SIGNATURE', hint + oddityOf(secrets))
}

/** Names the two common mistakes in env files, which both result in another secret. */
export function oddityOf(secrets: readonly string[]): string {
  const has = (pattern: RegExp) => secrets.some((secret) => pattern.test(secret))
  const oddity = has(/^\s*(["']).*\1\s*$/s) ? 'is in quotes' : has(/^\s|\s$/) ? 'begins or ends with white space' : ''
  return oddity && `; the secret ${oddity}`
}

export function readPayload(token: string, readText: TextReader, parse: (text: string) => Payload): Payload {
  return readPart(token.slice(token.indexOf('.') + 1, token.lastIndexOf('.')), 'payload', readText, parse)
}

function readPart<Part>(encoded: string, part: string, readText: TextReader, parse: (text: string) => Part): Part {
  try {
    return parse(readText(encoded))
  } catch {
    // The message of `JSON.parse` would quote the token.
    throw refused('TOKEN_MALFORMED', `expected the ${part} to be a JSON object in canonical base64url`)
  }
}

function malformed(found: string): AuthError {
  return refused('TOKEN_MALFORMED', `expected three base64url parts, got ${found}`)
}
