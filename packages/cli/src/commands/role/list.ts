import { listCommand } from '../../tools/list-command.ts'

export const listRoles = listCommand({
  path: 'role list',
  summary: 'List roles, by code',
  examples: ['role list', 'role list --json', 'role list --limit 20'],
  filters: {},
  read: (api, _, query) => api.GET('/api/v1/admin/roles', { params: { query } }),
  columns: ['code', 'name', 'scope', 'built_in', 'assignable_by', 'description'],
  none: 'no roles',
})
