import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password-policy.ts'
import { factsOf, type ShownFactors, storedShown } from '../../lib/proof.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { newRefreshToken } from '../../lib/refresh-token.ts'
import { App } from '../../models/app.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { dropLoginTokens } from '../../resources/mail/spend-mail-token.ts'
import { raiseTokenVersion } from '../../resources/revocations/end-tokens.ts'
import { admit } from '../../resources/sessions/admit.ts'
import { insertRefreshToken, issueTokens, newDeviceTokenOf } from '../../resources/sessions/open-session.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { proveAgain } from '../sign-in/prove-again.ts'
import type { ChangePasswordInput } from './schema.ts'

/**
 * Changes the caller's password. The session of the call continues under the new token version, with new tokens; all others end.
 * Throws `validation_failed`, what `proveAgain` and the gate throw, and `token_revoked` if the session ended in the meantime.
 */
export async function changePassword(
  deps: Deps<Pool>,
  input: ChangePasswordInput,
  caller: UserCaller,
  actor: Actor,
): Promise<TokenAnswer> {
  const { email, password_hash: oldHash } = await getUser(deps, caller.userId)
  const fault = passwordFault(input.new_password, email, deps.passwordBlocklist)
  if (fault) throw fieldError('new_password', fault.code, fault.message)
  await proveAgain(deps, { caller, password: input.current_password }, actor)
  const newHash = await deps.passwords.hash(input.new_password, hashLineOf(actor))

  return transaction(deps, async (deps) => {
    await lockUserRow(deps, caller.userId)
    if (caller.appId !== null && !(await App.keep(deps.db, caller.appId))) throw new ApiError('token_revoked')
    const session = await getLiveSession(deps, caller.sessionId)
    // Of two concurrent changes, the second proved a password that has been replaced.
    const isChanged = await User.replaceHash(deps.db, { id: caller.userId, password_hash: oldHash }, newHash)
    if (!isChanged) throw new ApiError('invalid_credentials')
    const refreshToken = newRefreshToken(deps.config.encryptionKeys, session.id)
    // The refresh token that the client holds is replaced by the one in the answer.
    await RefreshToken.replaceUnused(deps.db, session.id, deps.clock())
    const refreshExpiresAt = await insertRefreshToken(deps, refreshToken, session)
    await dropLoginTokens(deps, await getUser(deps, caller.userId))
    await addNotice(deps, 'password_changed', { user: { id: caller.userId, email }, appId: caller.appId }, actor)
    await recordEvent(deps, { event: 'password.changed', actor, userId: caller.userId, appId: caller.appId })
    await raiseTokenVersion(deps, { userId: caller.userId, appId: null, reason: 'password.changed', keptSessionId: session.id })

    const user = await getUser(deps, caller.userId)
    const app = caller.appId === null ? null : ((await App.findById(deps.db, caller.appId)) ?? null)
    // The app was switched off during the call, and its tokens with it.
    if (app?.status === 'inactive') throw new ApiError('token_revoked')
    const organizationId = session.organizationId ?? undefined
    // What the session has shown besides the password stays shown, though its tokens name only the password from now on.
    const admission = await admit(
      deps,
      { user, app, client: undefined, organizationId, overrides: {}, shown: session.shown },
      actor,
    )
    const factor = await SecondFactor.findActive(deps.db, user.id)
    const deviceToken = newDeviceTokenOf(deps, admission, factor?.activated_at ?? null)
    const facts = factsOf({ method: 'password', firstProvenAt: deps.clock(), second: null })
    await Session.noteFacts(deps.db, session.id, facts)
    return issueTokens(
      deps,
      admission,
      { ...session, ...facts },
      { token: refreshToken, expiresAt: refreshExpiresAt, deviceToken },
    )
  })
}

async function getLiveSession(
  deps: Deps<Tx>,
  id: string,
): Promise<{ id: string; expiresAt: number; organizationId: string | null; shown: ShownFactors }> {
  const row = await Session.findOpenForUpdate(deps.db, id)
  if (!row) throw new ApiError('token_revoked')
  return {
    id,
    expiresAt: row.expires_at,
    organizationId: row.organization_id,
    shown: storedShown({ ...row, session_created_at: row.created_at }),
  }
}
