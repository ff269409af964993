import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, RequestOrigin, UserCaller } from '../../lib/caller.ts'
import type { IdentityRecord } from '../../lib/records.ts'
import { assertMethodAllowed } from '../../resources/apps/check-policy.ts'
import { assertAppActive } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addIdentity } from '../../resources/identities/add-identity.ts'
import { presentIdentity } from '../../resources/identities/present.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { lockSelf, userOfSelf } from '../../resources/sessions/read-self.ts'
import { recording } from '../sign-in/attempt.ts'
import type { Exchange } from './exchange.ts'
import { keepProviderOf, lockSubject } from './keep-provider.ts'
import { invalidCode, spendCode } from './spend-code.ts'

/**
 * Finishes a link that a logged-in user began: exchanges a code for the identity. Requires the bearer of the same session, so
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
  const actor = { caller, origin }
  const about = { actor, userId: caller.userId, appId: exchange.app.id }
  return recording(
    ({ code: reason }) => recordEvent(deps, { event: 'identity.link_failed', ...about, reason }),
    async () => {
      if (caller.sessionId !== exchange.login.session_id) throw invalidCode()
      assertAppActive(exchange.app)
      return transaction(deps, (deps) => link(deps, exchange, caller, actor))
    },
  )
}

async function link(deps: Deps<Tx>, exchange: Exchange, caller: UserCaller, actor: Actor): Promise<IdentityRecord> {
  const { app, login, profile } = exchange
  const provider = await keepProviderOf(deps, exchange)
  assertMethodAllowed(app, provider.code)
  await lockSubject(deps, exchange)
  const user = userOfSelf(await lockSelf(deps, caller))
  await spendCode(deps, login)
  const subject = { providerId: provider.id, subject: profile.subject }
  return presentIdentity(await addIdentity(deps, subject, { user, appId: app.id, provider: provider.code }, actor))
}
