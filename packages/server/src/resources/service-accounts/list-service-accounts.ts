import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { ServiceAccount } from '../../models/service-account.ts'

/** Service accounts, newest first. */
export async function listServiceAccounts(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<ServiceAccount>> {
  return ServiceAccount.listPage(deps.db, request)
}
