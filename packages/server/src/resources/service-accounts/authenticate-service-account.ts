import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { authorityOfServiceAccount, type ServiceScope } from '../../lib/authority.ts'
import type { ServiceCaller } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { isServiceToken } from '../../lib/service-token.ts'
import { type AccountRow, ServiceAccount } from '../../models/service-account.ts'

/** `last_used_at` is written at most this often: a busy service would otherwise write one row at every call. */
const useResolutionMs = 60_000

/**
 * Looks up the service account that a `gsa_` token stands for. A token with a wrong checksum is refused without a query. Throws
 * `token_invalid`, also if the token was rotated or the account deleted, and `token_expired`.
 */
export async function authenticateServiceAccount(deps: Deps, token: string): Promise<ServiceCaller> {
  if (!isServiceToken(token)) throw new ApiError('token_invalid')
  const account = await ServiceAccount.findByToken(deps.db, hashOpaqueToken(token))
  if (!account) throw new ApiError('token_invalid')
  const now = deps.clock()
  if (account.expires_at !== null && account.expires_at <= now) throw new ApiError('token_expired')
  await noteUse(deps, account, now)
  const scopes: ServiceScope[] = JSON.parse(account.scopes)
  const appCodes = account.app_codes?.split(' ') ?? []
  return {
    kind: 'service_account',
    id: account.id,
    authority: authorityOfServiceAccount({ service: account.service, scopes, appCodes }),
  }
}

async function noteUse(deps: Deps, account: AccountRow, now: number): Promise<void> {
  const latest = now - useResolutionMs
  if (account.last_used_at !== null && account.last_used_at > latest) return
  await ServiceAccount.noteUse(deps.db, account.id, { now, latest })
}
