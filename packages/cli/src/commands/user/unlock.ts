import { userActionCommand } from '../../nouns/user-commands.ts'

export const unlockUser = userActionCommand({
  path: 'user unlock',
  summary: 'Lift the lockout of a user',
  description: 'Clears the failed logins, whether or not they led to a lock.',
  examples: ['user unlock bob@example.com', 'user unlock bob@example.com@@staff --json', 'user unlock bob@example.com --dry-run'],
  outcome: 'unlocked',
  advice: (user) => `authctl grant explain --app CODE --user ${user} says whether anything else keeps them out`,
  act: (api, path) => api.POST('/api/v1/admin/users/{userId}/unlock', { params: { path } }),
})
