import type { Auth, LocalAuth } from './auth.ts'
import { AuthError, configInvalid } from './errors.ts'
import { partsOf } from './hidden-calls.ts'
import type { Principal } from './principal.ts'
import { checkOptions, type ProofRequirements, proofChecks } from './requirements.ts'
import { show } from './show.ts'

/** An `auth` of this copy of the package, or of another. */
export type AnyAuth<Name extends string = string> = Auth<Name> & Partial<Pick<LocalAuth, typeof partsOf>>

/**
 * For handlers and for guards that you write yourself: throws `STEP_UP_REQUIRED` unless the user has proven who they are as
 * required. `refusal` and the guards answer it with 401 and a challenge (RFC 9470), which `auth.stepUp` in the browser reads. A
 * machine token holds no proof, so it is refused too. Throws `CONFIG_INVALID` for a misspelt requirement, or none.
 *
 * @example
 * ```ts
 * if (amount > 1000) assertFreshProof(auth, principal, { maxAgeSec: 300, amr: 'mfa' })
 * ```
 */
export function assertFreshProof<Name extends string>(
  auth: Auth<Name>,
  principal: Principal<NoInfer<Name>>,
  requirements: ProofRequirements,
): void {
  checkOptions('assertFreshProof', requirements, proofChecks)
  if (Object.keys(requirements).length === 0) throw configInvalid('assertFreshProof needs maxAgeSec or amr')
  assertProof(auth, principal, requirements)
}

/** Throws `STEP_UP_REQUIRED`, with the challenge of RFC 9470, unless the claims of the token meet the requirements. */
export function assertProof(
  auth: AnyAuth<never>,
  { claims: { auth_time, amr: shown } }: Pick<Principal, 'claims'>,
  { maxAgeSec, amr }: ProofRequirements,
): void {
  const { now = Date.now, clockToleranceSec = 0 } = auth[partsOf]?.().config ?? {}
  const ageSec = Math.floor(now() / 1000) - Number(auth_time)
  // Both are written so that a claim that is missing, or of another type, does not pass.
  const isRecent = !maxAgeSec || (Number.isInteger(auth_time) && ageSec <= maxAgeSec + clockToleranceSec)
  const isStrong = !amr || (Array.isArray(shown) && shown.includes(amr))
  if (isRecent && isStrong) return
  // Says all that is needed, so that one proof is enough.
  const wanted = `${maxAgeSec ? `, max_age="${maxAgeSec}"` : ''}${amr ? `, acr_values="${amr}"` : ''}`
  throw new AuthError('STEP_UP_REQUIRED', {
    hint: `expected a sign-in${wanted}; got ${auth_time ? `one ${ageSec} s ago` : 'no auth_time'}, amr ${show(`${shown ?? ''}`)}`,
    headers: { 'WWW-Authenticate': `Bearer realm="gatehouse", error="insufficient_user_authentication"${wanted}` },
  })
}
