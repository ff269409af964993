import { text } from '../../command-line/options.ts'
import { listCommand } from '../../tools/list-command.ts'

export const listOrganizations = listCommand({
  path: 'org list',
  summary: 'List organizations, newest first',
  examples: ['org list', 'org list --q acme', 'org list --json'],
  filters: { q: text('TEXT', 'Only organizations whose slug or name contains this') },
  read: (api, filters, page) => api.GET('/api/v1/admin/organizations', { params: { query: { ...filters, ...page } } }),
  columns: ['slug', 'name', 'created_at', 'id'],
  none: 'no organizations',
})
