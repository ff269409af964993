import { nodeTextReader, type TextReader, webTextReader } from './base64url.ts'
import { checkClaims, PayloadParser, parseObject } from './claims.ts'
import type { Config } from './config.ts'
import { AuthError } from './errors.ts'
import type { NodeBuiltins } from './node-builtins.ts'
import { TokenPrincipal } from './principal.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import { NodeSigningKey, type SigningKey, WebSigningKey } from './signing-key.ts'

/** Where the parts of a token lie, and the keys that may have signed it. */
interface Layout<Key> {
  readonly payloadStart: number
  readonly payloadEnd: number
  readonly keys: readonly Key[]
}

const wellFormed = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Verifies access tokens, all but what the app itself is asked, in the order of `docs/tokens.md`:
 * size, header, signature, claims, app, revocation. Nothing of a token is believed before its signature has been checked.
 */
export class TokenVerifier {
  readonly #config: Config
  readonly #feed: Pick<RevocationFeed, 'check'> | undefined
  readonly #payloads = new PayloadParser()
  readonly #readText: TextReader
  readonly #nodeKeys: readonly NodeSigningKey[] | undefined
  #webKeys: readonly WebSigningKey[] | undefined

  /** Without `node`, WebCrypto is used, and `verifySync` is not to be had. `feed` refuses what was revoked. */
  constructor(config: Config, node: NodeBuiltins | undefined, feed?: Pick<RevocationFeed, 'check'>) {
    this.#config = config
    this.#feed = feed
    this.#readText = node ? nodeTextReader(node, config.maxTokenBytes) : webTextReader
    this.#nodeKeys = node && config.secrets.map((secret) => new NodeSigningKey(node, secret, config.maxTokenBytes))
  }

  /** Whether `verifySync` can be called. */
  get synchronous(): boolean {
    return this.#nodeKeys !== undefined
  }

  /** The ids of the accepted secrets; through WebCrypto they are known from the first token on. */
  get kids(): string[] {
    return (this.#nodeKeys ?? this.#webKeys ?? []).map((key) => key.kid)
  }

  verifySync(token: unknown): TokenPrincipal {
    if (this.#nodeKeys === undefined) throw new AuthError('CONFIG_INVALID', { message: 'verifySync needs Node' })
    checkSize(token, this.#config)
    const { keys, payloadStart, payloadEnd } = layOut(token, this.#nodeKeys, this.#readText)
    let signed = false
    for (const key of keys) {
      // Every key is tried, whichever fits, so that time tells nothing about them.
      if (key.matches(token, payloadEnd)) signed = true
    }
    if (!signed) throw wrongSignature(token)
    return this.#principal(token.slice(payloadStart, payloadEnd))
  }

  /** Through WebCrypto, whatever there is. */
  async verify(token: unknown): Promise<TokenPrincipal> {
    checkSize(token, this.#config)
    // Opened with the first token, for Workers forbid such work while a module loads.
    this.#webKeys ??= await Promise.all(this.#config.secrets.map((secret) => WebSigningKey.open(secret)))
    const { keys, payloadStart, payloadEnd } = layOut(token, this.#webKeys, this.#readText)
    const answers = await Promise.all(keys.map((key) => key.matches(token, payloadEnd)))
    if (!answers.includes(true)) throw wrongSignature(token)
    return this.#principal(token.slice(payloadStart, payloadEnd))
  }

  #principal(encodedPayload: string): TokenPrincipal {
    const text = this.#readText(encodedPayload)
    const payload = text === undefined ? undefined : this.#payloads.parse(text)
    if (payload === undefined) throw malformed('payload')
    const { claims, lists } = checkClaims(payload, this.#config)
    this.#feed?.check(claims)
    return new TokenPrincipal(claims, lists)
  }
}

function checkSize(token: unknown, { maxTokenBytes }: Config): asserts token is string {
  if (token === undefined || token === null || token === '') throw new AuthError('TOKEN_MISSING')
  if (typeof token !== 'string') throw malformed('token')
  // Characters are bytes here: a token that holds anything but ASCII is refused further on.
  if (token.length > maxTokenBytes) throw new AuthError('TOKEN_TOO_LARGE', { hint: `maxTokenBytes is ${maxTokenBytes}` })
}

function layOut<Key extends SigningKey>(token: string, keys: readonly Key[], readText: TextReader): Layout<Key> {
  const payloadEnd = token.lastIndexOf('.')
  // The header as the service writes it, compared as text: this settles algorithm, type and key, and parses nothing.
  for (const key of keys) {
    const payloadStart = key.prefix.length
    if (payloadEnd >= payloadStart && token.startsWith(key.prefix)) return { payloadStart, payloadEnd, keys: [key] }
  }

  if (!wellFormed.test(token)) throw malformed('token')
  const headerEnd = token.indexOf('.')
  const header = parseObject(readText(token.slice(0, headerEnd)) ?? '')
  if (header === undefined) throw malformed('header')
  const { alg, typ = 'JWT', kid, crit, b64 } = header
  if (alg !== 'HS256' || typ !== 'JWT' || crit !== undefined || b64 !== undefined)
    throw new AuthError('TOKEN_ALG', { hint: 'alg must be HS256, typ JWT or absent; no crit, no b64' })
  const named = keys.find((key) => key.kid === kid)
  // A kid is a hint, not a claim: without a known one, any accepted secret may have signed.
  return { payloadStart: headerEnd + 1, payloadEnd, keys: named ? [named] : keys }
}

/** A token that is no token at all is told from a forged one, for whoever reads the log. */
function wrongSignature(token: string): AuthError {
  return wellFormed.test(token)
    ? new AuthError('TOKEN_SIGNATURE', { hint: 'forged, or JWT_ACCESS_SECRET is not that of the service' })
    : malformed('token')
}

function malformed(part: 'token' | 'header' | 'payload'): AuthError {
  return new AuthError('TOKEN_MALFORMED', { hint: `the ${part}` })
}
