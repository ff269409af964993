import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, OwnCaller, RequestOrigin } from '../../lib/caller.ts'
import { proofFields } from '../../lib/fields.ts'
import type { IdentityRecord } from '../../lib/records.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import type { UserIdentity } from '../../models/user-identity.ts'
import { assertMethodAllowed } from '../../resources/apps/app-settings.ts'
import { assertAppActive } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addIdentity, presentIdentity, removeOwnIdentity } from '../../resources/identities/identities.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { lockOwner } from '../../resources/sessions/user-sessions.ts'
import { getUser } from '../../resources/users/users.ts'
import { recording } from '../sign-in/attempt.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import { type Exchange, invalidCode, keepProviderOf, lockSubject, spendCode } from '../sign-in/provider-login.ts'

/**
 * Finishes a link that a signed-in user began: exchanges a code for the identity. Requires the bearer of the same session, so
 * that a user cannot be tricked into linking an attacker's account. The address at the provider is ignored, and is not verified
 * by this. Throws the `token_*` errors, `invalid_sso_code` for any other session, `sso_provider_disabled`, `app_inactive`,
 * `auth_method_not_allowed` and `identity_in_use`. A failed attempt leaves the code unspent.
 */
export async function linkIdentity(
  deps: Deps<Pool>,
  exchange: Exchange,
  { bearer, origin }: { bearer: string | undefined; origin: RequestOrigin },
): Promise<IdentityRecord> {
  if (bearer === undefined) throw new ApiError('token_missing')
  const caller = await authenticateCaller(deps, bearer)
  if (caller.kind !== 'user') throw new ApiError('token_invalid', { detail: 'An access token of a user is required' })
  return presentIdentity(await completeLink(deps, exchange, { caller, origin }))
}

/** The same for whom the session of a call or of a browser stands. */
export async function completeLink(
  deps: Deps<Pool>,
  exchange: Exchange,
  actor: Actor & { caller: OwnCaller },
): Promise<UserIdentity> {
  const { caller } = actor
  const about = { actor, userId: caller.userId, appId: exchange.app.id }
  return recording(
    ({ code: reason }) => recordEvent(deps, { event: 'identity.link_failed', ...about, reason }),
    async () => {
      if ((caller.sessionId ?? caller.browserSessionId) !== exchange.login.session_id) throw invalidCode()
      assertAppActive(exchange.app)
      return transaction(deps, (deps) => link(deps, exchange, caller, actor))
    },
  )
}

async function link(deps: Deps<Tx>, exchange: Exchange, caller: OwnCaller, actor: Actor): Promise<UserIdentity> {
  const { app, login, profile } = exchange
  const provider = await keepProviderOf(deps, exchange)
  assertMethodAllowed(app, provider.code)
  await lockSubject(deps, exchange)
  await lockOwner(deps, caller)
  const user = await getUser(deps, caller.userId)
  await spendCode(deps, login)
  const subject = { providerId: provider.id, subject: profile.subject }
  return addIdentity(deps, subject, { user, appId: app.id, provider: provider.code }, actor)
}

export const unlinkBody = z.strictObject(proofFields).meta({ id: 'UnlinkIdentity' })
type UnlinkInput = z.output<typeof unlinkBody> & { identityId: string }

/** Unlinks one of the caller's own identities. Throws what `requireFreshProof` and `removeOwnIdentity` throw. */
export async function unlinkIdentity(deps: Deps<Pool>, input: UnlinkInput, caller: OwnCaller, actor: Actor): Promise<void> {
  const factor = await SecondFactor.findActive(deps.db, caller.userId)
  await requireFreshProof(deps, { caller, factor, password: input.password, code: input.two_factor_code }, actor)
  await removeOwnIdentity(deps, caller, input.identityId, actor)
}
