import { userStatus } from '../../nouns/user-commands.ts'
import { statusCommand } from '../../tools/subject-commands.ts'

export const activateUser = statusCommand({
  path: 'user activate',
  summary: 'Open the account of a suspended user again',
  description: 'Old sessions and tokens stay dead. The global roles that the account kept count again: user show names them.',
  examples: [
    'user activate bob@example.com',
    'user activate bob@example.com@@staff --json',
    'user activate bob@example.com --dry-run',
  ],
  noun: userStatus,
  status: 'active',
  outcome: 'activated',
})
