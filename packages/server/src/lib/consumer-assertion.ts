import { hkdfSync, type KeyObject } from 'node:crypto'
import {
  CLOCK_TOLERANCE_SECONDS,
  CONSUMER_KEY_BYTES,
  CONSUMER_KEY_INFO,
  CONSUMER_TOKEN_SECONDS,
  CONSUMER_TOKEN_TYPE,
} from '@gatehouse/sdk/protocol'
import type { TokenFault } from './access-token.ts'
import { keyOf, openJwt } from './hs256.ts'

/** What a consumer says of itself when it asks for the revocations of its app. */
export interface ConsumerClaims {
  appCode: string
  /** The key ids of the secrets that this consumer accepts, sorted and unique. Empty if it does not say. */
  kids: string[]
}

/** An SDK holds two secrets; more would only fill the table of what was seen. */
const maxKids = 4
const kidForm = /^[0-9a-f]{8}$/
const maxAppCode = 100

/** Verifies the assertions of consumers, which hold one of our secrets. */
export class ConsumerAssertions {
  readonly #keys: readonly KeyObject[]

  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => keyOf(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, CONSUMER_KEY_BYTES)))
  }

  /** The claims of an assertion that was signed with a key of ours and whose times hold at `nowMs`. */
  verify(assertion: string, nowMs: number): { claims: ConsumerClaims } | { fault: TokenFault } {
    const opened = openJwt(assertion, ({ payload }) => this.#keysFor(() => payload().sub))
    if (opened?.header.typ !== CONSUMER_TOKEN_TYPE) return { fault: 'invalid' }
    const { sub, iat, exp, kids = [] }: Record<string, unknown> = opened.payload
    if (!isSeconds(iat) || !isSeconds(exp) || exp <= iat || exp - iat > CONSUMER_TOKEN_SECONDS) return { fault: 'invalid' }
    const now = Math.floor(nowMs / 1000)
    if (iat > now + CLOCK_TOLERANCE_SECONDS) return { fault: 'invalid' }
    if (typeof sub !== 'string' || sub === '' || sub.length > maxAppCode || !isKids(kids)) return { fault: 'invalid' }
    if (exp <= now) return { fault: 'expired' }
    return { claims: { appCode: sub, kids: [...new Set(kids)].sort() } }
  }

  /** The keys that a consumer of this app may sign with. All apps share the secrets of this deployment. */
  #keysFor(_appCode: () => string | undefined): readonly KeyObject[] {
    return this.#keys
  }
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isKids(value: unknown): value is string[] {
  const kids: unknown[] | undefined = Array.isArray(value) ? value : undefined
  return kids !== undefined && kids.length <= maxKids && kids.every((kid) => typeof kid === 'string' && kidForm.test(kid))
}
