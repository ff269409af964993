import { listCommand } from '../../tools/list-command.ts'

export const listPools = listCommand({
  path: 'pool list',
  summary: 'List pools by name',
  description: 'Lists every pool that a user or an app uses.',
  examples: ['pool list', 'pool list --json', 'pool list --limit 20'],
  filters: {},
  read: (api, _, query) => api.GET('/api/v1/admin/namespaces', { params: { query } }),
  columns: [
    ['pool', ({ namespace }) => namespace],
    ['users', ({ user_count }) => user_count],
    ['tagged', ({ tagged_user_count }) => tagged_user_count],
    ['home_of', ({ apps }) => apps.filter((app) => app.as === 'registration').map(({ code }) => code)],
    ['read_by', ({ apps }) => apps.filter((app) => app.as === 'read').map(({ code }) => code)],
  ],
  none: 'no pools',
})
