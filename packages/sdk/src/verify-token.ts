import { checkClaims, createPayloadParser, type Payload, parseObject } from './claims.ts'
import type { Config } from './config.ts'
import { type AuthError, configInvalid, refused } from './errors.ts'
import type { OpenKeys, Platform, SigningKey, TextReader } from './platform.ts'
import { TokenPrincipal } from './principal.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import { SeenTokens } from './seen-tokens.ts'

/** Verifies access tokens, all but what the app itself is asked. */
export interface Verifier {
  /** The ids of the accepted secrets; through WebCrypto they are known from the first token on. */
  readonly kids: string[]
  /** Through Node if that is at hand, or else through WebCrypto. */
  verify(token: unknown): TokenPrincipal | Promise<TokenPrincipal>
  verifySync(token: unknown): TokenPrincipal
}

const wellFormed = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Verifies in the order of `docs/tokens.md`: size, header, signature, claims, app, revocation. Nothing of a token is believed before
 * its signature has been checked. Without `node`, WebCrypto is used, and `verifySync` is not to be had. `feed` refuses what was revoked.
 */
export function createVerifier(
  config: Config,
  node: Platform<false> | undefined,
  feed?: Pick<RevocationFeed, 'check'>,
): Verifier {
  const { maxTokenBytes, cacheTokens } = config
  const parse = createPayloadParser()
  const seen = cacheTokens ? new SeenTokens(cacheTokens) : undefined
  let opened = node?.openKeys(config)

  /** What is checked of a token each time it comes. */
  const admit = (payload: Payload) => {
    checkClaims(payload, config)
    feed?.check(payload.claims)
    return new TokenPrincipal(payload.claims, payload.lists)
  }
  const check = (token: unknown, { keys, readText }: OpenKeys) => {
    if ((token ?? '') === '') throw refused('TOKEN_MISSING')
    if (typeof token !== 'string') throw malformed('token')
    // Characters are bytes here: a token that holds anything but ASCII is refused further on.
    if (token.length > maxTokenBytes) throw refused('TOKEN_TOO_LARGE', 'maxTokenBytes')
    const known = seen?.get(token)
    if (known) return admit(known)

    const payloadEnd = token.lastIndexOf('.')
    const finish = (answers: readonly unknown[]) => {
      // A token that is no token at all is told from a forged one, for whoever reads the log.
      if (!answers.includes(true))
        throw wellFormed.test(token) ? refused('TOKEN_SIGNATURE', 'JWT_ACCESS_SECRET') : malformed('token')
      const payload = readPart(token.slice(token.indexOf('.') + 1, payloadEnd), 'payload', readText, parse)
      const principal = admit(payload)
      seen?.add(token, payload)
      return principal
    }
    // Every key is tried, whichever fits, so that time tells nothing about them.
    const answers = keysFor(token, keys, readText).map((key) => key.signs(token, payloadEnd))
    return node ? finish(answers) : Promise.all(answers).then(finish)
  }

  return {
    get kids() {
      return (opened?.keys ?? []).map(({ kid }) => kid)
    },
    verify(token) {
      if (opened) return check(token, opened)
      // Opened with the first token, for Workers forbid such work while a module loads.
      return openWebKeys(config).then((keys) => {
        opened = keys
        return check(token, keys)
      })
    },
    verifySync(token) {
      if (!node) throw configInvalid('verifySync needs Node')
      return check(token, opened!) as TokenPrincipal
    },
  }
}

async function openWebKeys(config: Config): Promise<OpenKeys> {
  return (await import('./web-platform.ts')).webPlatform.openKeys(config)
}

/** The keys that may have signed a token, by its header. */
function keysFor(token: string, keys: readonly SigningKey[], readText: TextReader): readonly SigningKey[] {
  // The header as the service writes it, compared as text: this settles algorithm, type and key, and parses nothing.
  for (const key of keys) if (token.startsWith(key.prefix)) return [key]
  if (!wellFormed.test(token)) throw malformed('token')
  const { alg, typ = 'JWT', kid, crit, b64 } = readPart(token.slice(0, token.indexOf('.')), 'header', readText, parseObject)
  if (alg !== 'HS256' || typ !== 'JWT' || crit !== undefined || b64 !== undefined) throw refused('TOKEN_ALG')
  // A kid is a hint, not a claim: without a known one, any accepted secret may have signed.
  const named = keys.filter((key) => key.kid === kid)
  return named.length > 0 ? named : keys
}

function readPart<Part>(encoded: string, part: string, readText: TextReader, parse: (text: string) => Part): Part {
  try {
    return parse(readText(encoded))
  } catch {
    // What `JSON.parse` says would quote the token.
    throw malformed(part)
  }
}

function malformed(part: string): AuthError {
  return refused('TOKEN_MALFORMED', part)
}
