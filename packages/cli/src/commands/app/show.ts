import { bodyOf } from '../../api/api-client.ts'
import { appSubject, parseAppRef } from '../../nouns/app-ref.ts'
import { showCommand } from '../../tools/subject-commands.ts'

export const showApp = showCommand({
  path: 'app show',
  summary: 'Show an app with all its settings',
  examples: ['app show shop', 'app show shop --json', 'app show authctl'],
  subject: appSubject,
  read: (api, typed) => bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(typed) } } })),
})
