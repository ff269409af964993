import type { SignInAtProvider } from '../../adapters/open-id-clients.ts'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import { OpenIdFault } from '../../lib/open-id-fault.ts'
import type { App } from '../../models/app.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { openIdClientOf } from '../../resources/sso-providers/get-provider.ts'
import { callbackUrlOf } from '../../resources/sso-providers/present.ts'
import { answerWithinMs, newPkceState, sealFor } from './provider-answer.ts'

const retryAfterSeconds = 10

interface Begun {
  provider: SsoProvider
  app: Pick<App, 'id'>
  /** The session, of an app or of a browser, whose user is to be linked. None for a login. */
  sessionId?: string
  /** On our own pages: the browser, and what to go on with. */
  page?: { browserHash: string; requestField: string }
  fresh?: Pick<SignInAtProvider, 'prompt' | 'maxAgeSeconds'>
}

/** Where the provider's answer goes, and whose it is. */
interface Client {
  redirect_url: string
  state: string
  code_challenge: string
}

/**
 * Stores a pending login, or with a session id a pending link. Returns where the browser goes. Throws `unavailable` while the
 * provider cannot be reached.
 */
export async function beginAtProvider(
  deps: Deps<Pool>,
  { provider, app, sessionId, page, fresh }: Begun,
  client: Client,
): Promise<string> {
  const state = newOpaqueToken(TOKEN_PREFIXES.ssoState)
  const challenge = newPkceState()
  const target = { redirectUri: callbackUrlOf(deps.config.publicUrl, provider.code), scopes: provider.scopes, ...fresh }
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
    session_id: sessionId ?? null,
    issuer: provider.issuer,
    redirect_url: client.redirect_url,
    client_state: client.state,
    code_challenge: client.code_challenge,
    browser_hash: page?.browserHash ?? null,
    request_field: page?.requestField ?? null,
    challenge_box: sealFor(deps, stateHash, challenge),
    created_at: now,
    expires_at: now + answerWithinMs,
  })
  return url
}
