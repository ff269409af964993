import { choice, text } from '../../command-line/options.ts'
import { listCommand } from '../../tools/list-command.ts'

export const listApps = listCommand({
  path: 'app list',
  summary: 'List apps, newest first',
  examples: ['app list', 'app list --status active --q shop', 'app list --json'],
  filters: {
    status: choice(['active', 'inactive'], 'Only apps with this status'),
    q: text('TEXT', 'Only apps whose code or name contains this'),
  },
  read: (api, filters, page) => api.GET('/api/v1/admin/apps', { params: { query: { ...filters, ...page } } }),
  columns: [
    'code',
    'name',
    'status',
    ['pool', (app) => app.registration_namespace],
    ['auto_grant', (app) => app.auto_grant_on_signup],
    ['sign_up', (app) => app.sign_up, 'wide'],
    ['services', (app) => app.service_codes, 'wide'],
    ['created_at', (app) => app.created_at, 'wide'],
    'id',
  ],
  none: 'no apps',
})
