import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { SsoProvider } from '../../models/sso-provider.ts'

/** Providers, newest first. */
export async function listProviders(deps: Deps, request: PageRequest): Promise<Page<SsoProvider>> {
  return SsoProvider.listPage(deps.db, request)
}
