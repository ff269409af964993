import { userStatus } from '../../nouns/user-commands.ts'
import { statusCommand } from '../../tools/subject-commands.ts'

export const activateUser = statusCommand({
  path: 'user activate',
  summary: 'Activate a suspended user again',
  description:
    'Old sessions and tokens stay invalid. Global roles that the account kept take effect again; user show lists them.',
  examples: [
    'user activate bob@example.com',
    'user activate bob@example.com@@staff --json',
    'user activate bob@example.com --dry-run',
  ],
  noun: userStatus,
  status: 'active',
  outcome: 'activated',
})
