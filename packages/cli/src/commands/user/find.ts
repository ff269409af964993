import { choice, optionalPositional, text } from '../../command-line/options.ts'
import { userRefOf } from '../../nouns/user-ref.ts'
import { listCommand } from '../../tools/list-command.ts'

export const findUsers = listCommand({
  path: 'user find',
  summary: 'Search users, newest first',
  examples: ['user find bob', 'user find --app shop --pool staff', 'user find --role system_admin --json'],
  filters: {
    q: optionalPositional('TEXT', 'Part of the e-mail or of a name'),
    email: text('EMAIL', 'Exactly this e-mail, in any pool'),
    pool: text('POOL', 'Home pool or pool tag'),
    app: text('CODE', 'Who may enter this app', { completes: 'apps' }),
    role: text('ROLE', 'Who has this role'),
    status: choice(['active', 'suspended', 'deleted'], 'Who has this status; deleted users are shown only so'),
  },
  read: (api, { pool, ...filters }, page) =>
    api.GET('/api/v1/admin/users', { params: { query: { ...filters, namespace: pool, ...page } } }),
  columns: [['user', (user) => userRefOf(user)], 'first_name', 'last_name', 'status', ['pools', (user) => user.namespaces], 'id'],
  none: 'no users',
})
