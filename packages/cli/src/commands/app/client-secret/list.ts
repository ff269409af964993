import { bodyOf, pages } from '../../../api/api-client.ts'
import { count } from '../../../command-line/options.ts'
import { appSubject, parseAppRef } from '../../../nouns/app-ref.ts'
import { list } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const listClientSecrets = command({
  path: 'app client-secret list',
  options: { code: appSubject, limit: count('N', 'Maximum number of secrets. Default: all') },
  summary: 'List the client secrets of an app, and when each was last used',
  examples: ['app client-secret list grafana', 'app client-secret list grafana -o csv', 'app client-secret list grafana --json'],
  async run({ api }, { code, limit }) {
    const path = { appId: parseAppRef(code) }
    const secrets = pages(
      (query) => bodyOf(api.GET('/api/v1/admin/apps/{appId}/client-secrets', { params: { path, query } })),
      limit,
    )
    return list(secrets, ['id', 'created_at', 'last_used_at'], 'no client secrets')
  },
})
