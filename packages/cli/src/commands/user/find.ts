import { choice, optionalPositional, text } from '../../command-line/options.ts'
import { noteUnknownPool } from '../../nouns/pool-names.ts'
import { shownUser, userRefOf } from '../../nouns/user-ref.ts'
import type { Command } from '../../tools/command.ts'
import { listCommand } from '../../tools/list-command.ts'

export const findUsers = searchAs('user find', 'Search users, newest first')
/** The other name of `user find`, since every other list is called list. */
export const listUsers = searchAs('user list', 'List users, newest first, as user find does')

function searchAs(path: string, summary: string): Command {
  return listCommand({
    path,
    summary,
    examples: [`${path} bob`, `${path} --app shop --pool staff`, `${path} --role system_admin --json`],
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
    watch: (tools, { pool }, users) => noteUnknownPool(tools, pool, users),
    lists: 'long',
  })
}
