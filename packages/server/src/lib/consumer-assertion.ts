import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import type { TokenFault } from './access-token.ts'

/** What a consumer says of itself when it asks for the revocations of its app (decisions 6). */
export interface ConsumerClaims {
  appCode: string
  /** The key ids of the secrets that this consumer accepts, sorted, none twice; empty when it does not say. */
  kids: string[]
}

const type = 'consumer+jwt'
const purpose = 'gatehouse-consumer'
const maxLifeSeconds = 60
/** How far the clock of a consumer may be ahead of ours. */
const clockToleranceSeconds = 5
/** An SDK holds two secrets; more would only fill the table of what was seen. */
const maxKids = 4
const kidForm = /^[0-9a-f]{8}$/
const maxAppCode = 100

/** The key that a consumer signs its assertions with: not the secret itself, so that an assertion is never mistaken for a token. */
function assertionKeyOf(secret: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)))
}

/** Verifies the assertions of consumers, which hold one of our secrets. */
export class ConsumerAssertions {
  readonly #keys: readonly KeyObject[]

  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map(assertionKeyOf)
  }

  /** The claims of an assertion that was signed with a key of ours and whose times hold at `nowMs`. */
  verify(assertion: string, nowMs: number): { claims: ConsumerClaims } | { fault: TokenFault } {
    const payload = this.#open(assertion)
    if (typeof payload !== 'object' || payload === null) return { fault: 'invalid' }
    const { sub, iat, exp, kids = [] } = payload as Record<string, unknown>
    if (!isSeconds(iat) || !isSeconds(exp) || exp <= iat || exp - iat > maxLifeSeconds) return { fault: 'invalid' }
    const now = Math.floor(nowMs / 1000)
    if (iat > now + clockToleranceSeconds) return { fault: 'invalid' }
    if (typeof sub !== 'string' || sub === '' || sub.length > maxAppCode || !isKids(kids)) return { fault: 'invalid' }
    if (exp <= now) return { fault: 'expired' }
    return { claims: { appCode: sub, kids: [...new Set(kids)].sort() } }
  }

  #open(assertion: string): unknown {
    for (const key of this.#keys) {
      try {
        const { header, payload } = jwt.verify(assertion, key, {
          algorithms: ['HS256'],
          complete: true,
          // Judged above, where both times are required.
          ignoreExpiration: true,
          ignoreNotBefore: true,
        })
        return header.typ === type && !('crit' in header) && !('b64' in header) ? payload : undefined
      } catch {
        // Not by this key.
      }
    }
    return undefined
  }
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isKids(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= maxKids && value.every((kid) => typeof kid === 'string' && kidForm.test(kid))
}
