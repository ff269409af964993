import { choice, optionalPositional, text } from '../../command-line/options.ts'
import { shownUser, userRefOf } from '../../nouns/user-ref.ts'
import { listCommand } from '../../tools/list-command.ts'

export const findUsers = listCommand({
  path: 'user find',
  summary: 'Search users, newest first',
  examples: ['user find bob', 'user find --app shop --pool staff', 'user find --role system_admin --json'],
  filters: {
    q: optionalPositional('TEXT', 'Part of the e-mail or of a name'),
    email: text('EMAIL', 'Exactly this e-mail, in any pool'),
    pool: text('POOL', 'Home pool or pool tag', { completes: 'pools' }),
    app: text('CODE', 'Users who may enter this app', { completes: 'apps' }),
    role: text('ROLE', 'Users with this role', { completes: 'roles' }),
    status: choice(['active', 'suspended', 'deleted'], 'Users with this status; without it, deleted users are left out'),
  },
  read: (api, { pool, ...filters }, page) =>
    api.GET('/api/v1/admin/users', { params: { query: { ...filters, namespace: pool, ...page } } }),
  columns: [
    ['user', (user) => shownUser(userRefOf(user))],
    'status',
    'first_name',
    'last_name',
    ['pools', (user) => user.namespaces],
    ['created_at', (user) => user.created_at],
    ['verified', (user) => user.email_verified, 'wide'],
    'id',
  ],
  none: 'no users',
  lists: 'long',
})
