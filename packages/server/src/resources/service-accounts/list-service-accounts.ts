import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { withPage } from '../../models/list-query.ts'
import { ServiceAccount } from '../../models/service-account.ts'

/** Service accounts, newest first. */
export async function listServiceAccounts(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<ServiceAccount>> {
  const query = ServiceAccount.query(deps.db)
  if (request.service !== undefined) query.where({ service: request.service })
  return withPage(query, request, 'service_accounts.id')
}
