import { nodeTextReader, type TextReader, webTextReader } from './base64url.ts'
import { checkClaims, createPayloadParser, type Payload, parseObject } from './claims.ts'
import type { Config } from './config.ts'
import { AuthError, configInvalid } from './errors.ts'
import type { NodeBuiltins } from './node-builtins.ts'
import { TokenPrincipal } from './principal.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import { SeenTokens } from './seen-tokens.ts'
import { openNodeKey, openWebKey, type SigningKey } from './signing-key.ts'

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
  readonly #parse = createPayloadParser()
  readonly #readText: TextReader
  readonly #seen: SeenTokens | undefined
  readonly #nodeKeys: readonly SigningKey<boolean>[] | undefined
  #webKeys: readonly SigningKey<Promise<boolean>>[] | undefined

  /** Without `node`, WebCrypto is used, and `verifySync` is not to be had. `feed` refuses what was revoked. */
  constructor(config: Config, node: NodeBuiltins | undefined, feed?: Pick<RevocationFeed, 'check'>) {
    const { secrets, maxTokenBytes, cacheTokens } = config
    this.#config = config
    this.#feed = feed
    this.#seen = cacheTokens ? new SeenTokens(cacheTokens) : undefined
    this.#readText = node ? nodeTextReader(node, maxTokenBytes) : webTextReader
    this.#nodeKeys = node && secrets.map((secret) => openNodeKey(node, secret, maxTokenBytes))
  }

  /** Whether `verifySync` can be called. */
  get synchronous(): boolean {
    return this.#nodeKeys !== undefined
  }

  /** The ids of the accepted secrets; through WebCrypto they are known from the first token on. */
  get kids(): string[] {
    return (this.#nodeKeys ?? this.#webKeys ?? []).map(({ kid }) => kid)
  }

  verifySync(token: unknown): TokenPrincipal {
    if (!this.#nodeKeys) throw configInvalid('verifySync needs Node')
    checkSize(token, this.#config)
    const seen = this.#seen?.get(token)
    if (seen) return this.#admit(seen)
    const layout = layOut(token, this.#nodeKeys, this.#readText)
    let signed = false
    for (const key of layout.keys) {
      // Every key is tried, whichever fits, so that time tells nothing about them.
      if (key.matches(token, layout.payloadEnd)) signed = true
    }
    return this.#read(token, layout, signed)
  }

  /** Through WebCrypto, whatever there is. */
  async verify(token: unknown): Promise<TokenPrincipal> {
    checkSize(token, this.#config)
    const seen = this.#seen?.get(token)
    if (seen) return this.#admit(seen)
    // Opened with the first token, for Workers forbid such work while a module loads.
    this.#webKeys ??= await Promise.all(this.#config.secrets.map(openWebKey))
    const layout = layOut(token, this.#webKeys, this.#readText)
    const answers = await Promise.all(layout.keys.map((key) => key.matches(token, layout.payloadEnd)))
    return this.#read(token, layout, answers.includes(true))
  }

  #read(token: string, { payloadStart, payloadEnd }: Layout<unknown>, signed: boolean): TokenPrincipal {
    // A token that is no token at all is told from a forged one, for whoever reads the log.
    if (!signed && wellFormed.test(token)) throw new AuthError('TOKEN_SIGNATURE', { hint: 'JWT_ACCESS_SECRET' })
    if (!signed) throw malformed('token')
    let payload: Payload
    try {
      payload = this.#parse(this.#readText(token.slice(payloadStart, payloadEnd)))
    } catch {
      throw malformed('payload')
    }
    const principal = this.#admit(payload)
    this.#seen?.add(token, payload)
    return principal
  }

  /** What is checked of a token each time it comes. */
  #admit(payload: Payload): TokenPrincipal {
    checkClaims(payload, this.#config)
    this.#feed?.check(payload.claims)
    return new TokenPrincipal(payload.claims, payload.lists)
  }
}

function checkSize(token: unknown, { maxTokenBytes }: Config): asserts token is string {
  if (token === undefined || token === null || token === '') throw new AuthError('TOKEN_MISSING')
  if (typeof token !== 'string') throw malformed('token')
  // Characters are bytes here: a token that holds anything but ASCII is refused further on.
  if (token.length > maxTokenBytes) throw new AuthError('TOKEN_TOO_LARGE', { hint: 'maxTokenBytes' })
}

function layOut<Key extends { kid: string; prefix: string }>(
  token: string,
  keys: readonly Key[],
  readText: TextReader,
): Layout<Key> {
  const payloadEnd = token.lastIndexOf('.')
  // The header as the service writes it, compared as text: this settles algorithm, type and key, and parses nothing.
  for (const key of keys) {
    const payloadStart = key.prefix.length
    if (payloadEnd >= payloadStart && token.startsWith(key.prefix)) return { payloadStart, payloadEnd, keys: [key] }
  }

  if (!wellFormed.test(token)) throw malformed('token')
  const headerEnd = token.indexOf('.')
  let header: Record<string, unknown>
  try {
    header = parseObject(readText(token.slice(0, headerEnd)))
  } catch {
    throw malformed('header')
  }
  const { alg, typ = 'JWT', kid, crit, b64 } = header
  if (alg !== 'HS256' || typ !== 'JWT' || crit !== undefined || b64 !== undefined) throw new AuthError('TOKEN_ALG')
  const named = keys.find((key) => key.kid === kid)
  // A kid is a hint, not a claim: without a known one, any accepted secret may have signed.
  return { payloadStart: headerEnd + 1, payloadEnd, keys: named ? [named] : keys }
}

function malformed(part: 'token' | 'header' | 'payload'): AuthError {
  return new AuthError('TOKEN_MALFORMED', { hint: part })
}
