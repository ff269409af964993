import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { SsoLogin, type SsoLoginRow } from '../../models/sso-login.ts'
import type { AnsweredLogin } from './exchange.ts'
import { isVerifierOf, openFor } from './pkce-state.ts'

/**
 * The login that a code stands for, while it is good, for whoever holds the verifier. A wrong verifier spends nothing: it cannot be
 * guessed, and whoever saw the code alone could spoil the login. Throws `invalid_sso_code`, whatever is wrong.
 */
export async function getAnsweredLogin(deps: Deps, code: string, codeVerifier: string): Promise<AnsweredLogin> {
  const found = await SsoLogin.findByCode(deps.db, hashOpaqueToken(code), deps.clock())
  if (!found || !isVerifierOf(codeVerifier, found.code_challenge)) throw invalidCode()
  const { claims_box, ...login } = found
  return { login, profile: openFor(deps, login.state_hash, claims_box) }
}

/** Spends the code in the transaction of what it buys: of any number of uses at once one passes. Throws `invalid_sso_code`. */
export async function spendCode(deps: Deps<Tx>, { state_hash }: SsoLoginRow): Promise<void> {
  if (!(await SsoLogin.spend(deps.db, state_hash, deps.clock()))) throw invalidCode()
}

export function invalidCode(): ApiError {
  return new ApiError('invalid_sso_code', {
    detail: 'The code is unknown, expired or used, or the verifier or the session is not its own',
  })
}
