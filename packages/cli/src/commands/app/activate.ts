import { appStatus } from '../../nouns/app-status.ts'
import { statusCommand } from '../../tools/subject-commands.ts'

export const activateApp = statusCommand({
  path: 'app activate',
  summary: 'Allow logins to an app again',
  examples: ['app activate shop', 'app activate shop --dry-run', 'app activate shop --json'],
  noun: appStatus,
  status: 'active',
  outcome: 'activated',
})
