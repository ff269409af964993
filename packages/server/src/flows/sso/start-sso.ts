import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { takeByAddress } from '../../resources/rate-limits/take-by-address.ts'
import { getEnabledProvider } from '../../resources/sso-providers/get-provider.ts'
import { assertMayBegin, beginAtProvider } from './begin-at-provider.ts'
import type { StartInput } from './schema.ts'

/**
 * Begins a third-party login (docs/flows/third-party-login.md). Returns where the browser goes. All faults are answered here, so
 * that a browser is never sent to an unchecked URL. Throws `not_found`, `sso_provider_disabled`, `app_code_required`,
 * `app_not_found`, `app_inactive`, `auth_method_not_allowed` if the provider is not for this app, `validation_failed` for the
 * redirect URL, `rate_limited`, and `unavailable` while the provider cannot be reached.
 */
export async function startSso(deps: Deps<Pool>, code: string, input: StartInput, { origin }: Actor): Promise<string> {
  const provider = await getEnabledProvider(deps, code)
  if (input.app_code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  const app = await getActiveApp(deps, input.app_code)
  assertMayBegin({ provider, app }, input)
  // Each call leaves a row for ten minutes.
  await takeByAddress(deps, 'sso-start', origin.ip)
  return beginAtProvider(deps, { provider, app, sessionId: null }, input)
}
