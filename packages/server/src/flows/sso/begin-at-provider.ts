import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import { OpenIdFault } from '../../lib/open-id-fault.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import type { App } from '../../models/app.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertServesApp, openIdClientOf } from '../../resources/sso-providers/get-provider.ts'
import { callbackUrlOf } from '../../resources/sso-providers/present.ts'
import { answerWithinMs } from './exchange.ts'
import { newPkceState, sealFor } from './pkce-state.ts'
import type { ClientInput } from './schema.ts'

const retryAfterSeconds = 10

/** The query parameters that an answer adds. If one is already there, a client could read the wrong one. */
const answerMembers = ['code', 'state', 'error', 'error_description']

/** Throws `auth_method_not_allowed` when the provider is not for this app, and `validation_failed` for the redirect URL. */
export function assertMayBegin(
  { provider, app }: { provider: SsoProvider; app: Pick<App, 'code' | 'allowed_redirect_urls'> },
  { redirect_url: redirectUrl }: ClientInput,
): void {
  assertServesApp(provider, app)
  assertRedirectUrl(app, redirectUrl)
}

/**
 * Stores a pending login, or with a session id a pending link. Returns where the browser goes. Throws `unavailable` while the
 * provider cannot be reached.
 */
export async function beginAtProvider(
  deps: Deps<Pool>,
  { provider, app, sessionId }: { provider: SsoProvider; app: Pick<App, 'id'>; sessionId: string | null },
  input: ClientInput,
): Promise<string> {
  const state = newOpaqueToken(TOKEN_PREFIXES.ssoState)
  const challenge = newPkceState()
  const target = { redirectUri: callbackUrlOf(deps.config.publicUrl, provider.code), scopes: provider.scopes }
  const openIdClients = await deps.openIdClients()
  const url = await openIdClients
    .authorizationUrl(openIdClientOf(deps, provider), { state, ...challenge }, target)
    .catch((fault: unknown) => {
      if (!(fault instanceof OpenIdFault)) throw fault
      deps.logger.warn({ provider: provider.code, reason: fault.message }, 'provider cannot be reached')
      const detail = 'The provider cannot be reached'
      throw new ApiError('unavailable', { detail, retryAfter: retryAfterSeconds, cause: fault })
    })
  const now = deps.clock()
  const stateHash = hashOpaqueToken(state)
  await SsoLogin.insert(deps.db, {
    state_hash: stateHash,
    provider_id: provider.id,
    app_id: app.id,
    session_id: sessionId,
    issuer: provider.issuer,
    redirect_url: input.redirect_url,
    client_state: input.state,
    code_challenge: input.code_challenge,
    challenge_box: sealFor(deps, stateHash, challenge),
    created_at: now,
    expires_at: now + answerWithinMs,
  })
  return url
}

/** Throws `validation_failed` for a URL that the app does not allow, or that already has a query parameter of an answer. */
export function assertRedirectUrl(app: Pick<App, 'allowed_redirect_urls'>, url: string): void {
  if (!matchesRedirectUrl(url, app.allowed_redirect_urls))
    throw fieldError('redirect_url', 'invalid_value', 'is not one of the allowed_redirect_urls of the app')
  const { searchParams } = new URL(url)
  if (answerMembers.some((name) => searchParams.has(name)))
    throw fieldError('redirect_url', 'invalid_value', `must not have ${answerMembers.join(', ')} in its query`)
}
