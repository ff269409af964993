import { appStatus } from '../../nouns/app-status.ts'
import { statusCommand } from '../../tools/subject-commands.ts'

export const deactivateApp = statusCommand({
  path: 'app deactivate',
  summary: 'Block logins to an app',
  examples: ['app deactivate shop --yes', 'app deactivate shop', 'app deactivate shop --dry-run'],
  noun: appStatus,
  status: 'inactive',
  outcome: 'deactivated',
  action: (code) => `deactivate the app ${code}`,
})
