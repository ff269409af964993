import { type Api, bodyOf, pages } from '../../api/api-client.ts'
import { count, positional } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { userRefOf } from '../../nouns/user-ref.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const listCollisions = command({
  path: 'pool collisions',
  options: {
    pool: positional('P', 'Name of a pool', { completes: 'pools' }),
    other: positional('Q', 'Name of another pool', { completes: 'pools' }),
    limit: count('N', 'Maximum number of e-mails. Default: all'),
  },
  summary: 'List e-mails that exist in both of two pools',
  description: 'In an app that reads both pools, only one of the two users with an e-mail can log in.',
  examples: [
    'pool collisions staff partners',
    'pool collisions staff partners --json',
    'pool collisions staff partners --limit 20',
  ],
  lists: 'whole',
  async run({ api }, { pool, other, limit }) {
    const one = parsePlainName(pool, 'pool')
    const two = parsePlainName(other, 'pool')
    // The service checks only that the first pool exists. For a mistyped second one it would report no collisions.
    await readCollisions(api, two, { with: one, limit: 1 })
    const all = pages((page) => readCollisions(api, one, { with: two, ...page }), limit)
    return list(
      all,
      [
        'email',
        ['one', ({ users }) => users[0] && userRefOf(users[0])],
        ['other', ({ users }) => users[1] && userRefOf(users[1])],
      ],
      'no e-mail is in both',
    )
  },
})

function readCollisions(api: Api, namespace: string, query: { with: string; limit: number; cursor?: string }) {
  const params = { path: { namespace }, query }
  return bodyOf(api.GET('/api/v1/admin/namespaces/{namespace}/collisions', { params }))
}
