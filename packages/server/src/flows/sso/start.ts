import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { authMethodCode, MAX_TEXT, optionalAppCode, optionalTwoFactorCode, proofFields, readAs, text } from '../../lib/fields.ts'
import { identityRecord, tokenAnswer } from '../../lib/records.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import type { App } from '../../models/app.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertMethodAllowed } from '../../resources/apps/app-settings.ts'
import { assertAppActive, getActiveApp, getApp } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { takeByAddress } from '../../resources/rate-limits/rate-limits.ts'
import { assertServesApp, getEnabledProvider } from '../../resources/sso-providers/sso-providers.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import { beginAtProvider } from '../sign-in/provider-login.ts'

/** With these, a client recognizes its answer and proves that the answer is its own. */
const clientFields = {
  redirect_url: text.min(1).meta({ description: 'One of the `allowed_redirect_urls` of the app' }),
  code_challenge: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'must be the SHA-256 of the verifier, in base64url')
    .meta({ description: 'PKCE, S256' }),
  code_challenge_method: z
    .string()
    .regex(/^S256$/, 'must be S256')
    .optional(),
  state: z.string().min(1).max(500).meta({ description: 'Returned unchanged' }),
}
type ClientInput = Pick<StartInput, keyof typeof clientFields>

/** The query with which a client sends a browser here. */
export const startQuery = z.strictObject({
  app_code: optionalAppCode.meta({ override: readAs({ type: 'string', maxLength: MAX_TEXT }) }),
  ...clientFields,
})
type StartInput = z.output<typeof startQuery>

export const linkBody = z
  .strictObject({ provider: authMethodCode.meta({ description: 'Code of the provider' }), ...clientFields, ...proofFields })
  .meta({ id: 'LinkIdentity' })
type LinkInput = z.output<typeof linkBody>

export const linkAnswer = z
  .object({ location: z.string().meta({ description: 'A page of the provider. Send the browser there' }) })
  .meta({ id: 'IdentityLinkStart' })

const word = z.string().max(MAX_TEXT).optional()

/** A provider's answer (RFC 6749, RFC 9207). Other members that the provider adds are accepted. */
export const callbackQuery = z.looseObject({
  state: z.string().min(1).max(MAX_TEXT),
  code: z.string().max(8_000).optional(),
  error: word,
  iss: word,
})
export type CallbackInput = z.output<typeof callbackQuery>

export const exchangeBody = z
  .object({
    code: text.min(1),
    code_verifier: text.min(1).meta({ description: 'The value whose SHA-256 is `code_challenge`' }),
    two_factor_code: optionalTwoFactorCode,
  })
  .meta({ id: 'ExchangeSsoCode' })
export type ExchangeInput = z.output<typeof exchangeBody>

export const tokensOrIdentity = z.union([tokenAnswer, identityRecord])

/** The query parameters that an answer adds. If one is already there, a client could read the wrong one. */
const answerMembers = ['code', 'state', 'error', 'error_description']

/** Throws `auth_method_not_allowed` when the provider is not for this app, and `validation_failed` for the redirect URL. */
function assertMayBegin(
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
 * Begins a third-party login (docs/why/flows/third-party-login.md). Returns where the browser goes. All faults are answered here,
 * so that a browser is never sent to an unchecked URL. Throws `not_found`, `sso_provider_disabled`, `app_code_required`,
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
  if (appId === null) throw new ApiError('app_code_required', { detail: 'Sign in through an app that has redirect URLs' })
  const app = await getApp(deps, appId)
  assertAppActive(app)
  assertMayBegin({ provider, app }, input)
  assertMethodAllowed(app, provider.code)
  const location = await beginAtProvider(deps, { provider, app, sessionId }, input)
  await recordEvent(deps, { event: 'identity.link_started', actor, userId, appId, details: { provider: provider.code } })
  return location
}
