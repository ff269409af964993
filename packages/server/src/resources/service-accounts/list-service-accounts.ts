import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { withPage } from '../../models/list-query.ts'
import { ServiceAccount, type ServiceAccountWithApps } from '../../models/service-account.ts'

/** Service accounts, newest first. */
export async function listServiceAccounts(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<ServiceAccountWithApps>> {
  const query = ServiceAccount.query(deps.db).withGraphFetched('apps')
  if (request.service !== undefined) query.where({ service: request.service })
  return (await withPage(query, request, 'service_accounts.id')) as Page<ServiceAccountWithApps>
}
