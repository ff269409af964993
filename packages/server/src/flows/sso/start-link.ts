import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { assertMethodAllowed } from '../../resources/apps/check-policy.ts'
import { assertAppActive, getApp } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { getEnabledProvider } from '../../resources/sso-providers/get-provider.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import { assertMayBegin, beginAtProvider } from './begin-at-provider.ts'
import type { LinkInput } from './schema.ts'

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
