import { bodyOf, pages } from '../../api/api-client.ts'
import { choice, count, type Input, optionalPositional, text } from '../../command-line/options.ts'
import { userRefOf } from '../../nouns/user-ref.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  q: optionalPositional('TEXT', 'Part of the e-mail or of a name'),
  email: text('EMAIL', 'Exactly this e-mail, in any pool'),
  pool: text('POOL', 'Home pool or pool tag'),
  app: text('CODE', 'Who may enter this app', { completes: 'apps' }),
  role: text('ROLE', 'Who has this role'),
  status: choice(['active', 'suspended', 'deleted'], 'Who has this status; deleted users are shown only so'),
  limit: count('N', 'At most so many; all unless given'),
}

export const findUsers = command({
  path: 'user find',
  summary: 'Search users, newest first',
  examples: ['user find bob', 'user find --app shop --pool staff', 'user find --role system_admin --json'],
  options,
  run: runFindUsers,
})

export async function runFindUsers({ api }: Tools, { limit, pool, ...filters }: Input<typeof options>): Promise<Result> {
  const query = { ...filters, ...(pool === undefined ? {} : { namespace: pool }) }
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/users', { params: { query: { ...query, ...page } } })), limit)
  return list(
    all,
    [['user', userRefOf], 'first_name', 'last_name', 'status', ['pools', (user) => user.namespaces], 'id'],
    'no users',
  )
}
