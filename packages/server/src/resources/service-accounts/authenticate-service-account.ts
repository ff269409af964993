import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { authorityOfServiceAccount, type ServiceScope } from '../../lib/authority.ts'
import type { ServiceCaller } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { isServiceToken } from '../../lib/service-token.ts'
import { ServiceAccount } from '../../models/service-account.ts'

/** `last_used_at` is written at most this often: a busy service would otherwise write one row at every call. */
const useResolutionMs = 60_000

interface AccountRow {
  id: string
  service: string
  scopes: string
  expires_at: number | null
  last_used_at: number | null
  app_codes: string | null
}

const accountByToken = new Statement<AccountRow>(`
  select s.id, s.service, s.scopes, s.expires_at, s.last_used_at,
    (select string_agg(a.code, ' ') from service_account_apps l join apps a on a.id = l.app_id
      where l.service_account_id = s.id) as app_codes
  from service_accounts s
  where s.token_hash = :hash`)

/**
 * The service account that a `gsa_` bearer stands for, as it is now. A token whose checksum does not fit is refused without a look
 * into the database. Throws `token_invalid`, also for a rotated or deleted one, and `token_expired`.
 */
export async function authenticateServiceAccount(deps: Deps, token: string): Promise<ServiceCaller> {
  if (!isServiceToken(token)) throw new ApiError('token_invalid')
  const account = await accountByToken.first(deps.db, { hash: hashOpaqueToken(token) })
  if (!account) throw new ApiError('token_invalid')
  const now = deps.clock()
  if (account.expires_at !== null && account.expires_at <= now) throw new ApiError('token_expired')
  await noteUse(deps, account, now)
  const scopes = JSON.parse(account.scopes) as ServiceScope[]
  const appCodes = account.app_codes?.split(' ') ?? []
  return {
    kind: 'service_account',
    id: account.id,
    authority: authorityOfServiceAccount({ service: account.service, scopes, appCodes }),
  }
}

/** Conditional, so that of callers at once one writes. */
async function noteUse(deps: Deps, account: AccountRow, now: number): Promise<void> {
  const latest = now - useResolutionMs
  if (account.last_used_at !== null && account.last_used_at > latest) return
  await ServiceAccount.query(deps.db)
    .where({ id: account.id })
    .where((any) => any.whereNull('last_used_at').orWhere('last_used_at', '<=', latest))
    .patch({ last_used_at: now })
}
