import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertServesApp, findEnabledProvider, findKeptProvider } from '../../resources/sso-providers/get-provider.ts'
import type { AnsweredLogin, Exchange } from './exchange.ts'
import { invalidCode } from './spend-code.ts'

/**
 * The provider of a login. Throws `sso_provider_disabled`, `auth_method_not_allowed` when it is not for the app by now, and
 * `invalid_sso_code` when it is gone or another.
 */
export async function getProviderOf(deps: Deps, exchange: Exchange): Promise<SsoProvider> {
  return serving(await findEnabledProvider(deps, exchange.login.provider_id), exchange)
}

/** Gets the provider, and keeps it unchanged until the transaction ends. */
export async function keepProviderOf(deps: Deps<Tx>, exchange: Exchange): Promise<SsoProvider> {
  return serving(await findKeptProvider(deps, exchange.login.provider_id), exchange)
}

function serving(provider: SsoProvider | undefined, { login, app }: Exchange): SsoProvider {
  if (provider?.issuer !== login.issuer) throw invalidCode()
  assertServesApp(provider, app)
  return provider
}

/**
 * Locks the subject and then the address until the transaction ends, so nobody else links the one or registers the other
 * meanwhile. A caller without a subject locks the address alone, which keeps this order.
 */
export async function lockSubject(deps: Deps<Tx>, { login, profile }: AnsweredLogin): Promise<void> {
  await lockUntilCommit(deps.db, 'identity', `${login.provider_id}:${profile.subject}`)
  if (profile.email !== null) await lockUntilCommit(deps.db, 'email', profile.email)
}
