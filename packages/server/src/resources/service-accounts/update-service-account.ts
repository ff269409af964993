import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { endMachineTokens } from '../revocations/end-tokens.ts'
import { keepCaller } from '../users/get-user.ts'
import { assertBound, assertFuture, defaultScopes, idsOfApps, nameTaken } from './create-service-account.ts'
import { getServiceAccount, getServiceAccountForUpdate } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'
import type { UpdateServiceAccountInput } from './schema.ts'

/**
 * Changes the name, scopes, apps or end of a service account. Its token stays the same. If the account may get machine tokens for
 * less than before, those that it got die. Throws `not_found`, `service_account_name_taken`, `validation_failed`, and what
 * `keepCaller` throws.
 */
export async function updateServiceAccount(
  deps: Deps<Pool>,
  id: string,
  input: UpdateServiceAccountInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<ServiceAccount> {
  const now = deps.clock()
  try {
    return await transaction(deps, async (deps) => {
      await keepCaller(deps, actor)
      // Before the lock on the account: the deletion of an app locks the app first, and its accounts then.
      const appIds = input.app_codes === undefined ? undefined : await idsOfApps(deps, input.app_codes ?? [])
      const current = await getServiceAccountForUpdate(deps, id)
      const before = presentServiceAccount(current)
      refuseChanged(changedMembers(sentBack, before))
      if (input.expires_at !== current.expires_at) assertFuture(input.expires_at, now)
      const changes = {
        name: input.name ?? current.name,
        scopes: input.scopes === undefined ? current.scopes : [...new Set(input.scopes ?? defaultScopes)],
        expires_at: input.expires_at === undefined ? current.expires_at : input.expires_at,
      }
      const appCodes = input.app_codes === undefined ? before.app_codes : [...new Set(input.app_codes ?? [])].sort()
      // An account whose apps were all deleted may still be renamed.
      if (input.scopes !== undefined || input.app_codes !== undefined) assertBound(changes.scopes, appCodes)
      const isSame = (one: readonly string[], other: readonly string[]) => one.join(' ') === other.join(' ')
      const sameApps = isSame(appCodes, before.app_codes)
      const sameRow = changes.name === current.name && changes.expires_at === current.expires_at
      if (sameApps && sameRow && isSame(changes.scopes, current.scopes)) return current
      if (appIds && !sameApps) await ServiceAccount.replaceApps(deps.db, id, appIds)
      await ServiceAccount.update(deps.db, id, { ...changes, updated_at: now })
      const account = await getServiceAccount(deps, id)
      const details = { service_account_id: id, before, after: presentServiceAccount(account) }
      await recordEvent(deps, { event: 'service_account.updated', actor, details })
      if (losesTokens(current, account)) await endMachineTokens(deps, id)
      return account
    })
  } catch (error) {
    throw nameTaken(error, input.name)
  }
}

/** Whether machine tokens from before may be for an app, or last until a time, that the account no longer gets any for. */
function losesTokens(before: ServiceAccount, after: ServiceAccount): boolean {
  if (!before.scopes.includes('tokens:issue')) return false
  const end = ({ expires_at }: ServiceAccount) => expires_at ?? Number.POSITIVE_INFINITY
  const kept = new Set(after.apps.map(({ code }) => code))
  return !after.scopes.includes('tokens:issue') || end(after) < end(before) || before.apps.some(({ code }) => !kept.has(code))
}
