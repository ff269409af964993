import { type Deps, lockUntilCommit } from '../../deps.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertServesApp, findKeptProvider } from '../../resources/sso-providers/get-provider.ts'
import { invalidCode } from './spend-code.ts'
import type { AnsweredLogin, Exchange } from './sso-login.ts'

/**
 * The provider of a login, kept as it is until the transaction ends. Throws `sso_provider_disabled`, `auth_method_not_allowed` when it
 * is not for the app by now, and `invalid_sso_code` when it is gone or another.
 */
export async function keepProvider(deps: Deps, { login, app }: Exchange): Promise<SsoProvider> {
  const provider = await findKeptProvider(deps, login.provider_id)
  if (provider?.issuer !== login.issuer) throw invalidCode()
  assertServesApp(provider, app)
  return provider
}

/**
 * Makes whoever else would link this subject, or register this address, wait until the transaction ends. In this order: whoever knows no
 * subject takes the address alone.
 */
export async function lockSubject(deps: Deps, { login, profile }: AnsweredLogin): Promise<void> {
  await lockUntilCommit(deps, 'identity', `${login.provider_id}:${profile.subject}`)
  if (profile.email !== null) await lockUntilCommit(deps, 'email', profile.email)
}
