import { CLOCK_TOLERANCE_SECONDS, CONSUMER_TOKEN_SECONDS, CONSUMER_TOKEN_TYPE } from '@gatehouse/sdk/protocol'
import type { TokenFault } from './access-token.ts'
import { openJwt } from './hs256.ts'
import type { Keyrings } from './keyrings.ts'

/** What a consumer says about itself when it asks for the revocations of its app. */
interface ConsumerClaims {
  appCode: string
  /** The key ids of the secrets that this consumer accepts, sorted and unique. Empty if it does not say. */
  kids: string[]
  /** Whether the app's own key signed this. A backend that holds the shared secret can sign for every app without such a key. */
  hasOwnKey: boolean
}

/** An SDK holds two secrets. More would only fill the table of secrets that were seen. */
const maxKids = 4
const kidForm = /^[0-9a-f]{8}$/
const maxAppCode = 100

/** The claims of an assertion that was signed with a secret of the app it names, and whose times are valid at `nowMs`. */
export function verifyAssertion(
  assertion: string,
  nowMs: number,
  keyrings: Keyrings,
): { claims: ConsumerClaims } | { fault: TokenFault } {
  const opened = openJwt(assertion, ({ payload }) => keyrings.ofCode(() => payload().sub).map(({ assertionKey }) => assertionKey))
  if (opened?.header.typ !== CONSUMER_TOKEN_TYPE) return { fault: 'invalid' }
  const { sub, iat, exp, kids = [] }: Record<string, unknown> = opened.payload
  if (!isSeconds(iat) || !isSeconds(exp) || exp <= iat || exp - iat > CONSUMER_TOKEN_SECONDS) return { fault: 'invalid' }
  const now = Math.floor(nowMs / 1000)
  if (iat > now + CLOCK_TOLERANCE_SECONDS) return { fault: 'invalid' }
  if (typeof sub !== 'string' || sub === '' || sub.length > maxAppCode || !isKids(kids)) return { fault: 'invalid' }
  if (exp <= now) return { fault: 'expired' }
  const isShared = openJwt(assertion, () => keyrings.shared.map(({ assertionKey }) => assertionKey)) !== undefined
  return { claims: { appCode: sub, kids: [...new Set(kids)].sort(), hasOwnKey: !isShared } }
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isKids(value: unknown): value is string[] {
  const kids: unknown[] | undefined = Array.isArray(value) ? value : undefined
  return kids !== undefined && kids.length <= maxKids && kids.every((kid) => typeof kid === 'string' && kidForm.test(kid))
}
