import { appSubject, parseAppRef } from '../../nouns/app-ref.ts'
import { deleteCommand } from '../../tools/subject-commands.ts'

export const deleteApp = deleteCommand({
  path: 'app delete',
  summary: 'Delete an app',
  examples: ['app delete shop --confirm shop', 'app delete shop --confirm shop --force', 'app delete shop --dry-run'],
  noun: 'app',
  subject: appSubject,
  force: 'Delete it even if users have access to it',
  parse: parseAppRef,
  remove: (api, appId, query) => api.DELETE('/api/v1/admin/apps/{appId}', { params: { path: { appId }, query } }),
})
