import { userActionCommand } from '../../nouns/user-commands.ts'

export const logoutUser = userActionCommand({
  path: 'user logout',
  summary: 'End all sessions of a user, in every app',
  description: 'The user may log in again at once; user suspend prevents it.',
  examples: ['user logout bob@example.com', 'user logout bob@example.com@@staff --json', 'user logout bob@example.com --dry-run'],
  outcome: 'logged_out',
  act: (api, path) => api.POST('/api/v1/admin/users/{userId}/logout', { params: { path } }),
})
