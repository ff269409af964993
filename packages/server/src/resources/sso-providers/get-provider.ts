import type { OpenIdClient } from '../../adapters/open-id-clients.ts'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import type { App } from '../../models/app.ts'
import { SsoProvider } from '../../models/sso-provider.ts'

/** Throws `not_found`. */
export async function getProvider(deps: Deps, code: string): Promise<SsoProvider> {
  return found(await SsoProvider.findByCode(deps.db, code))
}

/** Gets the provider and locks it until the transaction ends. No user can be linked with it meanwhile. */
export async function getProviderForUpdate(deps: Deps<Tx>, code: string): Promise<SsoProvider> {
  return found(await SsoProvider.findByCodeForUpdate(deps.db, code))
}

/** A provider that users may log in with. Throws `not_found`, `sso_provider_disabled`. */
export async function getEnabledProvider(deps: Deps, code: string): Promise<SsoProvider> {
  return enabled(await getProvider(deps, code))
}

/** An enabled provider by id. Undefined if it does not exist. Throws `sso_provider_disabled`. */
export async function findEnabledProvider(deps: Deps, id: string): Promise<SsoProvider | undefined> {
  const provider = await SsoProvider.find(deps.db, id)
  return provider && enabled(provider)
}

/** Gets the provider, and keeps it unchanged until the transaction ends. */
export async function findKeptProvider(deps: Deps<Tx>, id: string): Promise<SsoProvider | undefined> {
  const provider = await SsoProvider.findKept(deps.db, id)
  return provider && enabled(provider)
}

/** The providers that users may log in to the app with. */
export async function listProvidersOf(deps: Deps, app: Pick<App, 'code'>): Promise<SsoProvider[]> {
  return (await SsoProvider.listEnabled(deps.db)).filter((provider) => serves(provider, app))
}

function serves({ app_codes: codes }: SsoProvider, app: Pick<App, 'code'>): boolean {
  return codes.includes('*') || codes.includes(app.code)
}

/** Throws `auth_method_not_allowed` if the provider does not serve the app. */
export function assertServesApp(provider: SsoProvider, app: Pick<App, 'code'>): void {
  if (!serves(provider, app))
    throw new ApiError('auth_method_not_allowed', { detail: 'This provider is not set up for this app' })
}

function found(provider: SsoProvider | undefined): SsoProvider {
  if (!provider) throw new ApiError('not_found', { detail: 'No provider has this code' })
  return provider
}

function enabled(provider: SsoProvider): SsoProvider {
  if (!provider.enabled) throw new ApiError('sso_provider_disabled')
  return provider
}

/** This service as a client of the provider. */
export function openIdClientOf(deps: Deps, provider: SsoProvider): OpenIdClient {
  return {
    issuer: provider.issuer,
    clientId: provider.client_id,
    clientSecret: deps.secretBox.open(provider.client_secret_box, clientSecretContext(provider.id)),
  }
}

/** The context that binds a sealed client secret to its provider. */
export function clientSecretContext(providerId: string): string {
  return `sso_providers/${providerId}/client_secret`
}

/** Providers, newest first. */
export async function listProviders(deps: Deps, request: PageRequest): Promise<Page<SsoProvider>> {
  return SsoProvider.listPage(deps.db, request)
}
