import { text } from '../../command-line/options.ts'
import { listCommand } from '../../tools/list-command.ts'

export const listPermissions = listCommand({
  path: 'permission list',
  summary: 'List permissions, newest first',
  examples: ['permission list', 'permission list --service orders', 'permission list --service orders --json'],
  filters: { service: text('SERVICE', 'Only permissions of this service', { completes: 'services' }) },
  read: (api, filters, page) => api.GET('/api/v1/admin/permissions', { params: { query: { ...filters, ...page } } }),
  columns: ['code', 'name', 'service'],
  none: 'no permissions',
})
