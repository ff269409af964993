import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import type { KeptProof } from '../../lib/proof.ts'
import { SsoLogin, type SsoLoginRow } from '../../models/sso-login.ts'
import type { AnsweredLogin } from './exchange.ts'
import { isVerifierOf, openFor } from './pkce-state.ts'

/**
 * The login that a valid code stands for, if the caller holds its verifier. A wrong verifier does not spend the code: it cannot
 * be guessed, and otherwise anybody who saw the code could spoil the login. Throws `invalid_sso_code`, whatever is wrong.
 */
export async function getAnsweredLogin(deps: Deps, code: string, codeVerifier: string): Promise<AnsweredLogin> {
  const found = await SsoLogin.findByCode(deps.db, hashOpaqueToken(code), deps.clock())
  if (!found || !isVerifierOf(codeVerifier, found.code_challenge)) throw invalidCode()
  const { claims_box, ...login } = found
  return { login, profile: openFor(deps, login.state_hash, claims_box) }
}

/**
 * Spends the code in the same transaction as what it is exchanged for. Of several concurrent uses, only one succeeds. Throws
 * `invalid_sso_code`.
 */
export async function spendCode(deps: Deps<Tx>, { state_hash }: KeptProof<SsoLoginRow>): Promise<void> {
  if (!(await SsoLogin.spend(deps.db, state_hash, deps.clock()))) throw invalidCode()
}

export function invalidCode(): ApiError {
  return new ApiError('invalid_sso_code', {
    detail: 'The code is unknown, expired or used, or the verifier or the session does not belong to it',
  })
}
