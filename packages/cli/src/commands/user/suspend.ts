import { userStatus } from '../../nouns/user-commands.ts'
import { statusCommand } from '../../tools/subject-commands.ts'

export const suspendUser = statusCommand({
  path: 'user suspend',
  summary: 'Suspend a user',
  description: 'Ends all sessions and invalidates all tokens. Repeating it changes nothing.',
  examples: [
    'user suspend bob@example.com --yes',
    'user suspend bob@example.com@@staff',
    'user suspend bob@example.com --dry-run',
  ],
  noun: userStatus,
  status: 'suspended',
  outcome: 'suspended',
  action: (user) => `suspend ${user}`,
})
