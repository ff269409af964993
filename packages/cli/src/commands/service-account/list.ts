import { text } from '../../command-line/options.ts'
import { listCommand } from '../../tools/list-command.ts'

export const listServiceAccounts = listCommand({
  path: 'service-account list',
  summary: 'List service accounts, newest first',
  examples: ['service-account list', 'service-account list --service billing', 'service-account list --json'],
  filters: { service: text('SERVICE', 'Only accounts of this service', { completes: 'services' }) },
  read: (api, filters, page) => api.GET('/api/v1/admin/service-accounts', { params: { query: { ...filters, ...page } } }),
  columns: [
    'name',
    'service',
    'scopes',
    ['apps', (account) => account.app_codes],
    'permissions',
    'expires_at',
    'last_used_at',
    'id',
  ],
  none: 'no service accounts',
})
