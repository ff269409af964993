import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertServesApp, findEnabledProvider, findKeptProvider } from '../../resources/sso-providers/get-provider.ts'
import type { AnsweredLogin, Exchange } from './exchange.ts'
import { invalidCode } from './spend-code.ts'

/**
 * The provider of a login. Throws `sso_provider_disabled`, `auth_method_not_allowed` if it no longer serves the app, and
 * `invalid_sso_code` if it is gone or its issuer has changed.
 */
export async function getProviderOf(deps: Deps, exchange: Exchange): Promise<SsoProvider> {
  return serving(await findEnabledProvider(deps, exchange.login.provider_id), exchange)
}

/** Like `getProviderOf`, but also keeps the provider unchanged until the transaction ends. */
export async function keepProviderOf(deps: Deps<Tx>, exchange: Exchange): Promise<SsoProvider> {
  return serving(await findKeptProvider(deps, exchange.login.provider_id), exchange)
}

function serving(provider: SsoProvider | undefined, { login, app }: Exchange): SsoProvider {
  if (provider?.issuer !== login.issuer) throw invalidCode()
  assertServesApp(provider, app)
  return provider
}

/**
 * Locks the subject and then the address until the transaction ends, so that no other request links the one or registers the
 * other meanwhile. Callers without a subject lock only the address, which keeps this order.
 */
export async function lockSubject(deps: Deps<Tx>, { login, profile }: AnsweredLogin): Promise<void> {
  await lockUntilCommit(deps.db, 'identity', `${login.provider_id}:${profile.subject}`)
  if (profile.email !== null) await lockUntilCommit(deps.db, 'email', profile.email)
}
