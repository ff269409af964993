import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import type { App } from '../../models/app.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertMethodAllowed } from '../../resources/apps/check-policy.ts'
import { assertAppActive, getActiveApp, getApp } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { takeByAddress } from '../../resources/rate-limits/take-by-address.ts'
import { assertServesApp, getEnabledProvider } from '../../resources/sso-providers/get-provider.ts'
import { beginAtProvider } from '../sign-in/begin-at-provider.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import type { ClientInput, LinkInput, StartInput } from './schema.ts'

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

/** Throws `validation_failed` for a URL that the app does not allow, or that already has a query parameter of an answer. */
export function assertRedirectUrl(app: Pick<App, 'allowed_redirect_urls'>, url: string): void {
  if (!matchesRedirectUrl(url, app.allowed_redirect_urls))
    throw fieldError('redirect_url', 'invalid_value', 'is not one of the allowed_redirect_urls of the app')
  const { searchParams } = new URL(url)
  if (answerMembers.some((name) => searchParams.has(name)))
    throw fieldError('redirect_url', 'invalid_value', `must not have ${answerMembers.join(', ')} in its query`)
}

/**
 * Begins a third-party login (docs/why/flows/third-party-login.md). Returns where the browser goes. All faults are answered here, so
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
  return beginAtProvider(deps, { provider, app }, input)
}

/**
 * Begins to link the caller with an account at a provider, through the app of the session. Returns where the browser goes. The
 * link is bound to this session. Throws what `requireFreshProof` throws, `app_code_required` for a session without an app, and what
 * `startSso` throws about provider, app and redirect URL. Throws `auth_method_not_allowed` also if the app takes no new links
 * with the provider.
 */
export async function startLink(deps: Deps<Pool>, input: LinkInput, caller: UserCaller, actor: Actor): Promise<string> {
  const { userId, sessionId, appId } = caller
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password: input.password, code: input.two_factor_code }, actor)
  const provider = await getEnabledProvider(deps, input.provider)
  if (appId === null) throw new ApiError('app_code_required', { detail: 'Log in through an app that has redirect URLs' })
  const app = await getApp(deps, appId)
  assertAppActive(app)
  assertMayBegin({ provider, app }, input)
  assertMethodAllowed(app, provider.code)
  const location = await beginAtProvider(deps, { provider, app, sessionId }, input)
  await recordEvent(deps, { event: 'identity.link_started', actor, userId, appId, details: { provider: provider.code } })
  return location
}
